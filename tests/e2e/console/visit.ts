/** A signed-in person: a server with the demo service, a browser, and the console in it. */
import type { BrowserContextOptions } from "playwright-core";
import { TEST_KEY } from "#tests/integration/harness/http-app.ts";
import { launchBrowser, type OpenPage, signIn } from "./browser.ts";
import { type ConsoleServer, startConsoleServer } from "./console-server.ts";

export interface Visit extends OpenPage, AsyncDisposable {
  server: ConsoleServer;
}

export async function visitConsole(
  options: BrowserContextOptions,
  environment: Record<string, string> = {},
): Promise<Visit> {
  await using undo = new AsyncDisposableStack();
  const server = undo.use(await startConsoleServer(environment));
  await server.send("POST", "/services", { id: "demo", adapter: "demo", content: "{}" });
  await server.send("POST", "/services/demo/enabled", { enabled: true });
  const browser = undo.use(await launchBrowser(server.url));
  const opened = await browser.open(options);
  await signIn(opened.page, server.url, TEST_KEY);
  const close = undo.move();
  return { ...opened, server, [Symbol.asyncDispose]: () => close.disposeAsync() };
}
