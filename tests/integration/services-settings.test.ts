import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase } from "./harness/database.ts";
import { type ServicesServer, startServicesServer } from "./services-server.ts";

const CONFIG_SCHEMA = {
  type: "object",
  properties: {
    region: { enum: ["eu", "us"], default: "eu" },
    timeoutMs: { type: "integer", minimum: 1 },
    account: { type: "string" },
  },
  required: ["account"],
  additionalProperties: false,
};
const SECRETS_SCHEMA = {
  type: "object",
  properties: {
    token: { type: "string", minLength: 8 },
    basic: { type: "object", properties: { username: { type: "string" }, password: { type: "string" } } },
  },
  required: ["token"],
  additionalProperties: false,
};
const TOKEN = "tok-Jq8s0Xw2-very-secret";
const ID = "shop";

let server: ServicesServer;
beforeAll(async () => {
  server = await startServicesServer();
  server.adapter.secretOrigins = () => ["https://shop.example"];
});
afterAll(() => server?.close());
beforeEach(async () => {
  server.adapter.refuse = () => null;
  await server.request("DELETE", `/services/${ID}`);
  await server.install(ID, { configSchema: CONFIG_SCHEMA, secretsSchema: SECRETS_SCHEMA });
  server.adapter.events.length = 0;
});

const config = (operations: unknown, headers?: Record<string, string>) =>
  server.patch(`/services/${ID}/config`, operations, headers);
const secrets = (operations: unknown, headers?: Record<string, string>) =>
  server.patch(`/services/${ID}/secrets`, operations, headers);
const setUp = async () => {
  expect((await config([{ op: "add", path: "/account", value: "acme" }])).status).toBe(200);
  expect((await secrets([{ op: "add", path: "/token", value: TOKEN }])).status).toBe(200);
  expect((await server.enable(ID)).status).toBe(200);
  server.adapter.events.length = 0;
};

