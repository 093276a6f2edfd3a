/** Files in the console: given to runs by dropping and choosing them, and what runs leave, shown without ever acting. */
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TEST_KEY } from "#tests/integration/harness/http-app.ts";
import { chromiumPath } from "./browser.ts";
import type { ConsoleServer } from "./console-server.ts";
import { type Visit, visitConsole } from "./visit.ts";

const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 380, height: 800 };
const MAX_FILE_BYTES = 256 * 1024;
const HOSTILE = "<script>window.cyrnelMark=1</script><img src=x onerror=window.cyrnelMark=1>";
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="window.cyrnelMark=1"><script>window.cyrnelMark=1</script></svg>`;
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PICTURES = {
  png: PIXEL,
  gif: "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
  webp: "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA",
};

const LEAVE = `const { files } = cyrnel;
await files.write("out/report.json", { total: 42, list: ["a", "b"] });
await files.write("out/broken.json", "{ no json");
await files.write("rows.csv", "id,note\\r\\n" + Array.from({ length: 300 }, (_, row) => row + ',"a ""quoted"", note ' + row + '"').join("\\r\\n"));
await files.write("hostile.csv", ${JSON.stringify(HOSTILE)} + ",=1+1,\\u202egnp.exe");
await files.write("note.txt", "first line\\nthe end \\u202egnp.exe\\u0007");
await files.write("long.txt", "x".repeat(200_000) + "\\n" + "y".repeat(200_000));
await files.write("empty.txt", "");
for (const [type, base64] of Object.entries(${JSON.stringify(PICTURES)}))
  await files.write("pixel." + type, Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0)));
