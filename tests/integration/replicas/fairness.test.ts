/** Who is next when there are more processes than slots. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { TEST_KEY } from "../harness/http-app.ts";
import type { Answer } from "../harness/server.ts";
import { until } from "../processes-server.ts";
import { startToolsServer, type ToolsServer } from "../tools-server.ts";

let database: TestDatabase;
const servers: ToolsServer[] = [];

beforeEach(async () => {
  database = await createTestDatabase({ maxConnections: 25 });
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
  await database.drop();
});

async function start(slots: number, environment: Record<string, string> = {}): Promise<ToolsServer> {
  const server = await startToolsServer({
    database,
    environment: { CYRNEL_API_KEY: TEST_KEY, ...environment },
  });
  server.environment.slots = slots;
  servers.push(server);
  return server;
}

type Submit = (code: string, body?: object) => Promise<Answer["body"]>;

async function makeClient(server: ToolsServer): Promise<Submit> {
  const { key } = (
    await server.post("/keys", { name: "client", scopes: ["processes:write", "processes:read"] })
  ).body;
  return async (code, body = {}) =>
    (await server.post("/processes", { code, ...body }, { authorization: `Bearer ${key}` })).body.id;
}

const order = (server: ToolsServer) => server.environment.inputs.map(({ eid }) => eid);
const ended = (server: ToolsServer, id: number) => server.get(`/processes/${id}?wait=20000`);

test("a client with a hundred waiting does not keep another from its turn", async () => {
  const server = await start(2);
  const [noisy, quiet] = [await makeClient(server), await makeClient(server)];
  await noisy("gate first");
  await noisy("gate first");
  const flood: number[] = [];
  for (let index = 0; index < 100; index += 1) flood.push(await noisy("print x"));
  const single = await quiet("print quiet");
  const place = (await server.get(`/processes/${single}`)).body.queue;
  expect(place.position).toBe(1);
  server.environment.open("first");
  await ended(server, flood.at(-1) as number);
  // The two that ran before, then the quiet one's turn before the second of the noisy one's.
  expect(order(server).indexOf(single)).toBeLessThanOrEqual(4);
  expect(order(server)).toHaveLength(103);
});

test("priority orders the processes of one key, and age those of one priority", async () => {
  const server = await start(1);
  const client = await makeClient(server);
  const blocker = await client("gate blocker");
  const low = await client("print low", { priority: -5 });
  const first = await client("print first");
  const second = await client("print second");
  const high = await client("print high", { priority: 7 });
  server.environment.open("blocker");
  await ended(server, low);
  expect(order(server)).toEqual([blocker, high, first, second, low]);
  const answer = await server.post("/processes", { code: "", priority: 101 });
  expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
});

test("a limit for each key holds over all servers, and what it leaves goes to others", async () => {
  const limit = { CYRNEL_MAX_RUNNING_PER_KEY: "3" };
  const [one, two] = [await start(4, limit), await start(4, limit)];
  await until("they know each other", async () => {
    return (await database.pool`select 1 from replicas where address is not null`).length === 2;
  });
  const [greedy, other] = [await makeClient(one), await makeClient(one)];
  const ids = await Promise.all(Array.from({ length: 10 }, () => greedy("gate limit")));
  const running = async () =>
    (await database.pool`select 1 from processes where state = 'running' and code = 'gate limit'`).length;
  await until("three run", async () => (await running()) === 3);
  const quick = await other("print other");
  expect((await ended(two, quick)).body).toMatchObject({ exitState: "success" });
  expect(await running()).toBe(3);
  for (const server of [one, two]) server.environment.open("limit");
  for (const id of ids) expect((await ended(one, id)).body).toMatchObject({ exitState: "success" });
});
