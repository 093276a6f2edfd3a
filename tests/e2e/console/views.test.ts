/** Every page: accessible in light and dark, no wider than a phone, and hostile data inert in all of them. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TEST_KEY } from "#tests/integration/harness/http-app.ts";
import { type ConsoleBrowser, chromiumPath, launchBrowser, type OpenPage, signIn } from "./browser.ts";
import { type ConsoleServer, startConsoleServer } from "./console-server.ts";

const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 380, height: 800 };
/** What a page shows may not move while the rest of it loads. Beyond this, browsers call it noticeable. */
const MAX_SHIFT = 0.1;

/** Tried wherever a text of others is shown: each would set the mark if it were markup, script or a link that acts. */
const HOSTILE = [
  "<img src=x onerror=window.cyrnelMark=1>",
  "<script>window.cyrnelMark=1</script>",
  '"><svg onload=window.cyrnelMark=1>',
  "[link](javascript:window.cyrnelMark=1)",
  "![picture](https://outside.example/pixel.png)",
  "<iframe srcdoc='<script>parent.cyrnelMark=1</script>'></iframe>",
  "\u202egnp.exe\u0007",
].join(" ");

const HOSTILE_SCRIPT = `const text = ${JSON.stringify(HOSTILE)};
console.log(text); console.error(text); console.log("\\u001b[31mred\\u001b[0m \\u001b]8;;javascript:alert(1)\\u0007link\\u001b]8;;\\u0007");
cyrnel.output({ [text]: text, __proto__: null, constructor: text });
await tools.hostile.read({ path: { id: text } }).catch((error) => console.error(error.message));
const error = new Error(text); error.name = text; throw error;`;

