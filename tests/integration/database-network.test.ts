/** Network failures on pool connections: the affected statement fails, later ones work. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createPool, isDatabaseUnavailable, type Pool } from "#api/db/pool.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { type DatabaseProxy, startDatabaseProxy } from "./harness/database-proxy.ts";
import { TEST_TIMINGS } from "./harness/timings.ts";

/** The server ends a statement then; its answer may come `answerMarginMs` later. */
const STATEMENT_TIMEOUT_MS = 500;
const DEADLINE_MS = 10_000;

let database: TestDatabase;
let proxy: DatabaseProxy;
let pool: Pool;
beforeEach(async () => {
  database = await createTestDatabase({ empty: true });
  await database.pool`create table steps (step text)`;
  proxy = await startDatabaseProxy(database.url);
  pool = createPool(proxy.url, {
    maxConnections: 2,
    timings: { ...TEST_TIMINGS, statementTimeoutMs: STATEMENT_TIMEOUT_MS },
  });
});
afterEach(async () => {
  await pool.end({ timeout: 1 });
  await proxy[Symbol.asyncDispose]();
  await database.drop();
});

async function expectUnavailable(query: Promise<unknown>): Promise<void> {
  const error = await query.then(
    () => "an answer",
    (reason) => reason,
  );
  expect(isDatabaseUnavailable(error), String(error)).toBe(true);
}
const readSteps = async () =>
  (await pool<{ step: string }[]>`select step from steps`).map(({ step }) => step);

test("a reset before the statement arrives: it fails, and was not carried out", async () => {
  const struck = proxy.strike(/insert into steps/, { kind: "reset" }, { at: "question" });
  await expectUnavailable(pool`insert into steps values ('lost')`);
  await struck;
  expect(await readSteps()).toEqual([]);
});

test("a reset in place of the answer: it fails, and was carried out", async () => {
  const struck = proxy.strike(/insert into steps/, { kind: "reset" });
  await expectUnavailable(pool`insert into steps values (${"kept"})`);
  await struck;
  expect(await readSteps()).toEqual(["kept"]);
});

test("an answer that is cut: the statement fails", async () => {
  await pool`select ${1}::int as got`;
  void proxy.strike(/as got/, { kind: "cut", afterBytes: 7 });
  await expectUnavailable(pool`select ${2}::int as got`);
  expect(await pool`select ${3}::int as got`).toEqual([{ got: 3 }]);
});

test("an answer that is late arrives", async () => {
  const struck = proxy.strike(/as got/, { kind: "delay", ms: 300 });
  const begun = performance.now();
  expect(await pool`select ${1}::int as got`).toEqual([{ got: 1 }]);
  expect(performance.now() - begun).toBeGreaterThan(250);
  await struck;
});

test("a query that is asked just as another was reset is answered, and so are those after it", async () => {
  const single = createPool(proxy.url, { maxConnections: 1 });
  const ask = () => single`select 1 as got`;
  for (let time = 1; time <= 5; time++) {
    // Prepared, so that the driver could let others follow it unanswered.
    await ask();
    void proxy.strike(/as got/, { kind: "reset" });
    const first = ask().catch((reason) => reason);
    // Asked in the moment of the rejection, before the connection is known to have ended.
    const after = first.then(() => Promise.all([ask(), single.begin((sql) => sql`select 2 as got`)]));
    expect(isDatabaseUnavailable(await first)).toBe(true);
    expect(await after).toEqual([[{ got: 1 }], [{ got: 2 }]]);
  }
  await single.end();
});

test("an answer that never comes: the statement fails, the next ones are answered", async () => {
  const begun = performance.now();
  const struck = proxy.strike(/insert into steps/, { kind: "drop" });
  const lost = expectUnavailable(pool`insert into steps values ('kept')`);
  await struck;
  // The other connection works meanwhile, and the answers of one are not taken for those of another.
  const others = Array.from({ length: 20 }, (_, index) => pool`select ${index}::int as got`);
  expect((await Promise.all(others)).map(([row]) => row?.got)).toEqual(others.map((_, index) => index));
  await lost;
  expect(performance.now() - begun).toBeLessThan(DEADLINE_MS);
  expect(await Promise.all([readSteps(), readSteps(), readSteps()])).toEqual([["kept"], ["kept"], ["kept"]]);
});

