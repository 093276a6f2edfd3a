/**
 * Adapters of the published contract do not say where secrets go. Callers who could load a module anyway change their
 * services as the contract says; the audit trail says that secrets went along. Others are refused.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { TEST_KEY } from "./harness/http-app.ts";
import { define, ScriptedAdapter } from "./scripted-adapter.ts";
import { type ServicesServer, startServicesServer } from "./services-server.ts";

const SECRET = "planted-credential-7Rw20k";
const DEFINITION = { secretsSchema: { type: "object", properties: { token: { type: "string" } } } };
const environment = { CYRNEL_API_KEY: TEST_KEY };

let database: TestDatabase;
let server: ServicesServer;
beforeEach(async () => {
  database = await createTestDatabase({ maxConnections: 10 });
  server = await startServicesServer({ database, environment });
  await server.install("shop", DEFINITION);
  await server.patch("/services/shop/secrets", [{ op: "add", path: "/token", value: SECRET }]);
  expect((await server.enable("shop")).status).toBe(200);
});
afterEach(async () => {
  await server.stop();
  await database.drop();
});

const set = (value: string, headers?: Record<string, string>) =>
  server.patch("/services/shop/config", [{ op: "add", path: "/host", value }], headers);
const redefine = (name: string, headers?: Record<string, string>) =>
  server.patch("/services/shop", { content: define({ ...DEFINITION, name }) }, headers);
const held = () => server.adapter.held.get("shop");
const isUsable = async () => (await server.service("shop")).effectivelyEnabled;

async function makeKey(...scopes: string[]): Promise<Record<string, string>> {
  const { body } = await server.post("/keys", { name: scopes.join(" "), scopes });
  return { authorization: `Bearer ${body.key}` };
}

async function restart(): Promise<void> {
  await server.stop();
  server = await startServicesServer({ database, environment, adapter: new ScriptedAdapter() });
}

test("the bootstrap key changes an enabled service: its adapter is handed the new state, also later", async () => {
  expect((await set("one.example")).status).toBe(200);
  expect(held()).toMatchObject({ config: { host: "one.example" }, secrets: { token: SECRET } });
  expect((await redefine("Renamed")).body).toEqual({ id: "shop", updated: true });
  expect(held()).toMatchObject({ adapterDomain: { of: "Renamed" }, secrets: { token: SECRET } });
  for (const again of [
    restart,
    async () => {
      for (const enabled of [false, true]) await server.post("/modules/scripted/enabled", { enabled });
    },
    async () => {
      for (const enabled of [false, true]) expect((await server.enable("shop", enabled)).status).toBe(200);
    },
  ]) {
    await again();
    expect(held()).toMatchObject({ config: { host: "one.example" }, secrets: { token: SECRET } });
    expect(await isUsable()).toBe(true);
  }
});

test("changes while the service or its adapter is off go along too", async () => {
  await server.enable("shop", false);
  expect((await set("two.example")).status).toBe(200);
  expect((await redefine("While off")).status).toBe(200);
  expect((await server.get("/services/shop/secrets")).body.outdated).toEqual([]);
  expect((await server.enable("shop")).status).toBe(200);
  await server.post("/modules/scripted/enabled", { enabled: false });
  expect((await set("three.example")).status).toBe(200);
  await server.post("/modules/scripted/enabled", { enabled: true });
  expect(held()).toMatchObject({ config: { host: "three.example" }, secrets: { token: SECRET } });
  expect(await isUsable()).toBe(true);
});

test("the audit trail says that secrets went along, with whom and why, and holds none", async () => {
  const headers = await makeKey("services:admin", "modules:admin");
  const { headers: answered } = await set("one.example", headers);
  const { records } = (await server.get("/audit?action=service.*&objectId=shop")).body;
  const [request, carried] = records;
  expect(request).toMatchObject({ action: "service.config", outcome: "ok" });
  expect(carried).toMatchObject({
    action: "service.carry_secrets",
    actor: { kind: "key", name: "services:admin modules:admin" },
    outcome: "ok",
    requestId: answered.get("x-request-id"),
    parameters: { carried: ["token"], because: "the caller holds modules:admin" },
  });
  expect(JSON.stringify(records)).not.toContain(SECRET);
});

test("a key that cannot load modules is refused, and what it changed is not carried by one that can", async () => {
  const weak = await makeKey("services:admin");
  for (const answer of [await set("evil.example", weak), await redefine("Evil", weak)]) {
    expect([answer.status, answer.body.code], answer.text).toEqual([409, "secrets_outdated"]);
  }
  await server.enable("shop", false);
  expect((await set("evil.example", weak)).status).toBe(200);
  await server.patch("/services/shop/config", [{ op: "add", path: "/pages", value: 5 }]);
  const answer = await server.enable("shop");
  expect([answer.status, answer.body.code], answer.text).toEqual([409, "secrets_outdated"]);
  expect(server.adapter.handed.filter(({ config }) => config.host === "evil.example")).toEqual([]);
  const carried = (await server.get("/audit?action=service.carry_secrets")).body.records;
  expect(carried).toEqual([]);
});

test("a state that the adapter refuses changes nothing, and secrets stay bound to the one before", async () => {
  server.adapter.refuse = ({ config }) => (config.host === "bad.example" ? "no such host" : null);
  const answer = await set("bad.example");
  expect([answer.status, answer.body.code], answer.text).toEqual([502, "service_failed"]);
  expect(held()).toMatchObject({ config: {}, secrets: { token: SECRET } });
  await restart();
  expect(held()).toMatchObject({ config: {}, secrets: { token: SECRET } });
});