/** Pages of the registry that no address of `views` leads to. One with parameters cannot be shown without an address. */
function listOthers(views: readonly string[]): [view: string, ready: string][] {
  const registry = readFileSync(new URL("../../../web/pages.tsx", import.meta.url), "utf8");
  const paths = [...registry.matchAll(/^ {2}(?:entry|page)\(.*?"\/([^"]+)"/gm)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(10);
  const others = paths.filter((path) => {
    const pattern = new RegExp(`^${path.replace(/\/:\w+\?/g, "(/[^/]+)?").replace(/:\w+/g, "[^/]+")}$`);
    return !views.some((view) => pattern.test(view));
  });
  expect(others.filter((path) => path.includes(":"))).toEqual([]);
  return others.map((path) => [path, ""]);
}

describe.skipIf(chromiumPath === null)("every page (skipped without a Chromium)", { retry: 0 }, () => {
  let server: ConsoleServer;
  let browser: ConsoleBrowser;
  let opened: OpenPage;
  let page: Page;
  let failed: number;
  let paused: number;
  /** The version of the starter set. */
  let zod: string;

  beforeAll(async () => {
    server = await startConsoleServer();
    const { send } = server;
    const document = JSON.parse(server.orders.document);
    document.info = { title: HOSTILE, version: HOSTILE, description: HOSTILE };
    const operation = document.paths["/orders/{id}"].get;
    Object.assign(operation, { operationId: "read", summary: HOSTILE, description: HOSTILE });
    operation.parameters[0].description = HOSTILE;
    operation.responses["200"].description = HOSTILE;
    await send("POST", "/services", { id: "hostile", adapter: "openapi", content: JSON.stringify(document) });
    await send("POST", "/services/hostile/enabled", { enabled: true });
    await send("POST", "/services", { id: "demo", adapter: "demo", content: "{}" });
    await send("POST", "/services/demo/enabled", { enabled: true });
    await send("POST", "/policies", { servicePattern: "demo", toolPattern: "clear*", decision: "ask" });
    await send("POST", "/roles", { name: HOSTILE.replace(/\p{C}/gu, "").slice(0, 190), allow: ["demo.*"] });
    await send("POST", "/keys", {
      name: HOSTILE.replace(/\p{C}/gu, "").slice(0, 190),
      scopes: ["processes:read"],
    });
    failed = (await send("POST", "/processes", { code: HOSTILE_SCRIPT, ref: "hostile", block: true })).body
      .id;
    const code = `await tools.demo.addTask({ title: "one" }); return await tools.demo.clearBoard({ reason: ${JSON.stringify(HOSTILE)} });`;
    paused = (await send("POST", "/processes", { code })).body.id;
    await send("GET", `/processes/${paused}?wait=20000`);

    // The starter set is stored beside everything else.
    for (zod = ""; zod === ""; ) {
      [{ version: zod } = { version: "" }] = (await send("GET", "/packages?name=zod")).body.packages;
    }

    browser = await launchBrowser(server.url);
    opened = await browser.open({ viewport: WIDE });
    page = opened.page;
    await signIn(page, server.url, TEST_KEY);
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  async function show(view: string, ready: string): Promise<void> {
    await page.evaluate((hash) => {
      location.hash = hash;
    }, `/${view}`);
    await page.locator("main h1").waitFor();
    await page.locator("main").getByText(ready).first().waitFor();
    await page.locator("main .loading").first().waitFor({ state: "detached" });
  }

  const VIEWS: readonly (readonly [view: string, ready: string])[] = [
    ["run", "No runs yet"],
    ["processes", "hostile"],
    ["processes/FAILED", "failed: script error"],
    ["processes/PAUSED", "demo.clearBoard"],
    ["processes/compare/FAILED/PAUSED", "Outcome"],
    ["services", "Demo board"],
    ["services/new", "Definition"],
    ["services/demo", "listTasks"],
    ["services/demo/settings", "maxTasks"],
    ["services/demo/secrets", "signature"],
    ["services/demo/definition", "SHA-256"],
    ["services/hostile/tools/read", "Example"],
    ["approvals", "demo.clearBoard"],
    ["policies", "demo.clear*"],
    ["roles", "demo.*"],
    ["keys", "processes:read"],
    ["audit", "tool.call"],
    ["logs", "/processes"],
    ["modules", "TypeScript in a process"],
    ["modules/typescript-process", "How to write scripts"],
    ["packages", "zod"],
    ["packages/zod/ZOD", "Contains 1 package"],
    ["system", "permission model"],
  ];

  test.each([...VIEWS, ...listOthers(VIEWS.map(([view]) => view))])("%s", async (view, ready) => {
    await page.setViewportSize(WIDE);
    await page.emulateMedia({ colorScheme: "light" });
    const address = view
      .replace("FAILED", String(failed))
      .replace("PAUSED", String(paused))
      .replace("ZOD", zod);
    await opened.readShift();
    await show(address, ready);
    expect(await opened.audit()).toEqual([]);
    expect(await opened.readShift()).toBeLessThan(MAX_SHIFT);

    await page.setViewportSize(NARROW);
    await page.emulateMedia({ colorScheme: "dark" });
    await show("none", "Script");
    await opened.readShift();
    await show(address, ready);
    expect(await opened.readShift()).toBeLessThan(MAX_SHIFT);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(NARROW.width);
    expect(await opened.audit()).toEqual([]);
    expect(await page.evaluate(() => "cyrnelMark" in window)).toBe(false);
    expect(
      await page
        .locator("main a[href^='javascript:'], main iframe, main script, main img:not(.cm-widgetBuffer)")
        .count(),
    ).toBe(0);
  });

  test("characters that change the direction of text are shown as escapes", async () => {
    await show(`processes/${failed}`, "failed: script error");
    await page.getByText("\\u202e").first().waitFor();
  });

  const DIALOGS: readonly (readonly [view: string, ready: string, opener: RegExp])[] = [
    ["keys", "processes:read", /^New key$/],
    ["keys", "processes:read", /^Revoke$/],
    ["roles", "demo.*", /^New role$/],
    ["roles", "demo.*", /^Change$/],
    ["roles", "demo.*", /^Delete$/],
    ["policies", "demo.clear*", /^Delete$/],
    ["services/demo/definition", "SHA-256", /^Delete service$/],
    ["processes/FAILED", "failed: script error", /^Delete$/],
  ];

  test.each(DIALOGS)(
    "the dialog of %s (%s, %s) is accessible, takes the focus, and gives it back however it is closed",
    async (view, ready, opener) => {
      for (const [size, colorScheme] of [
        [WIDE, "light"],
        [NARROW, "dark"],
      ] as const) {
        await page.setViewportSize(size);
        await page.emulateMedia({ colorScheme });
        await show(view.replace("FAILED", String(failed)), ready);
        const button = page.locator("main").getByRole("button", { name: opener }).first();
        const isFocused = () => button.evaluate((element) => element === document.activeElement);
        await button.click();
        await page.getByRole("dialog").waitFor();
        expect(await opened.audit()).toEqual([]);
        expect(await page.evaluate(() => document.activeElement?.closest("dialog") !== null)).toBe(true);
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
          size.width,
        );
        // Where nothing can be lost, there is no second word for closing.
        const names = await page.getByRole("dialog").getByRole("button").allInnerTexts();
        const closers = names.includes("Cancel") ? ["Close", "Cancel"] : ["Close"];
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
        expect(await isFocused()).toBe(true);
        for (const closer of closers) {
          await button.click();
          await page.getByRole("dialog").getByRole("button", { name: closer, exact: true }).click();
          await page.getByRole("dialog").waitFor({ state: "detached" });
          expect(await isFocused()).toBe(true);
        }
      }
    },
  );

  test("the navigation works with the keyboard alone, on a phone too", async () => {
    await page.setViewportSize(NARROW);
    await page.getByRole("button", { name: "Menu" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "System" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "System", level: 1 }).waitFor();
    await page.locator('.nav[data-open="false"]').waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("content");
  });

  test("the page's policy stops what would get in all the same", async () => {
    const stopped = await page.evaluate(async () => {
      const attempts: (() => unknown)[] = [
        () => document.body.insertAdjacentHTML("beforeend", "<b>markup</b>"),
        () => Object.assign(document.createElement("script"), { src: "https://outside.example/script.js" }),
        () => Object.assign(document.createElement("script"), { text: "window.cyrnelMark = 1" }),
        () => fetch("https://outside.example/"),
      ];
      return Promise.all(
        attempts
          .map(async (attempt) => attempt())
          .map((done) =>
            done.then(
              () => "done",
              () => "stopped",
            ),
          ),
      );
    });
    expect(stopped).toEqual(["stopped", "stopped", "stopped", "stopped"]);
    // Each attempt is a complaint of the browser; nothing before them was.
    const policy = /Content Security Policy|Trusted|outside\.example/;
    expect(opened.complaints.filter((text) => !policy.test(text))).toEqual([]);
    opened.complaints.length = 0;
  });
});