test("a transaction whose answer never comes fails with all that waits in it", async () => {
  void proxy.strike(/insert into steps/, { kind: "drop" });
  const inside: Promise<unknown>[] = [];
  const outcome = pool.begin(async (sql) => {
    for (const step of ["one", "two", "three"]) {
      inside.push(sql`insert into steps values (${step})`.catch((reason) => reason));
    }
    await Promise.all(inside);
  });
  await expectUnavailable(outcome);
  for (const error of await Promise.all(inside)) expect(isDatabaseUnavailable(error)).toBe(true);
  expect(await readSteps()).toEqual([]);
});

test("nothing passes for a while: everything fails in time, and works again when it passes", async () => {
  await Promise.all([pool`select 1`, pool`select 2`]);
  proxy.hang(true);
  const begun = performance.now();
  await Promise.all([
    ...Array.from({ length: 10 }, () => expectUnavailable(pool`select 1 as got`)),
    expectUnavailable(pool.begin((sql) => sql`select 1 as got`)),
  ]);
  expect(performance.now() - begun).toBeLessThan(2 * DEADLINE_MS);
  proxy.hang(false);
  await vi.waitFor(async () => expect(await pool`select 1 as got`).toEqual([{ got: 1 }]), DEADLINE_MS);
});

test("a query that finds no connection free fails in time", async () => {
  await using crowded = Object.assign(
    createPool(proxy.url, { maxConnections: 1, timings: { waitTimeoutMs: 300 } }),
    {
      [Symbol.asyncDispose]: () => crowded.end({ timeout: 1 }),
    },
  );
  const slow = crowded`select pg_sleep(1)`.execute();
  await expectUnavailable(crowded`select 1`);
  await slow;
  expect(await crowded`select 1 as got`).toEqual([{ got: 1 }]);
});

test("listening goes on after the connection has silently died", async () => {
  const heard: string[] = [];
  const told: string[] = [];
  await pool.listen(
    "news",
    (payload) => heard.push(payload),
    () => told.push("listening"),
  );
  proxy.hang(true);
  // What is lost meanwhile is lost; that there is a gap is told.
  await new Promise((resolve) => setTimeout(resolve, 2 * TEST_TIMINGS.listenCheckMs + 1000));
  proxy.hang(false);
  await vi.waitFor(() => expect(told.length).toBeGreaterThan(1), DEADLINE_MS);
  await database.pool.notify("news", "again");
  await vi.waitFor(() => expect(heard).toContain("again"), DEADLINE_MS);
});

test("a connection that has become read-only is made anew", async () => {
  const single = createPool(proxy.url, { maxConnections: 1 });
  await single`set default_transaction_read_only = on`;
  await expectUnavailable(single`insert into steps values ('one')`);
  await single`insert into steps values ('two')`;
  await single`set default_transaction_read_only = on`;
  await expectUnavailable(single.begin((sql) => sql`insert into steps values ('three')`));
  await single.begin((sql) => sql`insert into steps values ('four')`);
  await single.end({ timeout: 1 });
  expect(await readSteps()).toEqual(["two", "four"]);
});

test("a pool ends while nothing passes", async () => {
  await pool.listen("news", () => {});
  await pool`select 1`;
  proxy.hang(true);
  const asked = pool`select 1`.catch((reason) => reason);
  const begun = performance.now();
  await pool.end({ timeout: 1 });
  expect(performance.now() - begun).toBeLessThan(DEADLINE_MS);
  expect(isDatabaseUnavailable(await asked)).toBe(true);
  await vi.waitFor(() => expect(proxy.open).toBe(0), DEADLINE_MS);
});
