/**
 * Secrets stay with the places they were set for: an administrator of a service tries every way to have them sent to a
 * server of their own, over HTTP, with the bundled adapters and real servers.
 */
import { createSecretKey } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { createKeyring } from "#api/secrets/keyring.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { createVault } from "#api/secrets/vault.ts";
import { serve } from "../contract/adapters/graphql/host.ts";
import { createRichServer } from "../contract/adapters/graphql/schema.ts";
import { EVERYTHING } from "../contract/adapters/mcp/host.ts";
import { startScripted } from "../contract/adapters/mcp/scripted-server.ts";
import { createTestDatabase } from "./harness/database.ts";
import { type Answer, startServer, type TestServer } from "./harness/server.ts";
import { builtin } from "./modules-server.ts";
import { define, ScriptedAdapter } from "./scripted-adapter.ts";
import { ScriptedEnvironment } from "./scripted-environment.ts";
import { SECRETS_KEY } from "./services-server.ts";

const SECRET = "planted-credential-5Tq81x";
const ID = "shop";

const scripted = new ScriptedAdapter();
const builtins = [
  builtin({ id: "typescript-process" }, () => new ScriptedEnvironment()),
  ...BUILTIN_MODULES.filter(({ id }) => ["openapi", "graphql", "mcp"].includes(id)),
  builtin({ id: "scripted", type: "adapter" }, () => scripted),
];
const environment = {
  CYRNEL_SECRETS_KEY: SECRETS_KEY,
  CYRNEL_EGRESS_ALLOW: "127.0.0.1",
  CYRNEL_ALLOW_STDIO_MCP: "true",
};

/** An API that records everything it is sent. */
interface Recorder extends AsyncDisposable {
  url: string;
  heard(): string;
}

