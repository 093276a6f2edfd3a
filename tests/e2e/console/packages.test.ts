/** npm packages in the console: added with progress, looked at, completed in the editor, run, removed; from a real registry. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Registry, startRegistry } from "#tests/integration/packages/registry.ts";
import { chromiumPath } from "./browser.ts";
import { type Visit, visitConsole } from "./visit.ts";

const HOSTILE = '<img src=x onerror="window.cyrnelMark=1">';

describe.skipIf(chromiumPath === null)("packages (skipped without a Chromium)", { retry: 0 }, () => {
  let registry: Registry;
  let folder: string;
  let opened: Visit;
  let page: Page;

  beforeAll(async () => {
    registry = await startRegistry();
    await registry.publish({
      name: "adder",
      files: {
        "index.js": "exports.addOne = (n) => n + 1;",
        "index.d.ts": "export declare function addOne(n: number): number;\n",
      },
      manifest: { types: "index.d.ts", description: HOSTILE, license: HOSTILE },
    });
    folder = await mkdtemp(path.join(tmpdir(), "cyrnel-console-packages-"));
    opened = await visitConsole(
      { viewport: { width: 1440, height: 900 } },
      {
        CYRNEL_NPM_REGISTRY: registry.url,
        CYRNEL_PACKAGE_MIN_AGE_DAYS: "0",
        CYRNEL_PACKAGE_ADVISORIES: "off",
        CYRNEL_DATA_DIR: folder,
      },
    );
    ({ page } = opened);
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await registry?.[Symbol.asyncDispose]();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const goTo = (view: string) => page.getByRole("link", { name: view, exact: true }).click();

  async function add(name: string, range = ""): Promise<void> {
    await button("Add package").click();
    await page.getByRole("dialog").getByLabel("Name").fill(name);
    await page.getByRole("dialog").getByLabel("Version or range").fill(range);
    await button("Add").click();
  }

  test("one is added, which is shown while it is done, and one that is not there says why", async () => {
    await goTo("Packages");
    await add("adder");
    await page.getByRole("status").getByText("adder is being installed").first().waitFor();
    await page.getByRole("link", { name: /^adder 1\.0\.0/ }).waitFor();
    await add("not-there-at-all");
    await page.getByText("not-there-at-all could not be installed").waitFor();
    expect(await page.evaluate(() => "cyrnelMark" in window)).toBe(false);
  });

  test("a lock file is sent with it", async () => {
    await button("Add package").click();
    const text = JSON.stringify({
      lockfileVersion: 3,
      packages: { "node_modules/other": { version: "1.0.0" } },
    });
    const file = { name: "package-lock.json", mimeType: "application/json", buffer: Buffer.from(text) };
    await page.getByRole("dialog").getByLabel("Name").fill("adder");
    await page.getByRole("dialog").getByLabel("Lock file").setInputFiles(file);
    await button("Add").click();
    await page.getByText("The lock file does not name adder").waitFor();
  });

  test("it is shown with what it was made of", async () => {
    await page.getByRole("link", { name: /^adder 1\.0\.0/ }).click();
    await page.getByText('import … from "adder"').waitFor();
    await page.getByText("Contains 1 package").waitFor();
    await button("Copy integrity of adder").waitFor();
    expect(await opened.audit()).toEqual([]);
    expect(await page.evaluate(() => "cyrnelMark" in window)).toBe(false);
  });

  test("the editor completes its name and its exports; the run names it", async () => {
    await goTo("Editor");
    const editor = page.locator(".cm-content");
    await editor.click();
    const option = (label: string) =>
      page.locator(".cm-tooltip-autocomplete .cm-completionLabel", { hasText: label }).first();
    await page.keyboard.press("Control+A");
    await page.keyboard.type('import * as all from "adder";\nreturn all.add');
    await option("addOne").waitFor();
    // Keys count only once the list has been there for a moment; until then Tab leaves the editor.
    await page.waitForTimeout(200);
    await page.keyboard.press("Tab");
    await page.keyboard.type("(1)");
    await expect.poll(() => editor.innerText()).toContain("all.addOne(1)");
    await page.keyboard.press("Control+Enter");
    const readLast = async () => (await opened.server.send("GET", "/processes?limit=1")).body.processes[0];
    await expect.poll(async () => (await readLast())?.exitState).toBe("success");
    const { body } = await opened.server.send("GET", `/processes/${(await readLast()).id}`);
    expect([body.result, body.packages[0].name]).toEqual([2, "adder"]);
  });

  test("it is removed", async () => {
    await goTo("Packages");
    await page.getByRole("link", { name: /^adder 1\.0\.0/ }).click();
    await button("Remove").click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByRole("status").getByText("adder 1.0.0 is removed").waitFor();
    expect((await opened.server.send("GET", "/packages?name=adder")).body.packages).toEqual([]);
  });
});