describe("config", () => {
  test("a pattern that would take a regular expression for ever is matched in linear time", async () => {
    const text = { type: "string", pattern: "^(a+)+$" };
    await server.install("patterned", {
      configSchema: { type: "object", properties: { text } },
      secretsSchema: { type: "object", patternProperties: { "^(b|b)+$": { type: "string" } } },
    });
    const set = (path: string, key: string, value: string) =>
      server.patch(`/services/patterned/${path}`, [{ op: "add", path: `/${key}`, value }]);
    expect((await set("config", "text", "aaa")).status).toBe(200);
    expect((await set("config", "text", `${"a".repeat(5000)}!`)).body.issues).toEqual([
      { path: "config.text", message: 'must match pattern "^(a+)+$"' },
    ]);
    expect((await set("secrets", `${"b".repeat(900)}!`, "x")).status).toBe(200);
    const broken = { type: "object", properties: { text: { pattern: "(" } } };
    expect((await server.install("broken", { configSchema: broken })).body.code).toBe("invalid_definition");
    await server.request("DELETE", "/services/patterned");
  });

  test("is read with its entity tag, and with pointers of what does not fit", async () => {
    const fresh = await server.get(`/services/${ID}/config`);
    expect([fresh.body, fresh.headers.get("etag")]).toEqual([{ config: {}, outdated: ["/account"] }, '"0"']);
    const answer = await config([
      { op: "add", path: "/account", value: "acme" },
      { op: "add", path: "/region", value: "us" },
    ]);
    expect([answer.status, answer.body, answer.headers.get("etag")]).toEqual([
      200,
      { config: { account: "acme", region: "us" }, outdated: [] },
      '"1"',
    ]);
    expect((await server.get(`/services/${ID}/config/schema`)).body).toEqual({ configSchema: CONFIG_SCHEMA });
    expect(server.adapter.events).toEqual([]);
  });

  test("what does not fit is refused with every reason; what is required may lack while the service is disabled", async () => {
    const answer = await config([
      { op: "add", path: "/region", value: "mars" },
      { op: "add", path: "/timeoutMs", value: 0 },
      { op: "add", path: "/colour", value: "red" },
    ]);
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    expect(answer.body.issues.map((issue: { path: string }) => issue.path).sort()).toEqual([
      "config.colour",
      "config.region",
      "config.timeoutMs",
    ]);
    expect((await config([{ op: "add", path: "/region", value: "us" }])).status).toBe(200);
    const enabled = await server.enable(ID);
    expect([enabled.status, enabled.body.issues]).toEqual([
      400,
      [
        { path: "config.account", message: expect.any(String) },
        { path: "secrets.token", message: expect.any(String) },
      ],
    ]);
    expect((await server.service(ID)).enabled).toBe(false);
    expect(server.adapter.events).toEqual([]);
  });

  test("two who patch at once: with an entity tag the second is told, without one neither change is lost", async () => {
    const { headers } = await server.get(`/services/${ID}/config`);
    const etag = headers.get("etag") ?? "";
    const guarded = await Promise.all(
      ["a", "b", "c", "d"].map((account) =>
        config([{ op: "add", path: "/account", value: account }], { "if-match": etag }),
      ),
    );
    expect(guarded.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
    expect(guarded.find(({ status }) => status === 412)?.body.code).toBe("precondition_failed");
    await Promise.all([
      config([{ op: "add", path: "/region", value: "us" }]),
      config([{ op: "add", path: "/timeoutMs", value: 5 }]),
    ]);
    expect((await server.get(`/services/${ID}/config`)).body.config).toMatchObject({
      region: "us",
      timeoutMs: 5,
    });
  });

  test("an enabled service is handed over anew, with defaults; an empty change does nothing", async () => {
    await setUp();
    expect((await config([{ op: "add", path: "/timeoutMs", value: 7 }])).status).toBe(200);
    expect(server.adapter.events).toEqual([`hydrate ${ID}`]);
    expect(server.adapter.held.get(ID)).toMatchObject({
      id: ID,
      config: { account: "acme", timeoutMs: 7, region: "eu" },
      secrets: { token: TOKEN },
      tools: { one: { adapterDomain: { path: "/one" } } },
    });
    const same = await config([{ op: "replace", path: "/timeoutMs", value: 7 }]);
    expect([same.status, same.headers.get("etag")]).toEqual([200, '"2"']);
    expect(server.adapter.events).toHaveLength(1);
    expect((await config([{ op: "remove", path: "/account" }])).status).toBe(400);
  });

  test("a patch that the adapter refuses is rolled back, in the adapter too", async () => {
    await setUp();
    server.adapter.refuse = ({ config }) => (config.account === "evil" ? "That account is closed." : null);
    const answer = await config([{ op: "replace", path: "/account", value: "evil" }]);
    expect([answer.status, answer.body.code]).toEqual([502, "service_failed"]);
    expect(answer.body.error).toContain("That account is closed.");
    expect((await server.get(`/services/${ID}/config`)).body.config).toEqual({ account: "acme" });
    expect(server.adapter.held.get(ID)?.config).toEqual({ account: "acme", region: "eu" });
    expect(await server.service(ID)).toMatchObject({ enabled: true, effectivelyEnabled: true, error: null });
  });
});

describe("secrets", () => {
  test("go in and never come out: not in answers, tables, logs or failures", async () => {
    await setUp();
    const password = "pa55-Kd93mzQ1-word";
    await secrets([{ op: "add", path: "/basic", value: { username: "someone-known", password } }]);
    server.adapter.refuse = ({ secrets }) => `cannot log in with ${JSON.stringify(secrets)}`;
    const refused = await secrets([{ op: "replace", path: "/token", value: `${TOKEN}-2` }]);
    expect(refused.status).toBe(502);
    const shown = await server.get(`/services/${ID}/secrets`);
    expect(shown.body).toEqual({
      present: ["/basic/password", "/basic/username", "/token"].sort(),
      outdated: [],
    });
    const texts = [refused.text, shown.text, JSON.stringify(server.logs())];
    for (const path of [
      `/services/${ID}`,
      "/services",
      `/services/${ID}/config`,
      `/services/${ID}/secrets/schema`,
    ]) {
      texts.push((await server.get(path)).text);
    }
    const tables = await server.pool<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = 'public'`;
    for (const { name } of tables)
      texts.push(JSON.stringify(await server.pool`select * from ${server.pool(name)}`));
    for (const secret of [TOKEN, password]) {
      for (const form of [secret, Buffer.from(secret).toString("base64")]) {
        expect(texts.findIndex((text) => text.includes(form))).toBe(-1);
      }
    }
  });

  test("that do not fit are refused without being repeated", async () => {
    const answer = await secrets([
      { op: "add", path: "/token", value: "short7!" },
      { op: "add", path: "/unknown", value: "some other value" },
    ]);
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    expect(answer.text).not.toMatch(/short7!|some other value/);
    expect((await server.get(`/services/${ID}/secrets`)).body.present).toEqual([]);
  });

  test("cannot be found out by testing for them", async () => {
    await setUp();
    for (const value of [TOKEN, "something else"]) {
      const answer = await secrets([{ op: "test", path: "/token", value }]);
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    }
  });

  test("are guarded by an entity tag of their own", async () => {
    const first = await secrets([{ op: "add", path: "/token", value: TOKEN }], { "if-match": '"0"' });
    expect([first.status, first.body, first.headers.get("etag")]).toEqual([200, { updated: true }, '"1"']);
    const late = await secrets([{ op: "remove", path: "/token" }], { "if-match": '"0"' });
    expect([late.status, late.body.code]).toEqual([412, "precondition_failed"]);
    expect((await server.get(`/services/${ID}/secrets`)).headers.get("etag")).toBe('"1"');
    expect((await server.get(`/services/${ID}/config`)).headers.get("etag")).toBe('"0"');
  });

  test("a patch that the adapter refuses is rolled back: the adapter has the old ones again", async () => {
    await setUp();
    server.adapter.refuse = ({ secrets }) => (secrets.token === "wrong-password" ? "401" : null);
    const answer = await secrets([{ op: "replace", path: "/token", value: "wrong-password" }]);
    expect([answer.status, answer.body.code]).toEqual([502, "service_failed"]);
    expect(server.adapter.held.get(ID)?.secrets).toEqual({ token: TOKEN });
    expect((await server.get(`/services/${ID}/secrets`)).headers.get("etag")).toBe('"1"');
  });

  test("go to the adapter that makes the tools anew, and not into what it says then", async () => {
    expect(server.adapter.given).toBeUndefined();
    await setUp();
    server.adapter.rewrite = (made) => made;
    expect((await server.post(`/services/${ID}/sync`)).status).toBe(200);
    expect(server.adapter.given).toEqual({
      config: { account: "acme", region: "eu" },
      secrets: { token: TOKEN },
      tools: expect.any(Object),
    });
    const answer = await server.patch(`/services/${ID}`, {
      content: JSON.stringify({ refuse: `401 for Bearer ${TOKEN}` }),
    });
    expect(answer.body.error).toContain("401 for Bearer [secret]");
  });

  test("of a deleted service are gone: another one of its id starts without", async () => {
    await setUp();
    await server.request("DELETE", `/services/${ID}`);
    expect(await server.pool`select from secrets`).toHaveLength(0);
    await server.install(ID, { configSchema: CONFIG_SCHEMA, secretsSchema: SECRETS_SCHEMA });
    expect((await server.get(`/services/${ID}/secrets`)).body.present).toEqual([]);
    // Even if a row was left behind, as by a deletion of rows by hand.
    await secrets([{ op: "add", path: "/token", value: TOKEN }]);
    await server.pool`delete from services where id = ${ID}`;
    await server.install(ID, { secretsSchema: SECRETS_SCHEMA });
    expect((await server.get(`/services/${ID}/secrets`)).body.present).toEqual([]);
  });

  test("without a key are refused with 500, and so is enabling a service that has some", async () => {
    await using database = await createTestDatabase({ maxConnections: 10 });
    const keyed = await startServicesServer({ database });
    await keyed.install(ID, { secretsSchema: SECRETS_SCHEMA });
    const stored = await keyed.patch(`/services/${ID}/secrets`, [
      { op: "add", path: "/token", value: TOKEN },
    ]);
    expect([stored.status, (await keyed.enable(ID)).status]).toEqual([200, 200]);
    await keyed.close();
    await using bare = await startServicesServer({ database, environment: { CYRNEL_SECRETS_KEY: "" } });
    const answer = await bare.patch(`/services/${ID}/secrets`, [{ op: "add", path: "/token", value: TOKEN }]);
    expect([answer.status, answer.body.code]).toEqual([500, "secrets_key_missing"]);
    expect((await bare.get(`/services/${ID}/secrets`)).body.code).toBe("secrets_key_missing");
    expect((await bare.service(ID)).error).toContain("key");
    expect((await bare.get("/services")).status).toBe(200);
  });
});

test("unknown services are 404 on every route", async () => {
  const requests: [string, string, unknown?][] = [
    ["GET", ""],
    ["DELETE", ""],
    ["PATCH", "", { content: "{}" }],
    ["POST", "/update", {}],
    ["POST", "/sync", {}],
    ["POST", "/enabled", { enabled: true }],
    ["GET", "/config"],
    ["PATCH", "/config", [{ op: "add", path: "/a", value: 1 }]],
    ["GET", "/config/schema"],
    ["GET", "/secrets"],
    ["PATCH", "/secrets", [{ op: "add", path: "/a", value: 1 }]],
    ["GET", "/secrets/schema"],
  ];
  for (const [method, path, json] of requests) {
    const answer = await server.request(
      method,
      `/services/nobody${path}`,
      json === undefined ? {} : { json },
    );
    expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 404, "not_found"]);
  }
});
