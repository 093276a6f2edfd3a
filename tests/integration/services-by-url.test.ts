/** OpenAPI documents that are installed by URL: of several files, with relative servers, and partly unreadable. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startServer, type TestServer } from "./harness/server.ts";
import { builtin } from "./modules-server.ts";
import { ScriptedEnvironment } from "./scripted-environment.ts";
import { type FileServer, SECRETS_KEY, serveFiles } from "./services-server.ts";

let server: TestServer;
let files: FileServer;
let other: FileServer;
const served: Parameters<typeof serveFiles>[0] = {};

beforeAll(async () => {
  files = await serveFiles(served);
  other = await serveFiles({ "/x.json": "{}" });
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
  await files?.[Symbol.asyncDispose]();
  await other?.[Symbol.asyncDispose]();
});

const answers = (schema: object) => ({
  responses: { 200: { description: "", content: { "application/json": { schema } } } },
});
const get = (operationId: string, schema: object = {}) => ({ get: { operationId, ...answers(schema) } });
const answerPath: Extract<(typeof served)[string], (...args: never[]) => void> = (request, response) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ path: request.url }));
};
const describe = (paths: object, rest: object = {}) => ({
  openapi: "3.0.3",
  info: { title: "Parts", version: "1" },
  components: { schemas: { Name: { type: "string", nullable: true } } },
  paths,
  ...rest,
});
const install = (id: string, given: object) => server.post("/services", { id, adapter: "openapi", ...given });
const enable = (id: string) => server.post(`/services/${id}/enabled`, { enabled: true });
const call = async (tool: string) =>
  (await server.post(`/tools/${tool}/invoke`, { parameters: {} })).body.result;

test("files beside the document are read, relative servers are of its address, the rest is a problem", async () => {
  const document = describe(
    {
      "/items": { $ref: "./paths.json#/items" },
      "/pets": get("pets", { $ref: "schemas/Pet.yaml" }),
      "/gone": get("gone", { $ref: "missing.json#/X" }),
      "/foreign": get("foreign", { $ref: `${other.url}/x.json` }),
      "/local": get("local", { $ref: "file:///etc/passwd" }),
      "/moved": get("moved", { $ref: "moved.json" }),
      "/here": { ...get("here"), servers: [{ url: "own" }] },
    },
    { servers: [{ url: "../api" }] },
  );
  const text = JSON.stringify(document);
  Object.assign(served, {
    "/docs/api.json?token=t": text,
    "/docs/paths.json": JSON.stringify({
      items: get("items", { $ref: "#/Item" }),
      Item: { type: "object", properties: { id: { type: "integer" } } },
    }),
    "/docs/schemas/Pet.yaml":
      "type: object\nproperties:\n  name: {$ref: '../api.json?token=t#/components/schemas/Name'}\n  owner: {$ref: Owner.yaml}\n",
    "/docs/schemas/Owner.yaml": "type: object\nproperties:\n  pets: {type: array, items: {$ref: Pet.yaml}}\n",
    "/docs/moved.json": ((_request, response) => {
      response.writeHead(302, { location: `${other.url}/x.json` }).end();
    }) satisfies (typeof served)[string],
    "/api/items": answerPath,
    "/docs/own/here": answerPath,
  });
  const url = `${files.url}/docs/api.json?token=t`;
  const installed = await install("parts", { url });
  expect(installed.status).toBe(201);
  const { problems } = installed.body;
  expect(problems).toHaveLength(4);
  for (const [name, reason] of [
    ["gone", /could not be read: .*Could not download .*missing\.json: .* status 404/],
    ["foreign", /is outside of the document/],
    ["local", /"file:\/\/\/etc\/passwd", which is outside of the document/],
    ["moved", /could not be read: .*redirects/],
  ] as const) {
    expect(problems).toContainEqual(
      expect.stringMatching(new RegExp(`^GET /${name} \\(${name}\\) is left out\\.`)),
    );
    expect(problems).toContainEqual(expect.stringMatching(reason));
  }
  expect(other.requests).toEqual([]);
  const stored = (await server.get("/services/parts")).body;
  expect(stored.problems).toEqual(problems);
  expect(JSON.stringify(stored)).not.toContain("token=t");
  const { tools } = (await server.get("/tools?serviceId=parts")).body;
  expect(tools.map(({ id }: { id: string }) => id).sort()).toEqual(["here", "items", "pets"]);
  const { outputSchema } = (await server.get("/tools/parts/pets")).body;
  expect(outputSchema.$defs["Pet.yaml"].properties).toMatchObject({ owner: { $ref: "#/$defs/Owner.yaml" } });
  expect(outputSchema.$defs.Name).toEqual({ type: ["string", "null"] });

  expect((await enable("parts")).status).toBe(200);
  expect(await call("parts/items")).toMatchObject({ status: 200, body: { path: "/api/items" } });
  expect(await call("parts/here")).toMatchObject({ status: 200, body: { path: "/docs/own/here" } });

  const patch = () => server.request("PATCH", "/services/parts", { json: { url } });
  expect((await patch()).body.updated).toBe(false);
  served["/docs/missing.json"] = '{"X": {"type": "string"}}';
  expect((await patch()).body.updated).toBe(true);
  expect((await server.get("/services/parts")).body.problems).toHaveLength(3);

  const before = files.requests.length;
  expect((await server.post("/services/parts/sync", {})).status).toBe(200);
  expect(files.requests).toHaveLength(before);
  expect(await call("parts/items")).toMatchObject({ status: 200 });

  const given = await install("given", { content: text });
  expect(given.status).toBe(201);
  expect(given.body.problems).toHaveLength(6);
  expect(
    files.requests.slice(before).filter((path) => path.startsWith("/docs/") && !path.includes("own")),
  ).toEqual([]);
});

test.each([
  ["none", describe({ "/a": get("a") }), "/a"],
  ["an empty one", describe({ "/a": get("a") }, { servers: [{ url: "" }] }), "/a"],
  [
    "one with variables",
    describe({ "/a": get("a") }, { servers: [{ url: "/{v}", variables: { v: { default: "v2" } } }] }),
    "/v2/a",
  ],
  [
    "a Swagger 2.0 document without host",
    { swagger: "2.0", info: { title: "S", version: "1" }, basePath: "/v1", paths: { "/a": get("a") } },
    "/v1/a",
  ],
])("servers: %s", async (name, document, path) => {
  const id = name.replaceAll(/[^a-z]/gi, "_");
  Object.assign(served, { "/d/api.json": JSON.stringify(document), [path]: answerPath });
  expect((await install(id, { url: `${files.url}/d/api.json` })).status).toBe(201);
  expect((await enable(id)).status).toBe(200);
  expect(await call(`${id}/a`)).toMatchObject({ status: 200, body: { path } });
});

test("an address of the settings takes the place of the document's as before", async () => {
  Object.assign(served, {
    "/e/api.json": JSON.stringify(describe({ "/a": get("a") }, { servers: [{ url: "/api" }] })),
  });
  const elsewhere = await serveFiles({ "/api/a": answerPath });
  await using _ = elsewhere;
  expect((await install("set", { url: `${files.url}/e/api.json` })).status).toBe(201);
  const json = [{ op: "add", path: "/serverUrl", value: elsewhere.url }];
  expect((await server.request("PATCH", "/services/set/config", { json })).status).toBe(200);
  expect((await enable("set")).status).toBe(200);
  expect(await call("set/a")).toMatchObject({ status: 200 });
  expect(elsewhere.requests).toEqual(["/api/a"]);
});

test("at most 50 files are read, and a document that stands alone is stored as it came", async () => {
  const paths: Record<string, object> = {};
  for (let number = 1; number <= 60; number += 1) {
    paths[`/p${number}`] = { $ref: `f${number}.json` };
    served[`/many/f${number}.json`] = JSON.stringify(get(`p${number}`));
  }
  served["/many/api.json"] = JSON.stringify(describe(paths));
  const before = files.requests.length;
  const installed = await install("many", { url: `${files.url}/many/api.json` });
  expect(installed.body.problems).toHaveLength(10);
  expect(installed.body.problems[0]).toContain("Only 50 files are read");
  expect(files.requests).toHaveLength(before + 51);

  for (let number = 61; number <= 100_000; number += 1) paths[`/p${number}`] = { $ref: `f${number}.json` };
  served["/many/api.json"] = JSON.stringify(describe(paths));
  const huge = await install("huge", { url: `${files.url}/many/api.json` });
  expect(huge.status, JSON.stringify(huge.body).slice(0, 500)).toBe(201);
  expect(huge.body.problems).toHaveLength(51);
  expect(huge.body.problems[50]).toBe("And 99900 more.");
  expect(files.requests).toHaveLength(before + 102);

  const alone = JSON.stringify(describe({ "/a": get("a") }, { servers: [{ url: files.url }] }));
  served["/alone.json"] = alone;
  expect((await install("alone", { url: `${files.url}/alone.json` })).status).toBe(201);
  const json = { content: alone };
  expect((await server.request("PATCH", "/services/alone", { json })).body.updated).toBe(false);
});
