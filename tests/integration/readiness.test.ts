/** What makes a server ready, and what no more: each change is told by the next answer. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { listReadinessChecks } from "#api/observe/readiness.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { startToolsServer, type ToolsServer } from "./tools-server.ts";

let database: TestDatabase;
let server: ToolsServer;
beforeAll(async () => {
  database = await createTestDatabase({ maxConnections: 10 });
  server = await startToolsServer({ database });
});
afterAll(async () => {
  await server?.close();
  await database?.drop();
});

const READY = { status: "ok" };
const failing = (check: string, message = "") => ({
  status: "unavailable",
  failing: [{ check, message: expect.stringContaining(message) }],
});
const ready = async () => (await server.get("/health/ready")).body;
const enable = async (enabled: boolean) =>
  (await server.post("/modules/typescript-process/enabled", { enabled })).status;

test("an environment is disabled and enabled", async () => {
  expect(await ready()).toEqual(READY);
  expect(await enable(false)).toBe(200);
  expect(await ready()).toEqual(failing("environment", "/modules/:id/enabled"));
  expect(await enable(true)).toBe(200);
  expect(await ready()).toEqual(READY);
});

test("a newer program has changed the schema", async () => {
  await database.pool`insert into schema_migrations (name, run_on) values ('9999_newer', now())`;
  expect(await ready()).toEqual(failing("migrations", "9999_newer"));
  await database.pool`delete from schema_migrations where name = '9999_newer'`;
  expect(await ready()).toEqual(READY);
});

test("the database is away and back: only that is said, whatever depends on it", async () => {
  server.setReachable(false);
  expect(await ready()).toEqual(failing("database"));
  server.setReachable(true);
  expect(await ready()).toEqual(READY);
});

test("a check that fails says so without details, which are in the log", async () => {
  await database.pool`alter table schema_migrations rename column name to mislaid`;
  const answer = await ready();
  await database.pool`alter table schema_migrations rename column mislaid to name`;
  expect(answer).toMatchObject({ status: "unavailable" });
  expect(JSON.stringify(answer)).not.toContain("column");
  expect(answer.failing).toContainEqual({
    check: "database",
    message: "the check failed; the log has the cause",
  });
  expect(server.logs()).toContainEqual(
    expect.objectContaining({
      check: "database",
      msg: "a check of readiness failed",
      err: expect.objectContaining({ message: expect.stringContaining("column") }),
    }),
  );
  expect(await ready()).toEqual(READY);
});

test("a database that hangs is asked once however many ask, and each has its answer", async () => {
  const release = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const locking = database.pool.begin(async (db) => {
    await db`lock table schema_migrations in access exclusive mode`;
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  const answers = await Promise.all(Array.from({ length: 50 }, ready));
  const [waiting] = await database.pool<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity where datname = ${database.name} and wait_event_type = 'Lock'`;
  release.resolve();
  await locking;
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(["unavailable"]));
  expect(answers[0].failing).toContainEqual({
    check: "database",
    message: expect.stringMatching(/no answer within \d+ ms/),
  });
  // One more for each second that fifty answers take on a slow machine; there are ten connections.
  expect(waiting?.count).toBeLessThanOrEqual(5);
  expect(await ready()).toEqual(READY);
});

test("a server that could not say for long that it is there, until it has", async () => {
  let silentMs = 15_500;
  const checks = await listReadinessChecks({
    database: { pool: database.pool, watch: { reachable: true } },
    environments: { refusal: () => null, active: () => server.server.modules.environments.active() },
    replicas: {
      get silentMs() {
        return silentMs;
      },
    },
    selfCheck: { silentMs: 0 },
    processes: { health: () => ({ unstored: 0, claimWaitMs: 0 }) },
    lifecycle: { leaving: false },
  });
  const told = async () =>
    Object.fromEntries(await Promise.all(checks.map(async ({ name, check }) => [name, await check()])));
  const fine = {
    database: null,
    writes: null,
    connections: null,
    queue: null,
    migrations: null,
    environment: null,
    results: null,
    draining: null,
  };
  expect(await told()).toEqual({ ...fine, replicas: expect.stringContaining("for 16 s") });
  silentMs = 10;
  expect(await told()).toEqual({ ...fine, replicas: null });
});

test("a server is told to stop", async () => {
  const started = await server.post("/processes", { code: "gate stopping" });
  await expect.poll(() => server.environment.inputs.some(({ eid }) => eid === started.body.id)).toBe(true);
  const stopping = server.stop();
  expect(await ready()).toEqual(failing("draining"));
  server.environment.open("stopping");
  await stopping;
});
