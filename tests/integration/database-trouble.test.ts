/** A database that answers and yet takes nothing: locked, read-only. Requests are told so, and readiness at once. */
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { createPool } from "#api/db/pool.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { administer } from "./harness/global-setup.ts";
import { startMain } from "./harness/main-process.ts";
import { startServer, type TestServer } from "./harness/server.ts";
import { TEST_TIMINGS, timingsVariable } from "./harness/timings.ts";

/** What a load balancer waits for. */
const AT_ONCE_MS = 1000;
/** For what has to become so, on any machine. */
const MAX_WAIT_MS = 20_000;
/** Above the limit of one statement, below what a client waits for. */
const SOON_MS = 25_000;

let database: TestDatabase;
let server: TestServer;
// Of each test its own: sessions keep what they began with, such as being read-only, after the trouble is over.
beforeEach(async () => {
  database = await createTestDatabase({ maxConnections: 10, timings: TEST_TIMINGS });
  server = await startServer({ database, builtins: [], environment: timingsVariable() });
});
afterEach(async () => {
  await server?.close();
  await database?.drop();
});

async function askReady(
  url = server.url,
): Promise<{ status: number; failing: Record<string, string>; tookMs: number }> {
  const begun = performance.now();
  const answer = await fetch(`${url}/health/ready`);
  const { failing = [] } = (await answer.json()) as { failing?: { check: string; message: string }[] };
  const tookMs = performance.now() - begun;
  return {
    status: answer.status,
    failing: Object.fromEntries(failing.map((one) => [one.check, one.message])),
    tookMs,
  };
}

function pollFailing() {
  return expect.poll(async () => (await askReady()).failing, { timeout: MAX_WAIT_MS });
}

async function expectRefused(
  asked: Promise<{ status: number; headers: Headers; body: unknown }>,
): Promise<void> {
  const answer = await asked;
  expect(answer).toMatchObject({ status: 503, body: { code: "database_unavailable" } });
  expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
}

test("a lock on processes: not ready at once, although nothing was asked before; requests are refused in time", async () => {
  await pollFailing().not.toHaveProperty("writes");
  const other = createPool(database.url, { maxConnections: 1, timings: { statementTimeoutMs: 0 } });
  const holder = await other.reserve();
  await holder`begin`;
  await holder`lock table processes in share mode`;
  const answer = await askReady();
  expect(answer).toMatchObject({
    status: 503,
    failing: { writes: expect.stringContaining("no answer within") },
  });
  expect(answer.tookMs).toBeLessThan(AT_ONCE_MS + 500);

  await holder`rollback`;
  await holder`begin`;
  await holder`lock table processes in access exclusive mode`;
  const begun = performance.now();
  await expectRefused(server.get("/processes"));
  expect(performance.now() - begun).toBeLessThan(SOON_MS);
  await holder`rollback`;
  holder.release();
  await other.end({ timeout: 1 });
  expect((await server.get("/processes")).status).toBe(200);
  await pollFailing().not.toHaveProperty("writes");
}, 60_000);

test("a database that turns read-only: changes are refused, reading works, and it is over when it is over", async () => {
  const maintain = (statement: string) => administer(inject("postgresUrl"), statement);
  await maintain(`alter database ${database.name} set default_transaction_read_only = on`);
  await maintain(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database.name}'`);
  await pollFailing().toMatchObject({ writes: "the database is read-only" });
  await expectRefused(server.post("/roles", { name: "readers" }));
  await expect.poll(async () => (await server.get("/processes")).status, { timeout: MAX_WAIT_MS }).toBe(200);

  // Sessions keep what they began with: only new connections can write, and each old one is found out by a refusal.
  await maintain(`alter database ${database.name} reset default_transaction_read_only`);
  await pollFailing().not.toHaveProperty("writes");
  await expect
    .poll(async () => (await server.post("/roles", { name: "readers" })).status, { timeout: MAX_WAIT_MS })
    .toBe(201);
}, 60_000);

test("a full disk: changes are refused with 503, the server is not ready, and it is over when it is over", async () => {
  await database.pool`
    create function refuse_for_room() returns trigger language plpgsql as $$
    begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$`;
  await database.pool`
    create trigger full_disk before insert or update on processes for each statement execute function refuse_for_room()`;
  await expectRefused(server.post("/processes", { code: "return 1", autorun: false }));
  await pollFailing().toMatchObject({ writes: "the disk of the database is full" });
  expect((await askReady()).status).toBe(503);
  await database.pool`drop trigger full_disk on processes`;
  expect((await server.post("/processes", { code: "return 1", autorun: false })).status).toBe(201);
  await pollFailing().not.toHaveProperty("writes");
}, 60_000);

test("readiness writes to the disk of the database, and says when it takes no more", async () => {
  const maintain = (statement: string) => administer(inject("postgresUrl"), statement);
  const endSessions = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database.name}'`;
  await maintain(`alter database ${database.name} set temp_file_limit = '64kB'`);
  await maintain(endSessions);
  await pollFailing().toMatchObject({ writes: expect.stringContaining("temp_file_limit") });
  await maintain(`alter database ${database.name} reset temp_file_limit`);
  await maintain(endSessions);
  await pollFailing().not.toHaveProperty("writes");
}, 60_000);

test("a server that cannot claim what waits, while the database is in order, is not ready and then ends", async () => {
  await using own = await createTestDatabase();
  const environment = {
    DATABASE_URL: own.url,
    CYRNEL_MAX_RUNNING_PER_KEY: "2",
    SHUTDOWN_TIMEOUT_MS: "100",
    // Later than readiness says it, which takes 10 s.
    ...timingsVariable({ maxStuckMs: 13_000 }),
  };
  const main = startMain({ environment });
  try {
    const url = await main.listening();
    await own.pool`alter function claim_queued rename to mislaid`;
    const body = JSON.stringify({ code: "return 42" });
    const headers = { "content-type": "application/json" };
    expect((await fetch(`${url}/processes`, { method: "POST", headers, body })).status).toBe(201);
    await expect
      .poll(async () => (await askReady(url)).failing, { timeout: 30_000, interval: 500 })
      .toMatchObject({ queue: expect.stringMatching(/could not be claimed for \d+ s/) });
    expect(await main.ended()).toBe(1);
    expect(main.stderr()).toMatch(/This server exits to be restarted: for \d+ s queued processes .*\n$/);
  } finally {
    main.child.kill("SIGKILL");
  }
}, 180_000);
