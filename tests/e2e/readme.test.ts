/**
 * Types the commands marked `runnable` in README.md, docs/scripts.md and examples/README.md, and compares what they print
 * with the page. A server of the test stands in for the one document they take from the internet.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compare, DEFAULT_ORIGIN, readBlocks, type } from "./pages.ts";
import { PERSONAL_ENVIRONMENT, PROJECT, type StartedServer, startServer } from "./started-server.ts";

const FILES = ["README.md", "docs/scripts.md", "examples/README.md"];
const GITHUB = /https:\/\/raw\.githubusercontent\.com\/[^"\s]+\.json/g;
/** Stands for it: an API with secrets of several kinds. */
const DOCUMENT = "@readme/oas-examples/3.0/json/petstore.json";

const pages = await Promise.all(
  FILES.map(async (file) =>
    (await readBlocks(file))
      .filter(({ info }) => info === "bash runnable")
      .map((block) => ({ ...block, name: `${file}: ${block.body.trim().split("\n")[0]}` })),
  ),
);

let dataDirectory: string;
let server: StartedServer;
let web: Server;

beforeAll(async () => {
  const document = await readFile(createRequire(import.meta.url).resolve(DOCUMENT));
  web = createServer((_, response) => response.end(document)).listen(0, "127.0.0.1");
  await new Promise((resolve) => web.once("listening", resolve));
  dataDirectory = await mkdtemp(path.join(tmpdir(), "cyrnel-readme-"));
  server = await startServer(dataDirectory, { CYRNEL_EGRESS_ALLOW: "127.0.0.1" });
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  web?.closeAllConnections();
  web?.close();
  await rm(dataDirectory, { recursive: true, force: true });
});

test("there are commands to run in each of them", () => {
  for (const blocks of pages) expect(blocks.length).toBeGreaterThan(0);
});

test("README has one block that is not typed: how to start, and to run this suite", async () => {
  const others = (await readBlocks("README.md")).filter(({ info }) => info !== "bash runnable");
  expect(others.map(({ info }) => info)).toEqual(["mermaid", "bash"]);
  expect(others[1]?.body).toMatch(/^npm ci && npm start .*\nnpm ci && npm test .*\n$/);
});

// In the order of the text: later commands may name what earlier ones have made.
test.each(pages.flat())("$name", async ({ body, shown }) => {
  const document = `http://127.0.0.1:${(web.address() as AddressInfo).port}/openapi.json`;
  const typed = body.replaceAll(DEFAULT_ORIGIN, server.origin).replaceAll(GITHUB, document);
  compare(shown, await type(typed, { environment: PERSONAL_ENVIRONMENT }));
});

test("a client that takes the settings of docs/mcp.md talks to the server", async () => {
  const page = await readFile(path.join(PROJECT, "docs/mcp.md"), "utf8");
  const settings = [...page.matchAll(/^```json\n([\s\S]*?)^```$/gm)]
    .map(([, body = ""]) => JSON.parse(body).mcpServers.cyrnel)
    .find(({ command }) => command !== undefined);
  const transport = new StdioClientTransport({
    command: settings.command.replace("/path/to/cyrnel", PROJECT),
    args: settings.args,
    env: {
      ...PERSONAL_ENVIRONMENT,
      CYRNEL_URL: settings.env.CYRNEL_URL.replace(DEFAULT_ORIGIN, server.origin),
    },
  });
  const client = new Client({ name: "reader", version: "1.0.0" });
  await client.connect(transport);
  const called = await client.callTool({ name: "run", arguments: { script: "return 6 * 7" } });
  await client.close();
  expect(called.structuredContent).toMatchObject({ success: true, value: 42 });
});
