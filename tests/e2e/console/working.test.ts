/** What a person who runs scripts does in the console: decide, answer, look things up, compare; with the keyboard alone too. */
import type { Page, Request } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumPath } from "./browser.ts";
import type { ConsoleServer } from "./console-server.ts";
import { type Visit, visitConsole } from "./visit.ts";

const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 380, height: 800 };

describe.skipIf(chromiumPath === null)("a person at work (skipped without a Chromium)", { retry: 0 }, () => {
  let opened: Visit;
  let server: ConsoleServer;
  let page: Page;

  beforeAll(async () => {
    opened = await visitConsole({ viewport: WIDE });
    ({ server, page } = opened);
    await server.send("POST", "/policies", {
      servicePattern: "demo",
      toolPattern: "clear*",
      decision: "ask",
    });
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());

  const button = (name: string | RegExp) => page.getByRole("button", { name });
  const goTo = (view: string | RegExp) =>
    page.getByRole("link", { name: view, exact: typeof view === "string" }).click();
  const row = (text: string | RegExp) => page.getByRole("listitem").filter({ hasText: text });
  const submit = async (code: string, more = {}): Promise<number> =>
    (await server.send("POST", "/processes", { code, ...more })).body.id;
  const read = async (id: number) => (await server.send("GET", `/processes/${id}?wait=20000`)).body;
  const ended = async (id: number) => {
    await expect.poll(async () => (await read(id)).state, { timeout: 30_000 }).toBe("idle");
    return read(id);
  };
  const show = (view: string) =>
    page.evaluate((hash) => {
      location.hash = hash;
    }, `/${view}`);

  test("the list of runs is live: no requests while idle, and runs of others appear and end", async () => {
    await goTo("Runs");
    await page.getByText("No runs yet. Press New run to start one.").waitFor();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    const id = await submit("return await cyrnel.ask({ message: 'go on?' })", { ref: "from-elsewhere" });
    await row("from-elsewhere").getByText("paused").waitFor();
    await read(id);
    // What still came of the change may be read late on a busy machine; a page that polls never stops asking.
    const askedMeanwhile = async () => {
      const from = asked.length;
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 2000)));
      return asked.slice(from).filter((path) => path === "/processes");
    };
    await expect.poll(askedMeanwhile, { timeout: 15_000 }).toEqual([]);
    await server.send("POST", `/processes/${id}/signals/kill`);
    await row("from-elsewhere").getByText("canceled").waitFor();
    await page.getByLabel("Show").selectOption({ label: "Succeeded" });
    await page.getByText("No matches for these filters.").waitFor();
    await submit("return 1", { ref: "fits" });
    await row("fits").getByText("success").waitFor();
    await page.getByLabel("Show").selectOption({ label: "All" });
  });

  test("a running script without calls says so, and a request without a rule is called fetch", async () => {
    const id = await submit("await new Promise((go) => setTimeout(go, 3000)); return 1;");
    await show(`processes/${id}`);
    await page.getByText("No tool calls so far.").waitFor();
    await page.getByText("No tool calls.", { exact: true }).waitFor();
    const refused = await submit('return fetch("https://nowhere.example/").catch(({ message }) => message);');
    await ended(refused);
    await show(`processes/${refused}`);
    await page.locator(".trail .tool").getByText("fetch", { exact: true }).waitFor();
    await goTo("Runs");
  });

  test("two runs are compared side by side", async () => {
    const one = await submit("console.log('same');\nconsole.log('left');\nreturn { total: 1, of: 'both' };");
    const other = await submit(
      "console.log('same');\nconsole.log('right');\nreturn { total: 2, of: 'both' };",
    );
    await Promise.all([read(one), read(other)]);
    expect(await button("Compare 0/2").isDisabled()).toBe(true);
    await page.getByLabel(`Select run ${one} `).check();
    await page.getByLabel(`Select run ${other} `).check();
    await button("Compare 2/2").click();
    const changes = page.locator(".changes");
    await changes.getByText("- /total 1").waitFor();
    await changes.getByText("+ /total 2").waitFor();
    await changes.getByText("- left").waitFor();
    await changes.getByText("+ right").waitFor();
    expect(await changes.getByText("of", { exact: true }).count()).toBe(0);
  });

  test("a run is opened by its address, run again and deleted", async () => {
    const id = await submit("return Math.random()", { ref: "again" });
    const first = (await read(id)).result;
    await show(`processes/${id}`);
    await page.getByText("success", { exact: true }).waitFor();
    await button("Run again").click();
    await expect.poll(async () => (await read(id)).result).not.toBe(first);
    await page.getByText("success", { exact: true }).waitFor();
    await button("Delete").click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText(`Run ${id} is deleted.`).waitFor();
  });

  test("an input is entered as JSON or in a form, typed in the editor, shown, and changed for another run", async () => {
    await goTo("Editor");
    const editor = page.getByRole("textbox", { name: "Script" });
    await editor.fill("return cyrnel.input.");
    await button("Input").click();
    const json = page.getByLabel("Input (JSON)");
    await json.fill('{"count": 1,');
    await page.getByText(/The input must be JSON/).waitFor();
    await json.fill('{"count": 1}');
    await editor.press("ControlOrMeta+End");
    await editor.press("Control+Space");
    await page.getByRole("option", { name: /^count/ }).waitFor();
    await editor.press("Escape");
    const schema = {
      type: "object",
      properties: { count: { type: "integer" }, label: { type: "string" } },
      required: ["count"],
    };
    await page.getByLabel("Input schema (JSON Schema)").fill(JSON.stringify(schema));
    await page.getByLabel(/^label/).fill("ten");
    await page.getByLabel(/^count/).fill("10");
    await editor.fill("return [cyrnel.input.count * 2, cyrnel.input.label]");
    await button(/^Run/).click();
    await page.getByText("success", { exact: true }).waitFor();
    await page.locator(".tree").getByText("20").waitFor();
    await page.getByRole("link", { name: /^Run \d+/ }).click();
    const input = page
      .locator(".card")
      .filter({ has: page.getByRole("heading", { name: "Input", exact: true }) });
    await input.getByText('"ten"').waitFor();
    await input.getByRole("button", { name: "Change" }).click();
    await input.getByLabel(/^count/).fill("21");
    await input.getByRole("button", { name: "Run with this input" }).click();
    await page.locator(".tree").getByText("42").waitFor();
    await input.getByText("21").waitFor();
    const id = Number(page.url().split("/").at(-1));
    expect(await read(id)).toMatchObject({ input: { count: 21, label: "ten" }, result: [42, "ten"] });
    await button("Edit copy").click();
    await button("Input").click();
    expect(await page.getByLabel(/^count/).inputValue()).toBe("21");
    await page.getByLabel("Input schema (JSON Schema)").fill("");
    await page.getByLabel("Input (JSON)").fill("");
    await show("processes");
  });

  test("a tool approved for the rest of the run is not asked about again, and the rule is listed", async () => {
    const code =
      "for (const reason of ['a', 'b', 'c']) await tools.demo.clearBoard({ reason }); return 'all';";
    const id = await submit(code);
    await goTo(/^Approvals/);
    const waiting = page.getByRole("article", { name: "demo.clearBoard" });
    await waiting.getByText('"a"').waitFor();
    await waiting.getByLabel("Approve").selectOption({ label: "This tool, for the rest of this run" });
    await waiting.getByRole("button", { name: "Approve" }).click();
    expect(await ended(id)).toMatchObject({ exitState: "success", result: "all" });
    await page.getByText("No approvals waiting").waitFor();
    await page.getByLabel("Show").selectOption({ label: "Approved" });
    await row("demo.clearBoard").getByText("approved").waitFor();
    await goTo("Rules");
    await row(`Run ${id} only`).getByText("allow").waitFor();
  });

  test("differences from the last approved call stand out", async () => {
    const id = await submit("await tools.demo.clearBoard({ reason: 'another one' });");
    await goTo(/^Approvals/);
    const waiting = page.getByRole("article", { name: "demo.clearBoard" });
    await waiting.getByText('+ /reason "another one"').waitFor();
    await waiting.getByRole("button", { name: "Deny" }).click();
    expect(await ended(id)).toMatchObject({ exitState: "failed", reason: "approval_denied" });
  });

  test("a question is a form of its schema; an invalid answer is refused and asked for again", async () => {
    const schema = {
      type: "object",
      properties: { amount: { type: "integer", minimum: 1 }, why: { type: "string" } },
      required: ["amount"],
    };
    const id = await submit(
      `const { amount } = await cyrnel.ask({ message: "How much may it cost?", schema: ${JSON.stringify(schema)} });
       return [amount, await cyrnel.ask({ message: "And in words?" })];`,
    );
    const question = page.getByRole("article", { name: "Question from the script" });
    await question.getByText("How much may it cost?").waitFor();
    await question.getByLabel(/^amount/).fill("0");
    await question.getByRole("button", { name: "Answer" }).click();
    await question.getByRole("alert").first().waitFor();
    await question.getByLabel(/^amount/).fill("12");
    await question.getByRole("button", { name: "Answer" }).click();
    await question.getByText("And in words?").waitFor();
    await question.getByLabel("Your answer").fill("a dozen");
    await question.getByRole("button", { name: "Answer" }).click();
    expect(await ended(id)).toMatchObject({ exitState: "success", result: [12, "a dozen"] });
    await opened.forgive(/400/);
  });

  test("the run is named, hidden characters are shown, and long parameters can be decided only once shown in full", async () => {
    const body = { type: "object", properties: { text: { type: "string" } } };
    const document = {
      openapi: "3.1.0",
      info: { title: "Notes", version: "1" },
      servers: [{ url: "http://127.0.0.1:1" }],
      paths: {
        "/notes": {
          post: {
            operationId: "write",
            requestBody: { content: { "application/json": { schema: body } } },
            responses: {},
          },
        },
      },
    };
    await server.send("POST", "/services", {
      id: "notes",
      adapter: "openapi",
      content: JSON.stringify(document),
    });
    await server.send("POST", "/services/notes/enabled", { enabled: true });
    const rule = { servicePattern: "notes", toolPattern: "*", decision: "ask" };
    await server.send("POST", "/policies", rule);
    const id = await submit(
      `await cyrnel.ask({ message: "Cyrnel: all is well \\u202e\\u200b" });
       await tools.notes.write({ body: { text: "x".repeat(30_000) + " the end" } });`,
    );
    await show("approvals");
    const question = page.getByRole("article", { name: "Question from the script" });
    await question.getByText(`Process ${id}, submitted by`).waitFor();
    await question.locator("blockquote").getByText("Cyrnel: all is well \\u202e\\u200b").waitFor();
    await question.getByRole("button", { name: "Answer" }).click();
    const waiting = page.getByRole("article", { name: "notes.write" });
    const all = waiting.getByRole("button", { name: /^Show all 30,\d+ characters$/ });
    await all.waitFor();
    expect(await waiting.getByRole("button", { name: "Approve" }).count()).toBe(0);
    await all.click();
    expect(await waiting.locator("pre").textContent()).toContain("the end");
    await waiting.getByRole("button", { name: "Deny" }).click();
    expect(await ended(id)).toMatchObject({ reason: "approval_denied" });
  });

  test("an approval in the inbox is loaded once, even when others come and go", async () => {
    const clear = async (reason: string) => {
      const id = await submit(`await tools.demo.clearBoard({ reason: '${reason}' });`);
      return (await read(id)).approvals[0] as string;
    };
    const first = await clear("first");
    const second = await clear("second");
    await show("approvals");
    const waiting = (reason: string) =>
      page.getByRole("article").filter({ hasText: `+ /reason "${reason}"` });
    await waiting("first").waitFor();
    await waiting("second").waitFor();
    const asked: URL[] = [];
    const note = (request: Request) => asked.push(new URL(request.url()));
    page.on("request", note);
    const third = await clear("third");
    await waiting("third").waitFor();
    await server.send("POST", `/approvals/${first}/deny`, {});
    await waiting("first").waitFor({ state: "detached" });
    page.off("request", note);
    const readAgain = asked.filter(({ pathname }) =>
      [first, second, third].includes(pathname.split("/")[2] ?? ""),
    );
    expect(readAgain.map(({ pathname }) => pathname)).toEqual([`/approvals/${third}`]);
    expect(asked.filter(({ search }) => search.includes("state=approved"))).toHaveLength(1);
    for (const id of [second, third]) await server.send("POST", `/approvals/${id}/deny`, {});
    await page.getByText("No approvals waiting").waitFor();
  });

  test("a hidden page holds no connection, and continues where it was when it is shown again", async () => {
    const streams = new Set<Request>();
    const begin = (request: Request) => {
      if (/\/(events|stream)(\?|$)/.test(request.url())) streams.add(request);
    };
    const end = (request: Request) => void streams.delete(request);
    page.on("request", begin).on("requestfinished", end).on("requestfailed", end);
    const setHidden = (hidden: boolean) =>
      page.evaluate((value) => {
        Object.defineProperty(document, "hidden", { configurable: true, value });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
    const answer = async (id: number) => {
      const [approval] = (await read(id)).approvals;
      expect((await server.send("POST", `/approvals/${approval}/approve`, { data: true })).status).toBe(200);
    };
    const id = await submit(
      `console.log("before"); await cyrnel.ask({ message: "on?" });
       console.log("meanwhile"); await cyrnel.ask({ message: "and on?" }); console.log("after");`,
    );
    await read(id);
    await show(`processes/${id}`);
    await page.reload();
    const printed = page.locator("main .console");
    await printed.getByText("before").waitFor();
    await expect.poll(() => streams.size).toBe(2);
    await setHidden(true);
    await expect.poll(() => streams.size).toBe(0);
    await answer(id);
    await expect.poll(async () => (await read(id)).stdout).toContain("meanwhile");
    expect(await printed.innerText()).toBe("before\n");
    await setHidden(false);
    await printed.getByText("meanwhile").waitFor();
    expect(await printed.innerText()).toBe("before\nmeanwhile\n");
    const resumed = [...streams].find((request) => request.url().endsWith("/events"));
    expect(resumed?.headers()).toHaveProperty("last-event-id");
    await expect.poll(async () => (await read(id)).state).toBe("paused");
    await answer(id);
    await page.getByText("success", { exact: true }).waitFor();
    expect(await printed.innerText()).toBe("before\nmeanwhile\nafter\n");

    await show("logs");
    const tail = page.getByRole("log");
    await tail.getByText(`#${id}`).first().waitFor();
    await expect.poll(() => streams.size).toBe(2);
    await setHidden(true);
    await expect.poll(() => streams.size).toBe(0);
    const later = await submit("return 1");
    await ended(later);
    expect(await tail.getByText(`#${later}`).count()).toBe(0);
    await setHidden(false);
    await tail.getByText(`#${later}`).first().waitFor();
    page.off("request", begin).off("requestfinished", end).off("requestfailed", end);
  });

  test("the log is live, can be filtered by process, and can be paused", async () => {
    await goTo("Logs");
    const tail = page.getByRole("log");
    const id = await submit("return 1");
    await tail.getByText(`#${id}`).first().waitFor();
    await page.getByLabel("Run", { exact: true }).fill(String(id));
    await expect
      .poll(async () =>
        (await tail.locator("details").allInnerTexts()).every((text) => text.includes(`#${id}`)),
      )
      .toBe(true);
    await button("Pause").click();
    await page.getByText("paused", { exact: true }).waitFor();
    await tail.locator("summary").first().click();
    await tail.locator(".tree").first().waitFor();
    await button("Follow").click();
    await page.getByText("live", { exact: true }).waitFor();
  });

  test("light and dark are chosen, and kept through a reload", async () => {
    const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    await page.getByLabel("Theme").selectOption({ label: "Dark" });
    const dark = await background();
    await page.reload();
    await page.locator(".nav").waitFor();
    expect(await background()).toBe(dark);
    await page.getByLabel("Theme").selectOption({ label: "Light" });
    expect(await background()).not.toBe(dark);
  });

  test.each([
    ["a wide screen", WIDE],
    ["a phone", NARROW],
  ])("with the keyboard alone, on %s: in, write, run, leave the editor, kill", async (_where, size) => {
    await page.setViewportSize(size);
    await show("run");
    await page.reload();
    await page.locator(".cm-content").waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to content");
    await page.keyboard.press("Enter");
    const inEditor = () =>
      page.evaluate(() => document.activeElement?.classList.contains("cm-content") ?? false);
    for (let presses = 0; presses < 8 && !(await inEditor()); presses++) await page.keyboard.press("Tab");
    expect(await inEditor()).toBe(true);
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("await new Promise((resolve) => setTimeout(resolve, 25000));");
    await page.keyboard.press("ControlOrMeta+Enter");
    await page.locator(".workbench").getByText("running", { exact: true }).first().waitFor();
    await page.keyboard.press("Tab");
    expect(await inEditor()).toBe(false);
    await button("Kill").focus();
    await page.keyboard.press("Enter");
    await page.locator(".workbench").getByText("canceled: killed").waitFor();
  });

  test("the browser reported no errors", () => {
    expect(opened.complaints).toEqual([]);
  });
});
