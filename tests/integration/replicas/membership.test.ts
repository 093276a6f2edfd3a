/** A server among others: once it has signed off it is not there again, whatever it is still asked to say. */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DEFAULT_TIMINGS } from "#api/config/timings.ts";
import { createMembership } from "#api/replicas/membership.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

test("a server that has stopped and signed off says no more that it is there", async () => {
  const id = randomUUID();
  let beats = 0;
  const membership = createMembership({
    db: database.pool,
    timings: DEFAULT_TIMINGS,
    describe: () => ({
      id,
      name: "one",
      version: "1.0.0",
      token: randomBytes(32),
      address: null,
      secretsKey: null,
      secretsKeys: [],
      slots: 1,
      modules: {},
      draining: false,
    }),
    afterBeat: async () => {
      beats += 1;
    },
    log: { debug() {}, info() {}, warn() {} },
  });
  const countRows = async () => {
    const [row] = await database.pool<{ count: number }[]>`
      select count(*)::int as count from replicas where id = ${id}`;
    return row?.count;
  };
  await membership.start();
  await membership.beatNow();
  expect([await countRows(), beats]).toEqual([1, 1]);

  // One is under way, and asked for again, while it stops.
  const last = [membership.beatNow(), membership.beatNow()];
  await membership.stop();
  await Promise.all(last);
  await membership.signOff();
  expect(await countRows()).toBe(0);
  const before = beats;
  await membership.beatNow();
  expect([await countRows(), beats]).toEqual([0, before]);
});
