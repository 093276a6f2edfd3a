/** Postgres ends the connections of a server while approved runs make their calls: no run fails by it, no call is made twice. */
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { administer } from "../harness/global-setup.ts";
import { until } from "../processes-server.ts";
import { type ApprovalsServer, startApprovalsServer } from "./server.ts";

const RUNS = 12;
/** Well within the time for which a run tries again, however slow the machine is. */
const ENDING_MS = 3000;
const BETWEEN_MS = 100;

let database: TestDatabase;
let on: ApprovalsServer;
beforeEach(async () => {
  database = await createTestDatabase({ maxConnections: 12 });
  on = await startApprovalsServer({ database });
});
afterEach(async () => {
  await on[Symbol.asyncDispose]();
  await database.drop();
});

async function endConnections(): Promise<void> {
  const endMs = performance.now() + ENDING_MS;
  while (performance.now() < endMs) {
    await administer(
      inject("postgresUrl"),
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database.name}'`,
    );
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
  }
}

async function decide(approval: string): Promise<void> {
  await until(`${approval} is decided`, async () => (await on.decide(approval, "approve")).status === 200);
}

/** Approves whatever the run asks, until it is over. */
async function approveAll(id: number) {
  for (;;) {
    const answer = await on.server.get(`/processes/${id}`);
    if (answer.status === 200 && answer.body.state === "idle") return answer.body;
    for (const approval of answer.body?.approvals ?? []) await decide(approval);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("lookups of a script survive ended database connections", async () => {
  on.server.environment.slots = RUNS;
  const script = "look-up shop list\nsleep 50\n".repeat(ENDING_MS / 50);
  const ids = await Promise.all(Array.from({ length: RUNS }, () => on.submit(script)));
  const ending = endConnections();
  const records = await Promise.all(ids.map(approveAll));
  await ending;
  expect(records.map(({ exitState, error }) => ({ exitState, error }))).toEqual(
    records.map(() => ({ exitState: "success", error: null })),
  );
}, 120_000);

test("approved runs survive ended database connections, and each call is made once", async () => {
  on.server.environment.slots = RUNS;
  const script = (run: number) =>
    [
      `must-call shop delete_item {"run":${run},"n":1}`,
      `must-call shop list {"run":${run}}`,
      `must-call shop buy {"run":${run},"n":2}`,
      `ask {"message":"Go on?"}`,
      `must-call shop delete_item {"run":${run},"n":3}`,
    ].join("\n");
  const ids = await Promise.all(Array.from({ length: RUNS }, (_, run) => on.submit(script(run))));
  const ending = endConnections();
  const records = await Promise.all(ids.map(approveAll));
  await ending;
  expect(records.map(({ exitState, error }) => ({ exitState, error }))).toEqual(
    records.map(() => ({ exitState: "success", error: null })),
  );
  const destructive = on.made().filter((call) => !call.startsWith("list"));
  expect(new Set(destructive).size).toBe(RUNS * 3);
  expect(destructive).toHaveLength(RUNS * 3);
}, 120_000);
