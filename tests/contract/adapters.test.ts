/** The conformance suite on every bundled adapter, on the one examples/ teaches, and on the one CONTRIBUTING.md builds. */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { instantiate as instantiateDemo } from "#modules/demo/index.ts";
import { instantiate as instantiateGraphql } from "#modules/graphql/index.ts";
import { instantiate as instantiateHttp } from "#modules/http/index.ts";
import { instantiate as instantiateMcp } from "#modules/mcp/index.ts";
import { instantiate as instantiateOpenapi } from "#modules/openapi/index.ts";
import { type AdapterModule, type ModuleEntry, moduleManifestSchema } from "#sdk";
import { SECRET } from "./adapters/suite/bench.ts";
import { defineAdapterCases } from "./adapters.cases.ts";

const PROJECT = path.resolve(import.meta.dirname, "../..");
const badHeaders = [{ config: { headers: 7 } }, { config: { timeoutMs: "soon" } }];

defineAdapterCases("openapi", {
  instantiate: instantiateOpenapi,
  define: (url) =>
    JSON.stringify({
      openapi: "3.1.0",
      info: { title: "Shop", version: "1" },
      servers: [{ url }],
      components: { securitySchemes: { key: { type: "apiKey", in: "header", name: "x-key" } } },
      security: [{ key: [] }],
      paths: {
        "/orders": {
          post: {
            operationId: "order",
            requestBody: { content: { "application/json": { schema: { type: "object" } } } },
            responses: { 200: { description: "ok", content: { "application/json": { schema: {} } } } },
          },
        },
      },
    }),
  secrets: { key: SECRET },
  reply: (_request, filler) => ({ body: JSON.stringify({ ordered: true, filler }) }),
  call: {
    toolId: "order",
    parameters: { body: { item: 1 } },
    result: { status: 200, body: { ordered: true } },
  },
  hostile: {
    "another format": '{"asyncapi":"3.0.0"}',
    "no version": '{"paths":{}}',
    "a program": "<script>alert(1)</script>",
    "aliases without end": `a: &a [x,x]\nb: &b [*a,*a]\n${"cdefghijklmnopqrstuvwxyz"
      .split("")
      .map((name, index, all) => `${name}: &${name} [*${all[index - 1] ?? "b"},*${all[index - 1] ?? "b"}]`)
      .join("\n")}\nopenapi: 3.0.0`,
  },
  badSettings: [...badHeaders, { config: { serverUrl: `ftp://u:${SECRET}@h/` } }],
});

let httpUrl = "";
defineAdapterCases(
  "http",
  {
    instantiate: instantiateHttp,
    define(url) {
      httpUrl = url;
      return JSON.stringify({
        rules: [
          { name: "order", origins: [url], pathPrefix: "/orders", methods: ["POST"] },
          { name: "locked", origins: ["https://locked.invalid"], methods: ["GET"], auth: { type: "bearer" } },
        ],
      });
    },
    secrets: { locked: SECRET },
    reply: (_request, filler) => ({ body: `{"ordered":true}${filler}` }),
    call: {
      toolId: "order",
      get parameters() {
        return { url: `${httpUrl}/orders`, method: "POST", body: "{}" };
      },
      result: { status: 200, body: { text: '{"ordered":true}' } },
    },
    hostile: {
      "another key": '{"rules":[],"more":1}',
      "credentials in an origin": `{"rules":[{"name":"a","origins":["https://u:${SECRET}@h"],"methods":["GET"]}]}`,
      "a secret without TLS":
        '{"rules":[{"name":"a","origins":["http://h"],"methods":["GET"],"auth":{"type":"bearer"}}]}',
    },
    badSettings: [{ config: { timeoutMs: "soon" } }, { secrets: { locked: `${SECRET}\nX-Evil: 1` } }],
  },
  {
    cases: {
      "secrets.sent": "credentials are sent over TLS only: tests/contract/adapters/http",
      "secrets.origins": "the server of the suite has no TLS: tests/contract/adapters/http",
      "limits.size": "the bound is part of each rule: tests/contract/adapters/http",
    },
  },
);

defineAdapterCases("graphql", {
  instantiate: instantiateGraphql,
  define: (url) =>
    JSON.stringify({
      endpoint: `${url}/graphql`,
      sdl: "type Query { count: Int! } type Mutation { order(item: Int!): Int }",
    }),
  secrets: { bearerToken: SECRET },
  reply: (_request, filler) => ({ body: JSON.stringify({ data: { order: 7 }, extensions: { filler } }) }),
  call: { toolId: "order", parameters: { item: 1 }, result: { data: 7 } },
  hostile: {
    "no schema": "type",
    "credentials in the URL": `{"endpoint":"http://u:p@h/"}`,
    "a directive of a million tokens": `type Query { a: Int } ${"# x\n".repeat(10)} extend type`,
  },
  badSettings: [
    ...badHeaders,
    { secrets: { bearerToken: `${SECRET}\nX-Evil: 1` } },
    { config: { headers: { host: "h" } } },
  ],
});

