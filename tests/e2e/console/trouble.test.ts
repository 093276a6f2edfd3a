/** When things go wrong: a server that goes away, a key that is revoked or may do little, floods, hostile answers. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "#tests/integration/harness/database.ts";
import { TEST_KEY } from "#tests/integration/harness/http-app.ts";
import { startServer, type TestServer } from "#tests/integration/harness/server.ts";
import { type ConsoleBrowser, chromiumPath, launchBrowser, type OpenPage, signIn } from "./browser.ts";

/** Each of the page's own requests counts; what the tests before the last one ask is far from it. */
const MAX_REQUESTS = 600;
const ENVIRONMENT = {
  CYRNEL_API_KEY: TEST_KEY,
  CYRNEL_RATE_LIMIT_MAX: String(MAX_REQUESTS),
  CYRNEL_RATE_LIMIT_WINDOW_MS: "600000",
};
const SCRIPT = "return 'what was written before';";

describe.skipIf(chromiumPath === null)("trouble (skipped without a Chromium)", { retry: 0 }, () => {
  let database: TestDatabase;
  let server: TestServer;
  let browser: ConsoleBrowser;
  let opened: OpenPage;
  let page: Page;

  beforeAll(async () => {
    database = await createTestDatabase({ maxConnections: 10 });
    server = await startServer({ database, environment: ENVIRONMENT });
    browser = await launchBrowser(server.url);
    opened = await browser.open({ viewport: { width: 1440, height: 900 } });
    page = opened.page;
    await signIn(page, server.url, TEST_KEY);
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await server?.stop();
    await database?.drop();
  });

  const button = (name: string | RegExp) => page.getByRole("button", { name });
  const goTo = (view: string) => page.getByRole("link", { name: view, exact: true }).click();
  const panel = () => page.locator(".workbench > .stack");
  const makeKey = async (scopes: string[]): Promise<{ id: string; key: string }> =>
    (await server.post("/keys", { name: scopes.join(" ") || "nothing", scopes })).body;

  async function write(code: string): Promise<void> {
    await page.locator(".cm-content").click();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText(code);
  }
  const written = () => page.locator(".cm-content").innerText();
  /** Longest time in which the page could not react while `work` was done. */
  async function longestBlock(work: () => Promise<void>): Promise<number> {
    await page.evaluate(() => {
      const state = globalThis as unknown as { longest: number; tasks: PerformanceObserver };
      state.longest = 0;
      state.tasks = new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) state.longest = Math.max(state.longest, entry.duration);
      });
      state.tasks.observe({ type: "longtask" });
    });
    await work();
    return page.evaluate(() => {
      const state = globalThis as unknown as { longest: number; tasks: PerformanceObserver };
      state.tasks.disconnect();
      return state.longest;
    });
  }

  test("the server goes away and comes back: the page says so, loses nothing, and goes on by itself", async () => {
    await write(SCRIPT);
    const port = new URL(server.url).port;
    await server.stop();
    await page.getByRole("status").getByText("Retrying; your changes are kept.").waitFor();
    await button(/^Run/).click();
    await page.getByRole("alert").getByText("Cannot reach the server.").waitFor();
    // A view that was not loaded yet.
    await goTo("Runs");
    server = await startServer({ database, environment: { ...ENVIRONMENT, PORT: port } });
    await page.getByText("Retrying; your changes are kept.").waitFor({ state: "detached" });
    await page.getByText("No runs yet. Press New run to start one.").waitFor();
    await goTo("Editor");
    expect(await written()).toBe(SCRIPT);
    await button(/^Run/).click();
    await panel().getByText("what was written before").waitFor();
    await opened.forgive(/ERR_|Failed to load|fetch/);
  });

  test("a reload keeps the script too", async () => {
    await write(SCRIPT.replace("before", "last"));
    await page.reload();
    await page.locator(".cm-content").waitFor();
    expect(await written()).toContain("what was written last");
  });

  test("megabytes of output, endless lines and what terminals act on leave the page quick and are shown as text", async () => {
    const code = `
      const line = "\\u001b[31mred\\u001b[0m \\u001b]8;;javascript:alert(1)\\u0007link\\u001b]8;;\\u0007 \\u202e <img src=x onerror=window.cyrnelMark=1>";
      console.log(line + "\\u001b[2J\\u001b]0;title\\u0007");
      for (let round = 0; round < 30; round++) console.log("x".repeat(30_000), round);
      const deep = {}; let at = deep; for (let level = 0; level < 50; level++) at = at.down = { wide: 1 };
      cyrnel.output({ deep, ["<b>name</b>".repeat(50)]: 1 });
      const grid = Array.from({ length: 40 }, (_, a) => Array.from({ length: 40 }, (_, b) => Array.from({ length: 40 }, (_, c) => a + b + c)));
      return { grid, long: "y".repeat(500_000), many: Array.from({ length: 100_000 }, (_, index) => index) };`;
    await write(code);
    const blocked = await longestBlock(async () => {
      await button(/^Run/).click();
      await panel().getByText("success", { exact: true }).first().waitFor();
      await panel().locator(".tree").first().waitFor();
    });
    const nodes = await page.locator("main *").count();
    process.stdout.write(
      `longest block by a flood of output: ${Math.round(blocked)} ms, ${nodes} elements\n`,
    );
    expect(nodes).toBeLessThan(6000);
    expect(blocked).toBeLessThan(2000);
    expect(await page.evaluate(() => "cyrnelMark" in window)).toBe(false);
    const id = (await server.get("/processes?limit=1")).body.processes[0].id;
    await page.evaluate((hash) => {
      location.hash = hash;
    }, `/processes/${id}`);
    await page.locator("main .console").waitFor();
    await goTo("Editor");

    await write(
      'console.log("\\u001b[31mred\\u001b[0m \\u001b]8;;javascript:1\\u0007link\\u001b]8;;\\u0007 \\u202e<b>\\u001b]never ended");',
    );
    await button(/^Run/).click();
    const shown = panel().locator(".console");
    await shown.getByText("red link \\u202e<b>").waitFor();
    await shown.getByText("never ended").waitFor();
  });

  test("a key with few scopes is told what it lacks, page by page, and sees what it may", async () => {
    const { key } = await makeKey(["processes:read", "processes:all"]);
    await button("Sign out").click();
    await page.getByLabel("API key").fill(key);
    await button("Sign in").click();
    await page.locator(".cm-content").waitFor();
    await button(/^Run/).click();
    await page.getByRole("alert").getByText("processes:write").waitFor();
    for (const [view, scope] of [
      ["Approvals", "approvals:decide"],
      ["Rules", "keys:admin"],
      ["Roles", "keys:admin"],
      ["Keys", "keys:admin"],
      ["Audit", "logs:read"],
      ["Logs", "logs:read"],
    ] as const) {
      await goTo(view);
      await page.getByRole("alert").getByText(scope).first().waitFor();
    }
    await goTo("Runs");
    await page.locator("main .list-row").first().waitFor();
    await goTo("System");
    await page.getByText("permission model").waitFor();
    await opened.forgive(/403/);
  });

  test("signing out leaves nothing of the script; a key that is revoked at work leads to the sign-in and keeps it", async () => {
    const { id, key } = await makeKey(["processes:read", "processes:write"]);
    await goTo("Editor");
    await button("Sign out").click();
    expect(await page.evaluate(() => Object.keys(sessionStorage))).toEqual([]);
    await page.getByLabel("API key").fill(key);
    await button("Sign in").click();
    await page.locator(".cm-content").waitFor();
    expect(await written()).not.toContain("never ended");
    await write(SCRIPT);
    await server.request("DELETE", `/keys/${id}`);
    await button(/^Run/).click();
    await page.getByText("revoked or has expired").waitFor();
    await page.getByLabel("API key").fill(TEST_KEY);
    await button("Sign in").click();
    await page.locator(".cm-content").waitFor();
    expect(await written()).toBe(SCRIPT);
    await opened.forgive(/40[13]|ERR_INCOMPLETE/);
  });

  test("a rate-limited page says when to retry; nothing is lost", async () => {
    await goTo("Editor");
    for (let status = 200; status !== 429; ) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => server.get("/environment")));
      status = answers.at(-1)?.status ?? 0;
    }
    await button(/^Run/).click();
    await page
      .getByRole("alert")
      .getByText(/Try again in \d+ (min|s)/)
      .waitFor();
    expect(await written()).toBe(SCRIPT);
    await opened.forgive(/429/);
  });

  test("the browser reported no other errors", () => {
    expect(opened.complaints).toEqual([]);
  });
});