await files.write("fake.png", ${JSON.stringify(HOSTILE)});
await files.write("fake.jpg", ${JSON.stringify(SVG)});
await files.write("page.html", ${JSON.stringify(HOSTILE)});
await files.write("picture.svg", ${JSON.stringify(SVG)});
await files.write("paper.pdf", "%PDF-1.7");
await files.write("data.bin", new Uint8Array([0, 1, 2]));
await files.write(${JSON.stringify(`<img src=x onerror=window.cyrnelMark=1>\u200b.txt`)}, "x");`;

describe.skipIf(chromiumPath === null)("files (skipped without a Chromium)", { retry: 0 }, () => {
  let opened: Visit;
  let server: ConsoleServer;
  let page: Page;
  let left: number;

  beforeAll(async () => {
    opened = await visitConsole({ viewport: WIDE }, { CYRNEL_MAX_FILE_BYTES: String(MAX_FILE_BYTES) });
    ({ server, page } = opened);
    left = (await server.send("POST", "/processes", { code: LEAVE, block: true })).body.id;
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());

  const button = (name: string | RegExp) => page.getByRole("button", { name });
  const read = async (id: number) => (await server.send("GET", `/processes/${id}?wait=20000`)).body;
  const show = (view: string) =>
    page.evaluate((hash) => {
      location.hash = hash;
    }, `/${view}`);
  const content = (name: string, text: string) => ({
    name,
    mimeType: "application/x-msdownload",
    buffer: Buffer.from(text),
  });
  const choose = (...files: ReturnType<typeof content>[]) =>
    page.locator("input[type=file]").setInputFiles(files);
  const drop = async (files: Record<string, string>) => {
    const data = await page.evaluateHandle((contents) => {
      const transfer = new DataTransfer();
      for (const [name, text] of Object.entries(contents)) transfer.items.add(new File([text], name));
      return transfer;
    }, files);
    const editor = page.locator(".cm-content");
    for (const event of ["dragenter", "dragover", "drop"])
      await editor.dispatchEvent(event, { dataTransfer: data });
  };
  const run = async () => {
    const submitted = page.waitForResponse(
      (response) => response.request().method() === "POST" && response.url().endsWith("/processes"),
    );
    await button(/^Run/).click();
    const { id } = await (await submitted).json();
    await page.getByRole("link", { name: `Run ${id}` }).waitFor();
    return read(id);
  };
  const isSafe = async () => {
    expect(await page.evaluate(() => "cyrnelMark" in window)).toBe(false);
    expect(await page.locator("main :is(iframe, object, embed, script)").count()).toBe(0);
    expect(opened.context.pages()).toHaveLength(1);
  };

  test("files are dropped on the editor and chosen, renamed and removed, and every run is given them", async () => {
    const editor = page.getByRole("textbox", { name: "Script" });
    // Over styled text, the browser would keep its style inline, and complain that it may not.
    await editor.fill("");
    await editor.fill(
      "const { files } = cyrnel; return [(await files.list()).map(({ name }) => name), await files.text('in/orders.csv')];",
    );
    await drop({ "orders.csv": "id,total\n1,42\n" });
    // The editor itself would have taken its text.
    expect(await editor.innerText()).not.toContain("id,total");
    await button("Files · 1").waitFor();
    await page.getByText("14 B").waitFor();
    await choose(content("a.txt", "one"), content("b.txt", "two"));
    await button("Files · 3").waitFor();
    await page.getByLabel("File 1", { exact: true }).fill("../up");
    await page.getByText(/The file name has a segment/).waitFor();
    await page.getByLabel("File 1", { exact: true }).fill("b.txt");
    await page.getByText("Another file already has this name.").first().waitFor();
    await button(/^Run/).click();
    await page.getByRole("alert").getByText("Another file already has this name.").waitFor();
    await page.getByLabel("File 1", { exact: true }).fill("in/orders.csv");
    await button("Remove file 2").click();
    await button("Files · 2").waitFor();
    expect(await opened.audit()).toEqual([]);
    const first = await run();
    expect(first.result).toEqual([["b.txt", "in/orders.csv"], "id,total\n1,42\n"]);
    expect(first.files).toMatchObject([
      { name: "in/orders.csv", size: 14 },
      { name: "b.txt", size: 3 },
    ]);
    const again = await run();
    expect([again.id > first.id, again.files]).toEqual([true, first.files]);

    await show(`processes/${first.id}`);
    const given = page.locator(".card").filter({ has: page.getByRole("heading", { name: "Input files" }) });
    await given.getByText("in/orders.csv").waitFor();
    await given.getByRole("button", { name: "Preview in/orders.csv" }).click();
    await given.getByRole("table").waitFor();
    await button("Run again").click();
    await page.getByText("success", { exact: true }).waitFor();
    await given.getByText("in/orders.csv").waitFor();
    await button("Edit copy").click();
    await button("Files · 2").waitFor();
  });

  test("a file of the same name takes the place of the one before", async () => {
    await show("run");
    if ((await page.getByLabel("File 1", { exact: true }).count()) === 0) await button(/^Files/).click();
    await choose(content("b.txt", "another two"));
    await button("Files · 2").waitFor();
    await page.getByText("11 B").waitFor();
    const { files } = await run();
    expect(files).toContainEqual(expect.objectContaining({ name: "b.txt", size: 11 }));
  });

  test("what the key keeps is shown beside what it may keep, and grows with an upload", async () => {
    const line = page.getByText(/^[\d.]+ KiB of 10 GiB stored$/);
    const shown = async () => Number.parseFloat(await line.innerText());
    const read = async () => {
      const { storedBytes, maxStoredBytes } = (await server.send("GET", "/files?limit=1")).body;
      expect(maxStoredBytes).toBe(10 * 1024 ** 3);
      return Math.round((storedBytes / 1024) * 10) / 10;
    };
    const before = await read();
    await expect.poll(shown).toBe(before);
    await choose(content("grows.txt", "g".repeat(200 * 1024)));
    await expect.poll(shown).toBeCloseTo(before + 200, 0);
    expect(await shown()).toBe(await read());
    await button("Remove file 3").click();
  });

  test("the progress of an upload is shown; a run waits for it; what the server refuses is said in its words", async () => {
    const gate = Promise.withResolvers<void>();
    await page.route(/\/files\?/, async (route) => {
      await gate.promise;
      await route.continue();
    });
    await choose(content("slow.txt", "slow"));
    await page.getByRole("progressbar", { name: "Uploaded" }).waitFor();
    await button(/^Run/).click();
    await page.getByText(/slow\.txt is still uploading/).waitFor();
    gate.resolve();
    await page.getByText("4 B", { exact: true }).waitFor();
    await page.unroute(/\/files\?/);
    // Much larger than what is sent before the answer is there.
    await drop({ "large.txt": "x".repeat(32 * 1024 * 1024) });
    await page.getByText(/CYRNEL_MAX_FILE_BYTES/).waitFor();
    await opened.forgive(/413/);
    await button(/^Run/).click();
    await page.getByText(/large\.txt could not be uploaded/).waitFor();
    await button("Remove file 4").click();
  });

  test("files of a process that are no uploads of this key have to be chosen again for a copy", async () => {
    const { body } = await server.send("POST", "/processes", {
      code: "return 1",
      block: true,
      files: { "pasted.txt": { text: "pasted" } },
    });
    await show(`processes/${body.id}`);
    await button("Edit copy").click();
    await button("Files · 1").click();
    await page.getByText("This upload no longer exists. Choose the file again.").waitFor();
    await opened.forgive(/404/);
    await choose(content("pasted.txt", "pasted"));
    await page.getByText("6 B", { exact: true }).waitFor();
    expect((await run()).files).toMatchObject([{ name: "pasted.txt", size: 6 }]);
  });

  test("with the keyboard alone, files are chosen and removed", async () => {
    const chosen = page.waitForEvent("filechooser");
    await button("Choose files").focus();
    await page.keyboard.press("Enter");
    const chooser = await chosen;
    await chooser.setFiles([content("keys.txt", "k")]);
    await button("Files · 2").waitFor();
    for (const _ of [1, 2]) {
      await button("Remove file 1").focus();
      await page.keyboard.press("Enter");
    }
    await button(/^Files$/).waitFor();
  });

  describe("what a run left", () => {
    const row = (name: string | RegExp) =>
      page.locator(".list > li").filter({ has: page.getByText(name, { exact: true }) });
    const preview = async (name: string) => {
      await button(`Preview ${name}`).click();
      return row(name).locator(".card-body");
    };

    test("it appears when the run has ended", async () => {
      await show("run");
      await page
        .getByRole("textbox", { name: "Script" })
        .fill("await cyrnel.files.write('live.txt', 'x'); await cyrnel.ask({ message: 'on?', schema: {} })");
      const { approvals } = await run();
      await page.getByText("paused", { exact: true }).waitFor();
      expect(await page.getByText("Artifacts").count()).toBe(0);
      const [approval] = approvals;
      await server.send("POST", `/approvals/${approval}/approve`, { data: {} });
      await row("live.txt").waitFor();
    });

    test("JSON is a tree, CSV a table of its first rows, text is text with what is hidden in it", async () => {
      await show(`processes/${left}`);
      await row("out/report.json").waitFor();
      const tree = await preview("out/report.json");
      await tree.locator(".tree").getByText("42").waitFor();
      await (await preview("out/broken.json")).getByText("{ no json").waitFor();
      const sheet = await preview("rows.csv");
      await sheet.getByRole("columnheader", { name: "note" }).waitFor();
      expect(await sheet.locator("tbody tr").count()).toBe(200);
      expect(await sheet.locator("tbody tr").last().locator("td").allInnerTexts()).toEqual([
        "199",
        'a "quoted", note 199',
      ]);
      await sheet.getByText(/The first 200 rows/).waitFor();
      const hostile = await preview("hostile.csv");
      await hostile.getByRole("table").waitFor();
      expect(await hostile.getByRole("columnheader").allInnerTexts()).toEqual([
        HOSTILE,
        "=1+1",
        "\\u202egnp.exe",
      ]);
      const text = await preview("note.txt");
      await expect
        .poll(() => text.locator(".preview").innerText())
        .toBe("first line\nthe end \\u202egnp.exe\\u0007");
      const long = await preview("long.txt");
      await long.getByText("Showing the first 256 KiB of 390.6 KiB.").waitFor();
      await (await preview("empty.txt")).getByText("This file is empty.").waitFor();
      await isSafe();
    });

    test("pictures are shown by what their bytes are", async () => {
      for (const type of Object.keys(PICTURES)) {
        const shown = (await preview(`pixel.${type}`)).getByRole("img");
        await shown.waitFor();
        const width = () => shown.evaluate((element) => (element as HTMLImageElement).naturalWidth);
        await expect.poll(width).toBe(1);
        const address = await shown.getAttribute("src");
        expect(address).toMatch(/^blob:/);
      }
      for (const name of ["fake.png", "fake.jpg"]) {
        const shown = await preview(name);
        await shown.getByText("image cannot be shown").waitFor();
        expect(await shown.locator("img").count()).toBe(0);
      }
      await isSafe();
    });

    test("what could act is shown as source or not at all, and names are text", async () => {
      expect(await (await preview("page.html")).locator(".preview").innerText()).toBe(HOSTILE);
      expect(await (await preview("picture.svg")).locator(".preview").innerText()).toBe(SVG);
      for (const name of ["paper.pdf", "data.bin"]) {
        await row(name).waitFor();
        expect(await button(`Preview ${name}`).count()).toBe(0);
      }
      await button("Preview <img src=x onerror=window.cyrnelMark=1>\\u200b.txt").waitFor();
      expect(await page.locator("main img:not(.cm-widgetBuffer)").count()).toBe(Object.keys(PICTURES).length);
      await isSafe();
    });

    test("all of it is accessible, in light and dark, and no wider than a phone", async () => {
      expect(await opened.audit()).toEqual([]);
      await page.setViewportSize(NARROW);
      await page.emulateMedia({ colorScheme: "dark" });
      expect(await opened.audit()).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
        NARROW.width,
      );
      await page.setViewportSize(WIDE);
      await page.emulateMedia({ colorScheme: "light" });
    });

    test("opened by its address, in a browser that has the key, it is downloaded and not shown", async () => {
      const uploaded = await fetch(`${server.url}/files?name=page.html`, {
        method: "POST",
        headers: { authorization: `Bearer ${TEST_KEY}`, "content-type": "text/html" },
        body: HOSTILE,
      });
      const { id } = (await uploaded.json()) as { id: string };
      const other = await opened.context.newPage();
      await other.setExtraHTTPHeaders({ authorization: `Bearer ${TEST_KEY}` });
      for (const path of [
        `/files/${id}/content`,
        `/processes/${left}/artifacts/page.html`,
        `/processes/${left}/artifacts/picture.svg`,
      ]) {
        const [download] = await Promise.all([
          other.waitForEvent("download"),
          other.goto(server.url + path).catch(() => null),
        ]);
        expect(await readFile(await download.path(), "utf8")).toBe(path.endsWith(".svg") ? SVG : HOSTILE);
        expect(other.url()).toBe("about:blank");
      }
      await other.close();
    });

    test("it is saved to the disk, each file and all of them, and opens nothing", async () => {
      const save = async (name: string): Promise<[string, Buffer]> => {
        const [download] = await Promise.all([page.waitForEvent("download"), button(name).click()]);
        return [download.suggestedFilename(), await readFile(await download.path())];
      };
      expect(await save("Download page.html")).toEqual(["page.html", Buffer.from(HOSTILE)]);
      expect(await save("Download out/report.json")).toEqual([
        "report.json",
        Buffer.from('{"total":42,"list":["a","b"]}'),
      ]);
      expect(await save("Download data.bin")).toEqual(["data.bin", Buffer.from([0, 1, 2])]);
      const [name, tar] = await save("Download all");
      expect(name).toBe(`process-${left}-artifacts.tar`);
      for (const part of ["ustar", "out/report.json", "page.html", HOSTILE])
        expect(tar.includes(part)).toBe(true);
      await isSafe();
    });
  });

  test("all along, the browser had nothing to complain about", () => {
    expect(opened.complaints).toEqual([]);
  });
});
