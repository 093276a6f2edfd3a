/** Keeping at most so many finished processes: what is removed, when somebody looks for it, and how many are looked at. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { sweepFinished } from "#api/processes/retention.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ maxConnections: 4 });
});
afterAll(() => database?.drop());
beforeEach(async () => {
  await database.pool`truncate processes, retention_count restart identity cascade`;
});

/** Many of them end in the same microsecond. */
async function finish(count: number): Promise<void> {
  await database.pool`
    insert into processes (code, state, exit_state, reason, queued_at, started_at, completed_at)
    select '', 'idle', 'success', 'ok', now(), now(),
      (select coalesce(max(completed_at), now() - interval '1 day') from processes) + (1 + n / 7) * interval '1 millisecond'
    from generate_series(1, ${count}::int) n`;
}
const sweep = (retentionMax: number) =>
  sweepFinished(database.pool, { retentionDays: null, retentionMax, keyTtlMs: 86_400_000 });
async function ids(): Promise<number[]> {
  const rows = await database.pool<{ id: number }[]>`select id from processes order by id`;
  return rows.map(({ id }) => id);
}

test("exactly the newest stay, also where that takes several steps and many ended at once", async () => {
  await finish(23_456);
  expect(await sweep(21_003)).toBe(23_456 - 21_003);
  const left = await ids();
  expect([left.length, left[0], left.at(-1)]).toEqual([21_003, 23_456 - 21_003 + 1, 23_456]);
});

test("as many as there are, or fewer, stay all", async () => {
  expect(await sweep(10)).toBe(0);
  await finish(10);
  for (const max of [10, 11, 10_000, 10]) expect(await sweep(max)).toBe(0);
  expect(await ids()).toHaveLength(10);
});

test("one in a hundred more may come before anything is removed, and then all of it is", async () => {
  await finish(1000);
  expect(await sweep(1000)).toBe(0);
  await finish(10);
  expect(await sweep(1000)).toBe(0);
  await finish(1);
  expect(await sweep(1000)).toBe(11);
  expect(await sweep(1000)).toBe(0);
  expect(await ids()).toHaveLength(1000);
});

test("what was removed or run again meanwhile makes room: nothing is removed for a count that is too high", async () => {
  await finish(1000);
  expect(await sweep(1000)).toBe(0);
  await database.pool`delete from processes where id > 500`;
  await database.pool`
    update processes set state = 'queued', queued_at = now(), exit_state = null, reason = null, completed_at = null
    where id <= 100`;
  await finish(500);
  expect(await sweep(1000)).toBe(0);
  expect(await ids()).toHaveLength(1000);
  await finish(200);
  expect(await sweep(1000)).toBe(100);
  expect((await ids()).slice(0, 101)).toEqual([...Array.from({ length: 100 }, (_, n) => n + 1), 201]);
});

test("a smaller number is kept to at the next sweep", async () => {
  await finish(500);
  expect(await sweep(500)).toBe(0);
  expect(await sweep(7)).toBe(493);
  expect(await ids()).toEqual([494, 495, 496, 497, 498, 499, 500]);
});

test("several servers that sweep at once leave what one of them would", async () => {
  await finish(5000);
  const removed = await Promise.all([sweep(3000), sweep(3000), sweep(3000)]);
  expect(removed.reduce((sum, one) => sum + one)).toBe(2000);
  expect((await ids())[0]).toBe(2001);
  await finish(31);
  await Promise.all([sweep(3000), sweep(3000), sweep(3000)]);
  expect((await ids())[0]).toBe(2032);
});
