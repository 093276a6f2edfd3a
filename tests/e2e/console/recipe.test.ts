/** The page that CONTRIBUTING.md adds to the console, added as it says: two files, built, and looked at in Chromium. */

import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import type { Route } from "playwright-core";
import { expect, test } from "vitest";
import { TSC } from "#tests/checks/packages.ts";
import { TEST_KEY } from "#tests/integration/harness/http-app.ts";
import { buildSite } from "../../../build/console.ts";
import { chromiumPath, launchBrowser, signIn } from "./browser.ts";
import { startConsoleServer } from "./console-server.ts";

const PROJECT = path.resolve(import.meta.dirname, "../../..");
const run = promisify(execFile);

test.skipIf(chromiumPath === null)("the recipe's page is two files, and is there", { retry: 0 }, async () => {
  const recipe = (await readFile(path.join(PROJECT, "CONTRIBUTING.md"), "utf8"))
    .split("## How to add a page to the console")[1]
    ?.split("\n## ")[0];
  const files = [...(recipe ?? "").matchAll(/^\d\. `([^`]+)`/gm)].map(([, file]) => file);
  expect(files).toEqual(["web/processes/failures-page.tsx", "web/pages.tsx"]);
  const [page, line] = [...(recipe ?? "").matchAll(/```tsx\n([\s\S]*?)```/g)].map(([, code]) => code ?? "");

  await using undo = new AsyncDisposableStack();
  // Beside web/, for its imports and packages.
  const web = await mkdtemp(path.join(PROJECT, "web-recipe-"));
  undo.defer(() => rm(web, { recursive: true, force: true }));
  await cp(path.join(PROJECT, "web"), web, {
    recursive: true,
    filter: (file) => path.basename(file) !== "dist",
  });
  await writeFile(path.join(web, "processes/failures-page.tsx"), page ?? "");
  const registry = await readFile(path.join(web, "pages.tsx"), "utf8");
  const changed = registry.replace(/^(?= {2}\{ path: "\*")/m, line ?? "");
  await writeFile(path.join(web, "pages.tsx"), changed);
  const site = path.join(web, "dist/site");
  const [server] = await Promise.all([
    startConsoleServer(),
    buildSite(web, site),
    run(process.execPath, [TSC, "--noEmit", "-p", web]),
  ]);
  undo.use(server);
  await server.send("POST", "/processes", { code: "throw new Error('as it should')", block: true });
  const browser = undo.use(await launchBrowser(server.url));
  const opened = await browser.open({ viewport: { width: 1280, height: 900 } });
  // The server's own headers, with the files that were built here.
  await opened.page.route(`${server.url}/`, async (route: Route) => {
    const response = await route.fetch();
    const nonce = /nonce-([\w-]+)/.exec(response.headers()["content-security-policy"] ?? "")?.[1] ?? "";
    const html = await readFile(path.join(site, "index.html"), "utf8");
    await route.fulfill({
      response,
      body: html.replaceAll("__NONCE__", nonce).replaceAll("__ACCESS__", "key"),
    });
  });
  await opened.page.route(`${server.url}/console/*`, (route: Route) =>
    route.fulfill({ path: path.join(site, new URL(route.request().url()).pathname) }),
  );
  await signIn(opened.page, server.url, TEST_KEY);
  await opened.page.getByRole("link", { name: "Failures" }).click();
  await opened.page.getByRole("heading", { name: "Failures", level: 1 }).waitFor();
  await opened.page.getByRole("listitem").filter({ hasText: "as it should" }).locator("time").waitFor();
  expect(await opened.page.title()).toBe("Failures · Cyrnel");
  expect(opened.complaints).toEqual([]);
});
