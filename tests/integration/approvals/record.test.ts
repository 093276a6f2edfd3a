/** The record of a paused run stays whole, from the pause to the end: its trail, what it used and printed, and the audit log. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { until } from "../processes-server.ts";
import { type ApprovalsServer, startApprovalsServer } from "./server.ts";

let database: TestDatabase;
let on: ApprovalsServer;
beforeEach(async () => {
  database = await createTestDatabase({ maxConnections: 12 });
  on = await startApprovalsServer({ database, environment: { CYRNEL_APPROVAL_HOLD_MS: "0" } });
});
afterEach(async () => {
  await on[Symbol.asyncDispose]();
  await database.drop();
});

const SCRIPT = [
  "print before",
  "warn odd",
  'output {"step":1}',
  'call shop list {"page":1}',
  'call shop delete_item {"name":"a"}',
  "print after",
].join("\n");

const readCalls = async (id: number) =>
  (await on.server.get(`/processes/${id}/calls`)).body.calls.map(
    ({ seq, toolId, status }: { seq: number; toolId: string; status: string | null }) => [
      seq,
      toolId,
      status,
    ],
  );
const readAudit = async () =>
  (await on.server.get("/audit?action=tool.call&limit=50")).body.records.map(
    ({ object, outcome, code }: { object: { id: string }; outcome: string; code?: string | null }) =>
      `${object.id} ${outcome} ${code ?? ""}`,
  );

test("after its child is gone, while queued, and after approval, no call is recorded as canceled", async () => {
  const id = await on.submit(SCRIPT);
  const [approval = ""] = await on.paused(id);
  await until(
    "the child has gone",
    () => on.server.environment.held === 0 && on.server.environment.kills.length > 0,
  );
  const shown = { stdout: expect.stringMatching(/^before\n/), stderr: "odd\n", output: { step: 1 } };
  const paused = await on.read(id);
  expect(paused).toMatchObject({ state: "paused", ...shown, usage: { toolCalls: 2 } });
  expect(paused.usage.wallMs).toBeGreaterThan(0);
  expect((await on.server.get("/processes?state=paused")).body.processes).toMatchObject([
    { id, output: { step: 1 }, usage: paused.usage },
  ]);
  const calls = [
    [1, "list", "ok"],
    [2, "delete_item", null],
  ];
  expect(await readCalls(id)).toEqual(calls);
  expect(await readAudit()).toEqual(["shop.list ok "]);

  // So that it waits in the queue for a moment.
  on.server.environment.slots = 0;
  expect((await on.decide(approval, "approve")).status).toBe(200);
  expect(await on.read(id)).toMatchObject({ state: "queued", ...shown, usage: paused.usage });
  expect(await readCalls(id)).toEqual(calls);
  on.server.environment.slots = 4;
  // The queue is looked at when something changes.
  await on.submit("print other");

  expect(await on.read(id, "?wait=20000")).toMatchObject({
    exitState: "success",
    stdout: 'before\n{"echoed":{"page":1}}\n{"echoed":{"name":"a"}}\nafter\n',
    stderr: "odd\n",
    output: { step: 1 },
    usage: { toolCalls: 2 },
  });
  expect(await readCalls(id)).toEqual([
    [1, "list", "ok"],
    [2, "delete_item", "ok"],
  ]);
  expect((await readAudit()).toSorted()).toEqual(["shop.delete_item ok ", "shop.list ok "]);
  expect(on.made()).toEqual(['list {"page":1}', 'delete_item {"name":"a"}']);
}, 60_000);

test("the event stream of a run whose child is gone continues where it was, without canceled calls", async () => {
  const id = await on.submit(SCRIPT);
  const stream = on.server.get(`/processes/${id}/events`);
  const [approval = ""] = await on.paused(id);
  await until("the child has gone", () => on.server.environment.held === 0);
  await on.decide(approval, "approve");
  const { text } = await stream;
  const calls = [...text.matchAll(/event: call\ndata: (.*)/g)].map(([, data]) => JSON.parse(data ?? ""));
  expect(calls.map(({ toolId, status }) => [toolId, status])).toEqual([
    ["list", "ok"],
    ["delete_item", "ok"],
  ]);
}, 60_000);
