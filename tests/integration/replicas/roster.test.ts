/** `GET /replicas`: which servers are on the database, as any of them says. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { TEST_KEY } from "../harness/http-app.ts";
import { until } from "../processes-server.ts";
import { SECRETS_KEY } from "../services-server.ts";
import { startToolsServer, type ToolsServer } from "../tools-server.ts";

let database: TestDatabase;
let one: ToolsServer;
let two: ToolsServer;

beforeAll(async () => {
  database = await createTestDatabase({ maxConnections: 20 });
  const environment = { CYRNEL_API_KEY: TEST_KEY, CYRNEL_SECRETS_KEY: SECRETS_KEY };
  one = await startToolsServer({ database, environment });
  one.environment.slots = 3;
  two = await startToolsServer({
    database,
    environment: { ...environment, SHUTDOWN_TIMEOUT_MS: "20000" },
  });
});
afterAll(async () => {
  await one?.close();
  await two?.close();
  await database?.drop();
});

interface Shown {
  id: string;
  isSelf: boolean;
  [name: string]: unknown;
}
const list = async (server: ToolsServer, query = ""): Promise<Shown[]> =>
  (await server.get(`/replicas${query}`)).body.replicas;

describe("GET /replicas", () => {
  test("shows every server, the newest first, and which of them answers", async () => {
    await until("both listen", async () => (await list(one)).every(({ address }) => address !== null));
    const shown = await list(one);
    expect(shown).toHaveLength(2);
    expect(shown[1]).toEqual({
      id: expect.any(String),
      name: `${hostname().slice(0, 100)}:${process.pid}`,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      state: "up",
      isSelf: true,
      address: one.url,
      environment: "typescript-process",
      slots: expect.any(Number),
      running: 0,
      startedAt: expect.stringMatching(/Z$/),
      seenAt: expect.stringMatching(/Z$/),
    });
    expect(shown[0]).toMatchObject({ address: two.url, isSelf: false });
    expect((await list(two)).map(({ isSelf }) => isSelf)).toEqual([true, false]);
  });

  test("counts what each of them runs", async () => {
    const started = await one.post("/processes", { code: "gate counted" });
    await until("it runs", () => one.environment.inputs.some(({ eid }) => eid === started.body.id));
    expect((await list(two)).map(({ running }) => running)).toEqual([0, 1]);
    one.environment.open("counted");
    await one.get(`/processes/${started.body.id}?wait=10000`);
    expect((await list(two)).map(({ running }) => running)).toEqual([0, 0]);
  });

  test("shows one that was not heard of for more than 20 s as lost", async () => {
    const id = randomUUID();
    await database.pool`
      insert into replicas (id, name, version, token, started_at, seen_at)
      values (${id}, 'away:1', '0.0.1', ${Buffer.alloc(32)}, now() - interval '1 hour', now() - interval '21 seconds')`;
    expect((await list(one)).at(-1)).toMatchObject({
      id,
      name: "away:1",
      state: "lost",
      address: null,
      environment: null,
      slots: null,
    });
    await database.pool`delete from replicas where id = ${id}`;
  });

  test("is read page by page, those that started in the same microsecond too", async () => {
    await database.pool`
      insert into replicas (id, name, version, token, started_at)
      select gen_random_uuid(), 'twin:' || n, '0.0.1', ${Buffer.alloc(32)}, now() - interval '1 hour'
      from generate_series(1, 5) n`;
    const all = (await list(one)).map(({ id }) => id);
    const paged: string[] = [];
    let cursor: string | null = null;
    do {
      const { body } = await one.get(`/replicas?limit=2${cursor === null ? "" : `&cursor=${cursor}`}`);
      paged.push(...body.replicas.map(({ id }: Shown) => id));
      cursor = body.nextCursor;
    } while (cursor !== null);
    expect(paged).toEqual(all);
    expect(all).toHaveLength(7);
    expect((await one.get("/replicas?cursor=x")).body.code).toBe("invalid_cursor");
    await database.pool`delete from replicas where name like 'twin:%'`;
  });

  test("answers 503 while the database is away", async () => {
    one.setReachable(false);
    const answer = await one.get("/replicas");
    one.setReachable(true);
    expect([answer.status, answer.body.code]).toEqual([503, "database_unavailable"]);
  });

  test("shows a server that was told to stop as draining, to the others and itself, until it is gone", async () => {
    const started = await two.post("/processes", { code: "gate drained" });
    await until("it runs", () => two.environment.inputs.some(({ eid }) => eid === started.body.id));
    const stopping = two.stop();
    await until("the other says so", async () => (await list(one))[0]?.state === "draining");
    expect((await list(two))[0]).toMatchObject({ state: "draining", isSelf: true, running: 1 });
    expect((await two.get("/health/ready")).body.failing).toMatchObject([{ check: "draining" }]);
    expect((await one.get("/health/ready")).status).toBe(200);
    two.environment.open("drained");
    await stopping;
    expect(await list(one)).toHaveLength(1);
  });
});
