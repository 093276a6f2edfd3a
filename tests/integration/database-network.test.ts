/** What a network does to connections of the pool: the statement that it struck fails, and those after it work. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createPool, isDatabaseUnavailable, type Pool } from "#api/db/pool.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { type DatabaseProxy, startDatabaseProxy } from "./harness/database-proxy.ts";

let database: TestDatabase;
let proxy: DatabaseProxy;
let pool: Pool;
beforeEach(async () => {
  database = await createTestDatabase({ empty: true });
  await database.pool`create table steps (step text)`;
  proxy = await startDatabaseProxy(database.url);
  pool = createPool(proxy.url, { maxConnections: 2 });
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
