/** Paused runs and a database that does not answer, or whose answer is lost: what was approved is done, once. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createPool } from "#api/db/pool.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type DatabaseProxy, startDatabaseProxy } from "../harness/database-proxy.ts";
import { timingsVariable } from "../harness/timings.ts";
import { until } from "../processes-server.ts";
import { type ApprovalsServer, startApprovalsServer } from "./server.ts";

const WITHIN = "?wait=20000";
const SCRIPT = 'print before\ncall shop delete_item {"name":"a"}\nprint after';
/** A repetition begins. */
const TAKE = /update process_checkpoints (c )?set detached = false/;

let database: TestDatabase;
let proxy: DatabaseProxy;
let on: ApprovalsServer;
beforeEach(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
  on = await start("0");
});
afterEach(async () => {
  await on[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await database.drop();
});

/** Its statements go through the proxy; what the test looks up does not. */
async function start(holdMs: string): Promise<ApprovalsServer> {
  const pool = createPool(proxy.url, { maxConnections: 12, applicationName: "test" });
  const server = await startApprovalsServer({
    database: { ...database, pool },
    environment: { CYRNEL_APPROVAL_HOLD_MS: holdMs, ...timingsVariable() },
  });
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await pool.end({ timeout: 1 });
    },
  };
}

const childIsGone = () =>
  until(
    "the child has gone",
    () => on.server.environment.held === 0 && on.server.environment.kills.length > 0,
  );

async function expectDone(id: number): Promise<void> {
  const record = await until(
    "it is over",
    async () => {
      const now = await on.read(id, "?wait=1000");
      return now.state === "idle" && now;
    },
    20_000,
  );
  expect(record).toMatchObject({
    exitState: "success",
    stdout: 'before\n{"echoed":{"name":"a"}}\nafter\n',
  });
  expect(on.made()).toEqual(['delete_item {"name":"a"}']);
}

test.each([
  ["is away", "question"],
  ["loses its answer", "answer"],
] as const)(
  "the database %s as an approved run is about to be repeated: it goes back to the queue",
  async (_, at) => {
    const id = await on.submit(SCRIPT);
    const [approval = ""] = await on.paused(id);
    await childIsGone();
    const struck = proxy.strike(TAKE, { kind: "reset" }, { at, times: 2 });
    expect((await on.decide(approval, "approve")).status).toBe(200);
    await struck;
    await expectDone(id);
  },
);

test("lost answers do not count as replays without progress", async () => {
  const id = await on.submit(SCRIPT);
  const [approval = ""] = await on.paused(id);
  await childIsGone();
  await database.pool`update process_checkpoints set replays = 9`;
  const struck = proxy.strike(TAKE, { kind: "reset" }, { times: 3 });
  expect((await on.decide(approval, "approve")).status).toBe(200);
  await struck;
  await expectDone(id);
});

test("a kill ends a run that cannot be replayed yet", async () => {
  const id = await on.submit(SCRIPT);
  const [approval = ""] = await on.paused(id);
  await childIsGone();
  void proxy.strike(TAKE, { kind: "reset" }, { at: "question", times: 10_000 });
  expect((await on.decide(approval, "approve")).status).toBe(200);
  expect((await on.agent.send("POST", `/processes/${id}/signals/kill`)).status).toBe(200);
  expect(await on.read(id, WITHIN)).toMatchObject({ exitState: "canceled", reason: "killed" });
});

test("a server that stops before replaying an approved run leaves it to the next one", async () => {
  const id = await on.submit(SCRIPT);
  const [approval = ""] = await on.paused(id);
  await childIsGone();
  const struck = proxy.strike(TAKE, { kind: "delay", ms: 5000 });
  expect((await on.decide(approval, "approve")).status).toBe(200);
  await until("it is claimed", async () => (await on.read(id)).state === "running");
  await on[Symbol.asyncDispose]();
  await struck;
  on = await start("0");
  await expectDone(id);
});

test("the answer to detaching a run is lost: decided at once, it is replayed, never twice at a time", async () => {
  await on[Symbol.asyncDispose]();
  on = await start("1500");
  const id = await on.submit(SCRIPT);
  const [approval = ""] = await on.paused(id);
  const struck = proxy.strike(/^commit/i, { kind: "reset" });
  await struck;
  expect((await on.decide(approval, "approve")).status).toBe(200);
  await expectDone(id);
});

test("the answer to a decision is lost: the decision counts, and the run continues", async () => {
  const id = await on.submit(SCRIPT);
  const [approval = ""] = await on.paused(id);
  await childIsGone();
  const struck = proxy.strike(/^commit/i, { kind: "reset" });
  expect((await on.decide(approval, "approve")).status).toBe(503);
  await struck;
  await expectDone(id);
  expect((await on.decide(approval, "approve")).status).toBe(200);
});

test("a run detached at the moment of its decision is still replayed", async () => {
  const id = await on.submit(SCRIPT);
  const [approval = ""] = await on.paused(id);
  await childIsGone();
  // State after a decision when another replica has taken over the dead owner's run.
  await database.pool`
    update approvals set state = 'approved', decided_at = clock_timestamp(), decided_by = 'boss' where id = ${approval}`;
  await expectDone(id);
});

test.each([
  ["begins the approved call", /as "isUsed"/],
  ["pauses the run", /^commit/i],
] as const)("the answer to the statement that %s is lost: the call is made, once", async (_, statement) => {
  await on[Symbol.asyncDispose]();
  on = await start("60000");
  const isPause = statement.source === "^commit";
  const struck = isPause ? proxy.strike(statement, { kind: "reset" }) : null;
  const id = await on.submit(SCRIPT);
  const [approval = ""] = await on.paused(id);
  const begun = isPause ? struck : proxy.strike(statement, { kind: "reset" });
  expect((await on.decide(approval, "approve")).status).toBe(200);
  await begun;
  await expectDone(id);
});