defineAdapterCases("mcp", {
  instantiate: instantiateMcp,
  define: (url) => JSON.stringify({ transport: "http", url: `${url}/mcp` }),
  secrets: { bearerToken: SECRET },
  reply({ method, body }, filler) {
    if (method !== "POST") return { status: 405, body: "" };
    const message = JSON.parse(body);
    const results: Record<string, unknown> = {
      initialize: {
        protocolVersion: message.params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "shop", version: "1" },
      },
      "tools/list": { tools: [{ name: "order", inputSchema: { type: "object" } }] },
      "tools/call": {
        content: [{ type: "text", text: "ordered" }, ...(filler && [{ type: "text", text: filler }])],
        structuredContent: { ordered: true },
      },
    };
    const result = results[message.method];
    if (result === undefined) return { status: 202, body: "" };
    return { body: JSON.stringify({ jsonrpc: "2.0", id: message.id, result }) };
  },
  isCall: ({ body }) => body.includes('"tools/call"'),
  call: { toolId: "order", parameters: { item: 1 }, result: { ordered: true } },
  hostile: {
    "another transport": '{"transport":"carrier pigeon"}',
    "no web address": '{"transport":"http","url":"file:///etc/passwd"}',
    "a program without leave": '{"transport":"stdio","command":"true"}',
    "too long": JSON.stringify({ transport: "http", url: `http://h/${"x".repeat(300_000)}` }),
  },
  badSettings: [
    ...badHeaders,
    { secrets: { bearerToken: `${SECRET}\nX-Evil: 1` } },
    { config: { headers: { host: "h" } } },
  ],
});

defineAdapterCases(
  "demo",
  {
    instantiate: instantiateDemo,
    define: () => "{}",
    secrets: { signature: SECRET },
    reply: () => ({ body: "" }),
    call: { toolId: "clearBoard", parameters: { reason: "new week" }, result: {} },
    hostile: { "any key": '{"url":"http://h/"}' },
    badSettings: [],
  },
  { callsNothing: "its board is in the server's memory" },
);

const webhooks: ModuleEntry<AdapterModule> = await import(
  path.join(PROJECT, "examples/modules/signed-webhooks/index.mts")
);
defineAdapterCases("signed-webhooks of examples/", {
  instantiate: webhooks.instantiate,
  moduleConfig: { userAgent: "test" },
  define: () => JSON.stringify({ name: "Shop", hooks: [{ id: "order", path: "orders" }] }),
  config: (url) => ({ baseUrl: `${url}/` }),
  secrets: { signingKey: SECRET },
  reply: (_request, filler) => ({ body: JSON.stringify({ ordered: true, filler }) }),
  call: { toolId: "order", parameters: { item: 1 }, result: { status: 200, body: { ordered: true } } },
  hostile: {
    "a way out": '{"hooks":[{"id":"a","path":"../x"}]}',
    "another host": '{"hooks":[{"id":"a","path":"//h/x"}]}',
    "no identifier": '{"hooks":[{"id":"a b","path":"x"}]}',
  },
  badSettings: [{ config: { baseUrl: "nowhere" } }],
});

/** The recipe's own files: what it says is done, and the adapter it makes holds what every other holds. */
const recipe = (await readFile(path.join(PROJECT, "CONTRIBUTING.md"), "utf8"))
  .split("## How to add an adapter")[1]
  ?.split("\n## ")[0];
const [entry, cases] = [...(recipe ?? "").matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code ?? "");
// In the project, for its imports; hidden from what reads the project's files.
const folder = await mkdtemp(path.join(import.meta.dirname, ".recipe-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
await writeFile(path.join(folder, "index.ts"), entry ?? "");
await writeFile(
  path.join(folder, "cases.ts"),
  `import { instantiate as instantiateNotes } from "./index.ts";
import { SECRET } from "../adapters/suite/bench.ts";
import { defineAdapterCases } from "../adapters.cases.ts";
${cases}`,
);
await import(path.join(folder, "cases.ts"));

test("the recipe's adapter has a manifest, and needs no more than four files", async () => {
  const { manifest } = (await import(path.join(folder, "index.ts"))) as ModuleEntry;
  expect(moduleManifestSchema.parse(manifest)).toMatchObject({ id: "notes", type: "adapter" });
  const files = [...(recipe ?? "").matchAll(/^\d\. `([^`]+)`/gm)].map(([, file]) => file);
  expect(files).toEqual([
    "modules/notes/index.ts",
    "modules/notes/README.md",
    "api/components/modules/builtins.ts",
    "tests/contract/adapters.test.ts",
  ]);
});
