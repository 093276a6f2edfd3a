/** What is changed on one server, or decided there, as another sees it. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApprovalsServer, startApprovalsServer } from "../approvals/server.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { TEST_KEY, testConfig } from "../harness/http-app.ts";
import { until } from "../processes-server.ts";
import { startToolsServer } from "../tools-server.ts";

let database: TestDatabase;
let one: ApprovalsServer;
let two: ApprovalsServer;

beforeAll(async () => {
  database = await createTestDatabase({ maxConnections: 25 });
  one = await startApprovalsServer({ database });
  two = await startApprovalsServer({ database, services: { extra: { ping: {} } } });
  await until("they know each other", async () => {
    const rows = await database.pool`select 1 from replicas where address is not null`;
    return rows.length === 2;
  });
});
afterAll(async () => {
  await one?.server.close();
  await two?.server.close();
  await database?.drop();
});

const record = async (by: ApprovalsServer, id: number, query = "") =>
  (await by.server.get(`/processes/${id}${query}`)).body;

describe("approvals", () => {
  test("a run that is paused there is approved here, and goes on there", async () => {
    const id = await one.submit('must-call shop buy {"n":1}\nprint bought');
    const [approval] = await one.paused(id);
    expect((await two.server.get("/approvals?state=pending")).body.approvals).toMatchObject([
      { id: approval },
    ]);
    expect(await record(two, id)).toMatchObject({ state: "paused", approvals: [approval] });
    const decided = await two.decide(approval as string, "approve");
    expect([decided.status, decided.body.state]).toEqual([200, "approved"]);
    expect(await record(two, id, "?wait=10000")).toMatchObject({ exitState: "success", stdout: "bought\n" });
    expect(one.made()).toEqual(['buy {"n":1}']);
    expect(two.made()).toEqual([]);
  });

  test("of two who decide at once on two servers, one is first", async () => {
    const id = await one.submit('must-call shop buy {"n":2}');
    const [approval = ""] = await one.paused(id);
    const answers = await Promise.all([one.decide(approval, "approve"), two.decide(approval, "deny")]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    await record(one, id, "?wait=10000");
  });

  test("a paused run is killed from here", async () => {
    const id = await one.submit('must-call shop buy {"n":3}');
    await one.paused(id);
    expect((await two.server.post(`/processes/${id}/signals/kill`)).status).toBe(200);
    expect(await record(two, id, "?wait=10000")).toMatchObject({ exitState: "canceled", reason: "killed" });
  });
});

describe("modules and services", () => {
  test("a service that is installed, switched and removed there is so here", async () => {
    await two.server.addService("extra", { ping: { invoke: () => "pong" } });
    const invoke = () => one.server.post("/tools/extra/ping/invoke", { parameters: {} });
    await until("it can be called here", async () => (await invoke()).status === 200);
    await two.server.post("/services/extra/enabled", { enabled: false });
    await until("it cannot any more", async () => (await invoke()).status !== 200);
    await two.server.post("/services/extra/enabled", { enabled: true });
    await until("it can again", async () => (await invoke()).status === 200);
    await two.server.post("/tools/extra/ping/enabled", { enabled: false });
    await until("the tool is off here", async () => (await invoke()).status !== 200);
    expect((await two.server.request("DELETE", "/services/extra")).status).toBe(204);
    await until("it is gone here", async () => (await invoke()).status === 404);
  });

  test("an adapter that is disabled there stops here, and comes back with its services", async () => {
    const state = async () => (await one.server.get("/modules/functions")).body;
    await two.server.post("/modules/functions/enabled", { enabled: false });
    await until("it is inactive here", async () => (await state()).state === "inactive");
    await two.server.post("/modules/functions/enabled", { enabled: true });
    await until("it is active here", async () => (await state()).state === "active");
    await until("its service can be called here", async () => {
      const answer = await one.server.post("/tools/shop/list/invoke", { parameters: {} });
      return answer.status === 200;
    });
    await until("it is the same on both", async () => (await state()).replicas === undefined);
  });

  test("keys and policies that are made there count here", async () => {
    const person = await two.makeKey(["processes:read"]);
    expect((await one.server.get("/keys")).body.keys.some(({ id }: { id: string }) => id === person.id)).toBe(
      true,
    );
  });
});

test("a server with another key for secrets is refused by name, and leaves no trace", async () => {
  const other = startToolsServer({
    database,
    environment: {
      CYRNEL_API_KEY: TEST_KEY,
      CYRNEL_SECRETS_KEY: randomBytes(32).toString("base64"),
    },
  });
  await expect(other).rejects.toThrow(
    /the server \S+:\d+ on the same database has the CYRNEL_SECRETS_KEY [0-9a-f]{16}/,
  );
  expect(await database.pool`select 1 from replicas`).toHaveLength(2);
  await expect(startToolsServer({ database, environment: { CYRNEL_API_KEY: TEST_KEY } })).rejects.toThrow(
    /has no CYRNEL_SECRETS_KEY/,
  );
});

test("the address for other servers is an address", () => {
  expect(() => testConfig({ CYRNEL_REPLICA_ADDRESS: "10.0.0.1" })).toThrow(/CYRNEL_REPLICA_ADDRESS/);
  expect(() => testConfig({ CYRNEL_REPLICA_ADDRESS: "http://user:pw@h:1/x" })).toThrow(
    /CYRNEL_REPLICA_ADDRESS/,
  );
  expect(testConfig({ CYRNEL_REPLICA_ADDRESS: "http://10.0.0.1:9371" }).replicaAddress).toBe(
    "http://10.0.0.1:9371",
  );
});