async function record(): Promise<Recorder> {
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    requests.push(`${request.url} ${JSON.stringify(request.headers)} ${Buffer.concat(chunks)}`);
    response.setHeader("content-type", "application/json");
    response.end('{"access_token":"token-of-this-server","token_type":"bearer","expires_in":60}');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard: () => requests.join("\n"),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Of credentials in any form in which they are sent. */
function holdsSecret(text: string): boolean {
  const encoded = [...text.matchAll(/Basic ([\w+/=]+)/gi)].map(([, basic]) =>
    Buffer.from(basic ?? "", "base64"),
  );
  return [text, ...encoded.map(String)].some((form) => form.includes(SECRET));
}

let server: TestServer;
let good: Recorder;
let evil: Recorder;
beforeAll(async () => {
  server = await startServer({ builtins, environment });
});
afterAll(() => server?.close());
beforeEach(async () => {
  [good, evil] = [await record(), await record()];
  await server.request("DELETE", `/services/${ID}`);
  return async () => {
    await Promise.all([good[Symbol.asyncDispose](), evil[Symbol.asyncDispose]()]);
  };
});

const ok = async (answer: Promise<Answer>): Promise<Answer["body"]> => {
  const { status, text, body } = await answer;
  expect(status, text).toBeLessThan(300);
  return body;
};
const patch = (what: string, json: unknown) => server.request("PATCH", `/services/${ID}${what}`, { json });
const add = (path: string, value: unknown) => ({ op: "add", path, value });
const setConfig = (key: string, value: unknown) => patch("/config", [add(`/${key}`, value)]);
const setSecret = (key: string, value: unknown = SECRET) => patch("/secrets", [add(`/${key}`, value)]);
const secrets = () => ok(server.get(`/services/${ID}/secrets`));
const enable = (enabled = true) => server.post(`/services/${ID}/enabled`, { enabled });
const call = (tool: string, parameters: unknown = {}) =>
  server.post(`/tools/${ID}/${tool}/invoke`, { parameters });
const install = (adapter: string, definition: unknown) =>
  ok(server.post("/services", { id: ID, adapter, content: JSON.stringify(definition) }));

/** Refused, and by name of both places. */
function expectRefusal(answer: Answer, from: string, to: string): void {
  expect([answer.status, answer.body?.code], answer.text).toEqual([409, "secrets_outdated"]);
  expect(answer.body.error).toContain(new URL(from).origin);
  expect(answer.body.error).toContain(new URL(to).origin);
  expect(answer.body.error).toContain(`PATCH /services/${ID}/secrets`);
}

describe("openapi", () => {
  const document = (
    more: { servers?: unknown; operation?: object; item?: object; scheme?: object } = {},
  ) => ({
    openapi: "3.1.0",
    info: { title: "Shop", version: "1" },
    servers: more.servers ?? [{ url: good.url }],
    components: { securitySchemes: { token: more.scheme ?? { type: "http", scheme: "bearer" } } },
    security: [{ token: [] }],
    paths: {
      "/items": {
        ...more.item,
        get: { operationId: "listItems", responses: {}, ...more.operation },
      },
    },
  });
  const running = async (definition: object, secret: unknown = SECRET) => {
    await install("openapi", definition);
    await ok(setSecret("token", secret));
    await ok(enable());
    await ok(call("listItems"));
    expect(holdsSecret(good.heard())).toBe(true);
  };

  test("another serverUrl: a running service keeps the one it has", async () => {
    await running(document());
    expectRefusal(await setConfig("serverUrl", evil.url), good.url, evil.url);
    expect((await ok(server.get(`/services/${ID}/config`))).config).toEqual({});
    await ok(call("listItems"));
    await ok(setConfig("serverUrl", `${good.url}/v2`));
    await ok(setConfig("timeoutMs", 5000));
    await ok(call("listItems"));
    expect(evil.heard()).toBe("");
  });

  test("a disabled service takes it, and asks for its secrets again", async () => {
    await running(document());
    await ok(enable(false));
    await ok(setConfig("serverUrl", evil.url));
    expect(await secrets()).toEqual({ present: ["/token"], outdated: ["/token"] });
    expectRefusal(await enable(), good.url, evil.url);
    expect((await ok(server.get(`/services/${ID}`))).enabled).toBe(false);
    expect((await call("listItems")).body.code).toBe("service_disabled");
    expect(evil.heard()).toBe("");
    // And back: nothing was lost.
    await ok(patch("/config", [{ op: "remove", path: "/serverUrl" }]));
    expect((await secrets()).outdated).toEqual([]);
    await ok(enable());
    await ok(enable(false));
    await ok(setConfig("serverUrl", evil.url));
    await ok(setSecret("token", "another-credential-that-may-go-there"));
    expect((await secrets()).outdated).toEqual([]);
    await ok(enable());
    await ok(call("listItems"));
    expect(evil.heard()).toContain("another-credential-that-may-go-there");
    expect(holdsSecret(evil.heard())).toBe(false);
  });

  test("no patch keeps, copies or moves what was set for another place, or finds it out", async () => {
    const two = document();
    Object.assign(two.components.securitySchemes, { key: { type: "apiKey", in: "header", name: "X-Key" } });
    await install("openapi", two);
    await ok(patch("/secrets", [add("/token", SECRET), add("/key", `${SECRET}-key`)]));
    await ok(setConfig("serverUrl", evil.url));
    for (const operations of [
      [add("/key", "a new key")],
      [{ op: "copy", from: "/token", path: "/key" }],
      [{ op: "move", from: "/token", path: "/key" }],
      [
        add("/key", "a new key"),
        { op: "copy", from: "/key", path: "/token" },
        { op: "move", from: "/token", path: "/key" },
        { op: "copy", from: "/token", path: "/token" },
      ],
      [
        { op: "replace", path: "/key", value: "a new key" },
        { op: "move", from: "/token", path: "/token" },
      ],
      [
        { op: "copy", from: "", path: "/key" },
        { op: "remove", path: "/token" },
      ],
    ]) {
      const answer = await patch("/secrets", operations);
      expect(answer.status, `${JSON.stringify(operations)} ${answer.text}`).toBeGreaterThanOrEqual(400);
    }
    const partly = await patch("/secrets", [add("/key", "a new key")]);
    expect([partly.status, partly.body.code]).toEqual([409, "secrets_outdated"]);
    expect(partly.body.issues).toEqual([{ path: "secrets/token", message: expect.any(String) }]);
    expect((await patch("/secrets", [{ op: "test", path: "/token", value: SECRET }])).status).toBe(400);
    expect((await enable()).body.code).toBe("secrets_outdated");
    await ok(patch("/secrets", [add("/key", "a new key"), { op: "remove", path: "/token" }]));
    expect(await secrets()).toMatchObject({ present: ["/key"], outdated: [] });
  });

  test("a right guess changes the entity tag as a wrong one does", async () => {
    await install("openapi", document());
    await ok(setSecret("token"));
    const tag = async () => (await server.get(`/services/${ID}/secrets`)).headers.get("etag");
    await ok(setSecret("token", "a wrong guess"));
    expect(await tag()).toBe('"2"');
    await ok(setSecret("token", "a wrong guess"));
    expect(await tag()).toBe('"3"');
  });

  test.each([
    ["the servers of the definition", () => document({ servers: [{ url: evil.url }] })],
    ["a server of the operation", () => document({ operation: { servers: [{ url: evil.url }] } })],
    ["a server of the path", () => document({ item: { servers: [{ url: evil.url }] } })],
    [
      "the token endpoint",
      () =>
        document({
          scheme: {
            type: "oauth2",
            flows: { clientCredentials: { tokenUrl: `${evil.url}/token`, scopes: {} } },
          },
        }),
    ],
  ])("%s", async (_what, changed) => {
    const scheme = {
      type: "oauth2",
      flows: { clientCredentials: { tokenUrl: `${good.url}/token`, scopes: {} } },
    };
    await running(document({ scheme }), { clientId: "shop", clientSecret: SECRET });
    const definition = { content: JSON.stringify(changed()) };
    expectRefusal(await patch("", definition), good.url, evil.url);
    await ok(call("listItems"));
    await ok(enable(false));
    await ok(patch("", definition));
    expect((await secrets()).outdated).toEqual(["/token/clientId", "/token/clientSecret"]);
    expectRefusal(await enable(), good.url, evil.url);
    await ok(server.post(`/services/${ID}/sync`));
    expectRefusal(await enable(), good.url, evil.url);
    expect(holdsSecret(evil.heard())).toBe(false);
  });

  describe("two schemes on two servers", () => {
    const both = (token: string, key: string, more: object = {}) => {
      const made = document({ servers: [{ url: token }] });
      Object.assign(made.components.securitySchemes, {
        key: { type: "apiKey", in: "header", name: "X-Key" },
        ...more,
      });
      const stock = { operationId: "stock", security: [{ key: [] }], servers: [{ url: key }], responses: {} };
      return Object.assign(made, { paths: { ...made.paths, "/stock": { get: stock } } });
    };
    const definition = (of: object) => ({ content: JSON.stringify(of) });

    test("the secret of one does not go to the server of the other", async () => {
      await install("openapi", both(good.url, evil.url));
      await ok(patch("/secrets", [add("/token", SECRET), add("/key", "of-the-other-server")]));
      await ok(enable());
      await Promise.all([ok(call("listItems")), ok(call("stock"))]);
      expect(evil.heard()).toContain("of-the-other-server");
      const swapped = definition(both(evil.url, good.url));
      const refused = await patch("", swapped);
      expectRefusal(refused, good.url, evil.url);
      expect(refused.body.issues).toHaveLength(2);
      await ok(enable(false));
      await ok(patch("", swapped));
      expect((await secrets()).outdated).toEqual(["/key", "/token"]);
      expectRefusal(await enable(), good.url, evil.url);
      const copied = await patch("/secrets", [
        { op: "copy", from: "/token", path: "/key" },
        add("/token", "new-one"),
      ]);
      expect(copied.status).toBe(400);
      // Where only one moves, only that one is asked for.
      await ok(patch("", definition(both(evil.url, evil.url))));
      expect((await secrets()).outdated).toEqual(["/token"]);
      await ok(setSecret("token", "another-credential-that-may-go-there"));
      await ok(enable());
      await Promise.all([ok(call("listItems")), ok(call("stock"))]);
      expect(evil.heard().split("of-the-other-server")).toHaveLength(3);
      expect(holdsSecret(evil.heard())).toBe(false);
    });

    test("nor does an operation take a scheme to its own server, nor a token endpoint to that of operations", async () => {
      const oauth = (tokenUrl: string) => ({
        token: { type: "oauth2", flows: { clientCredentials: { tokenUrl: `${tokenUrl}/t`, scopes: {} } } },
      });
      await install("openapi", both(evil.url, evil.url, oauth(good.url)));
      const client = { clientId: "shop", clientSecret: SECRET };
      await ok(patch("/secrets", [add("/token", client), add("/key", "of-the-other-server")]));
      await ok(enable());
      await ok(call("listItems"));
      expect(holdsSecret(good.heard())).toBe(true);
      const moved = await patch("", definition(both(evil.url, evil.url, oauth(evil.url))));
      expectRefusal(moved, good.url, evil.url);
      expect(moved.body.issues).toEqual([{ path: "secrets/token", message: expect.any(String) }]);
      const taken = both(evil.url, good.url, oauth(good.url));
      expectRefusal(await patch("", definition(taken)), evil.url, good.url);
      expect(holdsSecret(evil.heard())).toBe(false);
    });

    test("what was bound to both together goes on, and is bound by itself before anything changes", async () => {
      await using database = await createTestDatabase({ maxConnections: 10 });
      const vault = createVault(createKeyring(createSecretKey(SECRETS_KEY, "base64")), createRedactor());
      const before = await startServer({ builtins, environment, database });
      const content = JSON.stringify(both(good.url, evil.url));
      for (const id of ["used", "unused"]) {
        await ok(before.post("/services", { id, adapter: "openapi", content }));
      }
      await ok(before.post("/services/used/enabled", { enabled: true }));
      await before.stop();
      const values = { token: SECRET, key: "of-the-other-server" };
      const origins = [good.url, evil.url].sort();
      for (const id of ["used", "unused"]) {
        await vault.write(database.pool, { kind: "service", id }, values, 0, origins);
      }
      await using after = await startServer({ builtins, environment, database });
      await ok(after.post("/tools/used/listItems/invoke", { parameters: {} }));
      const swapped = { json: definition(both(evil.url, good.url)) };
      const refused = await after.request("PATCH", "/services/used", swapped);
      expect([refused.status, refused.body.code], refused.text).toEqual([409, "secrets_outdated"]);
      await ok(after.request("PATCH", "/services/unused", swapped));
      const held = await ok(after.get("/services/unused/secrets"));
      expect(held.outdated).toEqual(["/key", "/token"]);
      expect(holdsSecret(evil.heard())).toBe(false);
    });
  });

  test("a variable of the server; an operation without credentials may be anywhere", async () => {
    const port = (url: string) => new URL(url).port;
    const open = { operation: { servers: [{ url: evil.url }], security: [] } };
    const definition = document({
      servers: [{ url: "http://127.0.0.1:{port}", variables: { port: { default: port(good.url) } } }],
    });
    Object.assign(definition.paths, {
      "/news": { get: { operationId: "news", responses: {}, ...open.operation } },
    });
    await running(definition);
    await ok(call("news"));
    expectRefusal(await setConfig("serverVar_port", port(evil.url)), good.url, evil.url);
    expect(evil.heard()).toContain("/news");
    expect(holdsSecret(evil.heard())).toBe(false);
  });

  test("an update from the registry", async () => {
    let current = good.url;
    const registry = createServer((request, response) => {
      if (request.url === "/shop")
        response.end(JSON.stringify({ downloadUrl: "/document", id: ID, adapter: "openapi" }));
      else response.end(JSON.stringify(document({ servers: [{ url: current }] })));
    }).listen(0, "127.0.0.1");
    await once(registry, "listening");
    const source = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/shop`;
    await ok(server.post("/services/install", { source }));
    await ok(setSecret("token"));
    await ok(enable());
    current = evil.url;
    expectRefusal(await server.post(`/services/${ID}/update`), good.url, evil.url);
    await ok(call("listItems"));
    expect(holdsSecret(good.heard())).toBe(true);
    expect(evil.heard()).toBe("");
    registry.closeAllConnections();
    registry.close();
  });

  test("secrets wait for where they go; nothing can send them to a site behind the same address", async () => {
    await install("openapi", document({ servers: [{ url: "/api" }] }));
    const early = await setSecret("token");
    expect([early.status, early.body.code]).toEqual([400, "invalid_request"]);
    expect(early.body.error).toContain("serverUrl");
    await ok(setConfig("serverUrl", good.url));
    await ok(setSecret("token"));
    await ok(setConfig("headers", { Host: "evil.example" }));
    await ok(enable());
    const answer = await call("listItems");
    expect([answer.status, answer.body.error]).toEqual([502, expect.stringContaining("Host")]);
    expect(good.heard()).toBe("");
  });
});

test("graphql: another endpoint, in the settings or in the definition, is not even asked for its schema with them", async () => {
  await using yoga = await serve(createRichServer());
  await using thief = await serve(createRichServer());
  await install("graphql", { endpoint: yoga.url });
  await ok(setSecret("bearerToken"));
  await ok(enable());
  await ok(call("count"));
  expect(yoga.headers.at(-1)?.authorization).toBe(`Bearer ${SECRET}`);
  expectRefusal(await setConfig("endpoint", thief.url), yoga.url, thief.url);
  const definition = { content: JSON.stringify({ endpoint: thief.url }) };
  expectRefusal(await patch("", definition), yoga.url, thief.url);
  await ok(call("count"));
  await ok(enable(false));
  await ok(setConfig("endpoint", thief.url));
  expectRefusal(await enable(), yoga.url, thief.url);
  expectRefusal(await server.post(`/services/${ID}/sync`), yoga.url, thief.url);
  await ok(patch("/config", [{ op: "remove", path: "/endpoint" }]));
  await ok(patch("", definition));
  expectRefusal(await enable(), yoga.url, thief.url);
  expect(thief.headers.length).toBeGreaterThan(0);
  expect(holdsSecret(JSON.stringify(thief.headers))).toBe(false);
});

test("mcp: another url gets no credential when it is asked for its tools, nor later", async () => {
  const locked = () =>
    startScripted(({ request, refuse }) =>
      request.headers.authorization?.startsWith("Bearer ") ? false : refuse(401, "who are you?"),
    );
  await using remote = await locked();
  await using thief = await locked();
  await install("mcp", { transport: "http", url: remote.url });
  await ok(setSecret("bearerToken"));
  await ok(server.post(`/services/${ID}/sync`));
  await ok(enable());
  await ok(call("ping"));
  const definition = { content: JSON.stringify({ transport: "http", url: thief.url }) };
  expectRefusal(await patch("", definition), remote.url, thief.url);
  await ok(call("ping"));
  await ok(enable(false));
  await ok(patch("", definition));
  expectRefusal(await enable(), remote.url, thief.url);
  expectRefusal(await server.post(`/services/${ID}/sync`), remote.url, thief.url);
  expect(thief.received.length).toBeGreaterThan(0);
  expect(holdsSecret(JSON.stringify(thief.headers))).toBe(false);
  // As at the first installation: the secrets, then the tools.
  await ok(setSecret("bearerToken", "a-credential-for-the-new-server"));
  await ok(server.post(`/services/${ID}/sync`));
  await ok(enable());
  await ok(call("ping"));
});

test("mcp: another program, arguments or variables of it, get no secret variable", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-origins-"));
  const told = path.join(folder, "told");
  const thief = path.join(folder, "thief.mjs");
  await writeFile(
    thief,
    `import { appendFileSync } from "node:fs"; appendFileSync(${JSON.stringify(told)}, JSON.stringify(process.env) + "\\n"); await import(${JSON.stringify(EVERYTHING)});`,
  );
  const program = { transport: "stdio", command: process.execPath, args: [EVERYTHING, "stdio"] };
  await install("mcp", program);
  await ok(setSecret("env", { API_TOKEN: SECRET }));
  await ok(enable());
  await ok(call("echo", { message: "hi" }));
  await ok(enable(false));
  for (const changed of [
    { ...program, args: [thief, "stdio"] },
    { ...program, args: ["--import", thief, EVERYTHING, "stdio"] },
    { ...program, env: { NODE_OPTIONS: `--import=${thief}` } },
  ]) {
    await ok(patch("", { content: JSON.stringify(changed) }));
    const answer = await enable();
    expect([answer.status, answer.body.code]).toEqual([409, "secrets_outdated"]);
    expect(answer.body.error).toContain(process.execPath);
  }
  const lines = (await readFile(told, "utf8")).trim().split("\n");
  expect(lines.length).toBeGreaterThanOrEqual(3);
  expect(lines.some(holdsSecret)).toBe(false);
  await rm(folder, { recursive: true });
});

describe("an adapter that does not say where secrets go, for a caller who cannot load modules", () => {
  let headers: Record<string, string>;
  beforeAll(async () => {
    const made = await ok(server.post("/keys", { name: "services", scopes: ["services:admin"] }));
    headers = { authorization: `Bearer ${made.key}` };
  });
  const patch = (what: string, json: unknown) =>
    server.request("PATCH", `/services/${ID}${what}`, { json, headers });
  const setConfig = (key: string, value: unknown) => patch("/config", [add(`/${key}`, value)]);

  test("any other definition or configuration asks for them again; the same does not", async () => {
    const schemas = { secretsSchema: { type: "object", properties: { token: { type: "string" } } } };
    await install("scripted", schemas);
    await ok(setConfig("host", "good.example"));
    await ok(setSecret("token"));
    await ok(enable());
    await ok(server.post(`/services/${ID}/sync`));
    expect(scripted.given?.secrets).toEqual({ token: SECRET });
    expect((await setConfig("host", "evil.example")).body.code).toBe("secrets_outdated");
    const definition = { content: define({ ...schemas, name: "Another" }) };
    const answer = await patch("", definition);
    expect([answer.status, answer.body.code]).toEqual([409, "secrets_outdated"]);
    expect(answer.body.error).toContain("definition or configuration");
    expect(scripted.given).toEqual({
      config: { host: "good.example" },
      secrets: {},
      secretsWithheld: true,
      tools: expect.any(Object),
    });
    await ok(enable(false));
    await ok(setConfig("host", "evil.example"));
    expect(await secrets()).toMatchObject({ outdated: ["/token"] });
    await ok(server.post(`/services/${ID}/sync`));
    expect(scripted.given?.secrets).toEqual({});
    expect((await enable()).body.code).toBe("secrets_outdated");
    await ok(setConfig("host", "good.example"));
    await ok(enable());
  });

  test("a schema is no way to guess at what is outdated", async () => {
    await install("scripted", { secretsSchema: { type: "object" } });
    await ok(setSecret("token"));
    for (const pattern of ["^planted", "^wrong"]) {
      const secretsSchema = { type: "object", properties: { token: { type: "string", pattern } } };
      await ok(patch("", { content: define({ secretsSchema }) }));
      expect((await secrets()).outdated).toEqual(["/token"]);
      expect((await enable()).body.code).toBe("secrets_outdated");
    }
  });
});

test("what a version before has stored is bound at the first start to where it goes then, in use or not", async () => {
  await using database = await createTestDatabase({ maxConnections: 10 });
  const document = (url: string) => ({
    openapi: "3.1.0",
    info: { title: "Shop", version: "1" },
    servers: [{ url }],
    components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
    security: [{ token: [] }],
    paths: { "/items": { get: { operationId: "listItems", responses: {} } } },
  });
  const before = await startServer({ builtins, environment, database });
  for (const id of ["used", "unused"]) {
    await ok(
      before.post("/services", { id, adapter: "openapi", content: JSON.stringify(document(good.url)) }),
    );
  }
  await ok(before.post("/services/used/enabled", { enabled: true }));
  await before.stop();
  // As that version sealed them: the values and nothing else.
  const vault = createVault(createKeyring(createSecretKey(SECRETS_KEY, "base64")), createRedactor());
  for (const id of ["used", "unused"]) {
    await vault.write(database.pool, { kind: "service", id }, { token: SECRET }, 0);
  }

  await using after = await startServer({ builtins, environment, database });
  const { origins } = await vault.read(database.pool, { kind: "service", id: "used" });
  expect(origins).toEqual([`${new URL(good.url).origin} (scheme token)`]);
  await ok(after.post("/tools/used/listItems/invoke", { parameters: {} }));
  expect(holdsSecret(good.heard())).toBe(true);
  const evilUrl = { json: [add("/serverUrl", evil.url)] };
  expect((await after.request("PATCH", "/services/used/config", evilUrl)).body.code).toBe("secrets_outdated");
  await ok(after.request("PATCH", "/services/unused/config", evilUrl));
  const answer = await after.post("/services/unused/enabled", { enabled: true });
  expect([answer.status, answer.body.code]).toEqual([409, "secrets_outdated"]);
  expect((await after.get("/services/unused/secrets")).headers.get("etag")).toBe('"1"');
  expect(evil.heard()).toBe("");
});
