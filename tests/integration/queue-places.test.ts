/** Many who ask for their place in a long queue at once: each is told it, and the queue is ranked a few times. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Db } from "#api/db/pool.ts";
import { createQueueEstimates } from "#api/processes/admission/admission.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";

const QUEUED = 3000;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ maxConnections: 4 });
  await database.pool`
    insert into processes (code, state, queued_at, priority)
    select '', 'queued', now() + n * interval '1 second', 0 from generate_series(1, ${QUEUED}::int) n`;
});
afterAll(() => database?.drop());

/** The database, counting its statements. */
function counting(pool: Db): { db: Db; count(): number } {
  let statements = 0;
  const db = new Proxy(pool, {
    apply(target, self, given) {
      statements += 1;
      return Reflect.apply(target as never, self, given);
    },
  });
  return { db, count: () => statements };
}

test("each of many is told its own place, by a few rankings", async () => {
  const { db, count } = counting(database.pool);
  const estimates = createQueueEstimates(db, () => 2);
  estimates.runEnded(
    {
      id: 1,
      exitState: "success",
      reason: "ok",
      usage: { queuedMs: 0, startMs: 0, wallMs: 100, cpuMs: 0, peakMemoryBytes: 0, toolCalls: 0 },
    },
    "scripted",
  );
  const asked = Array.from({ length: 500 }, (_, n) => 1 + n * 5);
  const places = await Promise.all(asked.map((id) => estimates.find([id])));
  expect(places.map((place, n) => place.get(asked[n] as number))).toEqual(
    asked.map((id) => ({ position: id, estimatedMs: id * 50 })),
  );
  expect(places.every((place) => place.size === 1)).toBe(true);
  expect(count()).toBeLessThanOrEqual(3);
});

test("what is told is not older than the question", async () => {
  const estimates = createQueueEstimates(database.pool, () => 1);
  expect((await estimates.find([2])).get(2)?.position).toBe(2);
  for (const [priority, position] of [
    [5, 1],
    [-5, QUEUED],
  ]) {
    await database.pool`update processes set priority = ${priority as number} where id = 2`;
    expect((await estimates.find([2])).get(2)?.position).toBe(position);
  }
});

test("who is not in the queue has no place in it", async () => {
  const estimates = createQueueEstimates(database.pool, () => 1);
  expect((await estimates.find([QUEUED + 1])).size).toBe(0);
  expect((await estimates.find([])).size).toBe(0);
});

test("a question that failed is no obstacle to the next", async () => {
  const { db } = counting(database.pool);
  let fails = true;
  const failing = new Proxy(db, {
    apply(target, self, given) {
      if (fails) return Promise.reject(new Error("the connection is gone"));
      return Reflect.apply(target as never, self, given);
    },
  });
  const estimates = createQueueEstimates(failing, () => 1);
  await expect(Promise.all([estimates.find([1]), estimates.find([3])])).rejects.toThrow("gone");
  fails = false;
  expect((await estimates.find([1])).size).toBe(1);
});
