/** Services over HTTP with the bundled OpenAPI adapter and a real upstream: from a document to a call and back. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exampleDocuments, largeDocuments } from "#tests/contract/adapters/openapi/documents.ts";
import { startServer, type TestServer } from "./harness/server.ts";
import { builtin } from "./modules-server.ts";
import { ScriptedEnvironment } from "./scripted-environment.ts";
import { SECRETS_KEY, serveFiles } from "./services-server.ts";

const TOKEN = "bearer-7Hd2kQ9z-of-the-shop";

let upstream: Server;
let url: string;
const seen: { path: string; authorization: string | undefined }[] = [];
let server: TestServer;

beforeAll(async () => {
  upstream = createServer((request, response) => {
    seen.push({ path: request.url ?? "", authorization: request.headers.authorization });
    response.setHeader("content-type", "application/json");
    if (request.headers.authorization !== `Bearer ${TOKEN}`) response.writeHead(401).end('{"error":"who?"}');
    else response.end(JSON.stringify({ path: request.url, echo: request.headers.authorization }));
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  server = await startServer({
    builtins: [
      builtin({ id: "typescript-process" }, () => new ScriptedEnvironment()),
      { id: "openapi", type: "adapter", load: () => import("#modules/openapi/index.ts") },
    ],
    environment: { CYRNEL_SECRETS_KEY: SECRETS_KEY, CYRNEL_EGRESS_ALLOW: "127.0.0.1" },
  });
});
afterAll(async () => {
  await server?.close();
  upstream?.closeAllConnections();
  upstream?.close();
});

const operation = (operationId: string) => ({
  operationId,
  parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
  responses: { 200: { description: "ok", content: { "application/json": { schema: { type: "object" } } } } },
});
const document = (paths: Record<string, unknown>) =>
  JSON.stringify({
    openapi: "3.1.0",
    info: { title: "Shop", version: "1", description: "Sells things." },
    servers: [{ url }],
    components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
    security: [{ token: [] }],
    paths,
  });
const items = { "/items/{id}": { get: operation("getItem"), delete: operation("removeItem") } };
const patch = (path: string, json: unknown) => server.request("PATCH", path, { json });
const call = (tool: string, parameters: unknown = { path: { id: 7 } }) =>
  server.post(`/tools/shop/${tool}/invoke`, { parameters });

test("a document becomes a service whose calls carry the secret, and nothing else ever shows it", async () => {
  expect(
    (await server.post("/services", { id: "shop", adapter: "openapi", content: document(items) })).status,
  ).toBe(201);
  expect((await call("getItem")).body.code).toBe("service_disabled");
  const { secretsSchema } = (await server.get("/services/shop/secrets/schema")).body;
  expect(Object.keys(secretsSchema.properties)).toEqual(["token"]);
  expect((await patch("/services/shop/secrets", [{ op: "add", path: "/token", value: TOKEN }])).status).toBe(
    200,
  );
  expect((await server.post("/services/shop/enabled", { enabled: true })).status).toBe(200);
  const answer = await call("getItem");
  expect(answer.status).toBe(200);
  expect(answer.body.result).toMatchObject({
    status: 200,
    body: { path: "/items/7", echo: "Bearer [secret]" },
  });
  expect(seen.at(-1)).toEqual({ path: "/items/7", authorization: `Bearer ${TOKEN}` });
  expect(JSON.stringify(server.logs())).not.toContain(TOKEN);
});

test("another secret counts from the next call on", async () => {
  await patch("/services/shop/secrets", [{ op: "replace", path: "/token", value: "outdated-token" }]);
  expect((await call("getItem")).body.error).toMatch(/answered 401: \{"error":"who\?"\}/);
  await patch("/services/shop/secrets", [{ op: "replace", path: "/token", value: TOKEN }]);
  expect((await call("getItem")).body.result).toMatchObject({ status: 200 });
});

test("a new definition of a service in use: its new tools wait to be enabled, the others go on", async () => {
  const paths = { ...items, "/orders/{id}": { get: operation("getOrder") } };
  expect((await patch("/services/shop", { content: document(paths) })).body).toEqual({
    id: "shop",
    updated: true,
  });
  expect((await call("getItem")).status).toBe(200);
  expect((await call("getOrder")).body.code).toBe("tool_disabled");
  expect((await server.post("/tools/shop/getOrder/enabled", { enabled: true })).status).toBe(200);
  expect((await call("getOrder")).body.result).toMatchObject({ status: 200, body: { path: "/orders/7" } });
});

test("what is no OpenAPI document is refused in the adapter's words, and the service goes on", async () => {
  for (const content of [
    "nonsense",
    '{"openapi":"3.1.0"',
    '{"openapi":"9.0.0","info":{},"paths":{}}',
    "[1]",
  ]) {
    const answer = await patch("/services/shop", { content });
    expect([content, answer.status, answer.body.code]).toEqual([content, 400, "invalid_definition"]);
  }
  expect((await call("getItem")).status).toBe(200);
});

test("an access token that the adapter was granted is as secret as the client's own", async () => {
  const granted = `granted-${"x7Kq".repeat(120)}-signature-of-the-token`;
  await using files = await serveFiles({
    "/token": (_request, response) =>
      void response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ access_token: granted, token_type: "bearer", expires_in: 3600 })),
    "/items/7": (request, response) =>
      void response.writeHead(418, { "content-type": "text/plain" }).end(request.headers.authorization),
  });
  const definition = JSON.parse(document(items));
  definition.servers = [{ url: files.url }];
  const clientCredentials = { tokenUrl: `${files.url}/token`, scopes: {} };
  definition.components.securitySchemes.token = { type: "oauth2", flows: { clientCredentials } };
  const content = JSON.stringify(definition);
  expect((await server.post("/services", { id: "granted", adapter: "openapi", content })).status).toBe(201);
  const value = { clientId: "robot", clientSecret: "robots-own-secret-4711" };
  expect((await patch("/services/granted/secrets", [{ op: "add", path: "/token", value }])).status).toBe(200);
  expect((await server.post("/services/granted/enabled", { enabled: true })).status).toBe(200);
  const answer = await server.post("/tools/granted/getItem/invoke", { parameters: { path: { id: 7 } } });
  expect(answer.body.error).toMatch(/answered 418: .*\[secret\]$/);
  expect(answer.text + JSON.stringify(server.logs())).not.toContain("signature-of-the-token");
});

test("disabled and deleted services cannot be called", async () => {
  await server.post("/services/shop/enabled", { enabled: false });
  expect((await call("getItem")).body.code).toBe("service_disabled");
  expect((await server.request("DELETE", "/services/shop")).status).toBe(204);
  expect((await call("getItem")).status).toBe(404);
  expect((await server.get("/services/shop/secrets")).status).toBe(404);
});

test("real documents are installed whole, taken on, and made anew without a difference", async () => {
  const bySize = [...exampleDocuments(), ...largeDocuments()]
    .map(({ name, text }) => ({ name, text: text() }))
    .filter(({ text }) => text.length < 700_000)
    .sort((left, right) => right.text.length - left.text.length)
    .slice(0, 2);
  await using files = await serveFiles(
    Object.fromEntries(bySize.map(({ text }, index) => [`/${index}`, text])),
  );
  for (const [index, { name }] of bySize.entries()) {
    const id = `large${index}`;
    const installed = await server.post("/services", {
      id,
      adapter: "openapi",
      url: `${files.url}/${index}`,
    });
    expect([name, installed.status]).toEqual([name, 201]);
    const rows = () => server.pool`select * from tools where service_id = ${id} order by position`;
    const before = await rows();
    expect(before.length).toBeGreaterThan(10);
    const config = await patch(`/services/${id}/config`, [{ op: "add", path: "/serverUrl", value: url }]);
    expect(config.status).toBe(200);
    expect((await server.post(`/services/${id}/enabled`, { enabled: true })).status).toBe(200);
    expect((await server.post(`/services/${id}/sync`)).body).toEqual({ id, updated: true });
    expect(await rows()).toEqual(before);
  }
}, 180_000);

test("an operationFilter makes tools of what it names, and stays through sync and update", async () => {
  const tagged = (operationId: string, ...tags: string[]) => ({ ...operation(operationId), tags });
  const paths = {
    "/items/{id}": { get: tagged("getItem", "items"), delete: tagged("removeItem", "items") },
    "/orders/{id}": { get: tagged("getOrder"), put: tagged("putOrder", "slow") },
    "/orders/{id}/lines": { get: tagged("getLines"), post: tagged("getLines") },
  };
  let count = 0;
  const install = async (operationFilter?: unknown, adapter = "openapi") => {
    count += 1;
    const id = `filtered${count}`;
    const body = { id, adapter, content: document(paths), ...(operationFilter ? { operationFilter } : {}) };
    return { id, answer: await server.post("/services", body) };
  };
  const idsOf = async (id: string) => {
    const { body } = await server.get(`/tools?serviceId=${id}`);
    return body.tools.map((tool: { id: string }) => tool.id);
  };
  for (const [filter, expected] of [
    [undefined, ["getItem", "removeItem", "getOrder", "putOrder", "getLines", "getLines_2"]],
    [["getOrder"], ["getOrder"]],
    [["get*"], ["getItem", "getOrder", "getLines", "getLines_2"]],
    [["GET /orders/*"], ["getOrder", "getLines"]],
    [["post /orders/*"], ["getLines_2"]],
    [["* /orders/*", "!tag:slow", "!getLines"], ["getOrder"]],
    [
      ["tag:items", "putOrder"],
      ["getItem", "removeItem", "putOrder"],
    ],
    [["!tag:*"], ["getOrder", "getLines", "getLines_2"]],
  ] as const) {
    const { id, answer } = await install(filter);
    expect(answer.status, answer.text).toBe(201);
    expect(await idsOf(id), JSON.stringify(filter)).toEqual(expected);
  }
  const { id } = await install(["getOrder"]);
  expect((await server.get(`/services/${id}/config`)).body.config).toEqual({ operationFilter: ["getOrder"] });
  expect((await server.post(`/services/${id}/sync`)).status).toBe(200);
  expect(await idsOf(id)).toEqual(["getOrder"]);
  const wider = { ...paths, "/more/{id}": { get: tagged("getMore") } };
  expect((await patch(`/services/${id}`, { content: document(wider) })).body.updated).toBe(true);
  expect(await idsOf(id)).toEqual(["getOrder"]);
  const change = [{ op: "replace", path: "/operationFilter", value: ["get*"] }];
  expect((await patch(`/services/${id}/config`, change)).status).toBe(200);
  expect(await idsOf(id)).toEqual(["getOrder"]);
  await server.post(`/services/${id}/sync`);
  expect(await idsOf(id)).toEqual(["getItem", "getOrder", "getLines", "getLines_2", "getMore"]);

  const nothing = await install(["getNothing"]);
  expect([nothing.answer.body.code, nothing.answer.body.error]).toEqual([
    "invalid_definition",
    expect.stringContaining("leaves none of the 6 operations"),
  ]);
  for (const wrong of [[], [""], ["x".repeat(301)], Array(201).fill("a"), "get*", [7]]) {
    expect((await install(wrong)).answer.body.code).toBe("invalid_request");
  }
});
