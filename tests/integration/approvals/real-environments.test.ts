/** Real scripts in both environments: asked about in place, after the hold, and after the server was started anew. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { toRawInteger } from "#sdk";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { until } from "../processes-server.ts";
import { type ApprovalsServer, type ApprovalsServerOptions, startApprovalsServer } from "./server.ts";

const SCRIPT = `
  const seen = { random: Math.random(), now: Date.now(), id: crypto.randomUUID() };
  console.debug(JSON.stringify(seen));
  cyrnel.output({ step: 1 });
  await new Promise((resolve) => setTimeout(resolve, 20));
  const first = await tools.shop.list({ page: 1, random: seen.random });
  let deleted;
  try { deleted = await tools.shop.delete_item({ name: "a", at: seen.now }); }
  catch (error) { deleted = { code: error.code, message: error.message }; }
  console.log("after");
  const [second, third] = await Promise.all([tools.shop.list({ page: 2 }), tools.shop.list({ page: 3 })]);
  cyrnel.output({ step: 2 });
  return { seen, first, deleted, second, third, later: Date.now() >= seen.now };
`;

describe.each(["typescript-process", "typescript-ivm"])("%s", (environmentId) => {
  let database: TestDatabase;
  const open: ApprovalsServer[] = [];
  beforeEach(async () => {
    database = await createTestDatabase({ maxConnections: 12 });
  });
  afterEach(async () => {
    for (const on of open.splice(0)) await on[Symbol.asyncDispose]();
    await database.drop();
  });

  async function start(holdMs: number, options: ApprovalsServerOptions = {}): Promise<ApprovalsServer> {
    const environments = BUILTIN_MODULES.filter(({ type }) => type === "environment");
    const on = await startApprovalsServer({
      database,
      environments,
      ...options,
      environment: { CYRNEL_APPROVAL_HOLD_MS: String(holdMs), ...options.environment },
    });
    open.push(on);
    const switched = await on.server.post(`/modules/${environmentId}/enabled`, { enabled: true });
    if (switched.status >= 300 && switched.body?.code !== "invalid_request") throw new Error(switched.text);
    return on;
  }

  async function readLevels(id: number): Promise<unknown> {
    const [row] = await database.pool<{ levels: unknown }[]>`
      select levels from process_results where process_id = ${id}`;
    return row?.levels;
  }

  /** What a run must look like, whatever became of its children. */
  async function expectWhole(on: ApprovalsServer, id: number, deleted: unknown): Promise<void> {
    const record = await on.read(id, "?wait=30000");
    expect([record.exitState, record.error]).toEqual(["success", null]);
    const [line = ""] = record.stdout.split("\n");
    expect(JSON.parse(line)).toEqual(record.result.seen);
    expect(record.stdout).toBe(`${line}\nafter\n`);
    expect(await readLevels(id)).toEqual({ stdout: [[0, line.length + 1, "debug"]], stderr: [] });
    expect(record.output).toEqual({ step: 2 });
    expect(record.result.first).toEqual({ echoed: { page: 1, random: record.result.seen.random } });
    expect(record.result).toMatchObject({ deleted, third: { echoed: { page: 3 } }, later: true });
    expect(record.environment).toBe(environmentId);
  }

  const made = (on: ApprovalsServer) => on.made().map((call) => call.split(" ")[0]);

  test("approved while the child waits: the run continues at once", async () => {
    const on = await start(60_000);
    const id = await on.submit(SCRIPT, { options: { timeout: 20_000 } });
    const [approval = ""] = await on.paused(id);
    expect((await on.decide(approval, "approve")).status).toBe(200);
    await expectWhole(on, id, { echoed: { name: "a" } });
    expect(made(on)).toEqual(["list", "delete_item", "list", "list"]);
  });

  test("approved after the child is gone: replayed with the same random numbers and times, nothing is called twice", async () => {
    const on = await start(0);
    const id = await on.submit(SCRIPT);
    const [approval = ""] = await on.paused(id);
    await until("the child has gone", () => isDetached(on, id));
    const before = (await on.read(id)).stdout;
    expect(await readLevels(id)).toEqual({ stdout: [[0, before.length, "debug"]], stderr: [] });
    await on.decide(approval, "approve");
    await expectWhole(on, id, { echoed: { name: "a" } });
    expect((await on.read(id)).stdout.startsWith(before)).toBe(true);
    expect(made(on)).toEqual(["list", "delete_item", "list", "list"]);
  });

  test("denied after the child is gone", async () => {
    const on = await start(0);
    const id = await on.submit(SCRIPT);
    const [approval = ""] = await on.paused(id);
    await until("the child has gone", () => isDetached(on, id));
    await on.decide(approval, "deny", { reason: "no" });
    await expectWhole(on, id, { code: "approval_denied" });
    expect(made(on)).toEqual(["list", "list", "list"]);
  });

  test("a denial that is not caught ends the run as approval_denied", async () => {
    const on = await start(60_000);
    const id = await on.submit("await tools.shop.delete_item({});");
    const [approval = ""] = await on.paused(id);
    await on.decide(approval, "deny");
    expect(await on.read(id, "?wait=30000")).toMatchObject({
      exitState: "failed",
      reason: "approval_denied",
    });
  });

  test("approved after a restart of the server", async () => {
    const first = await start(60_000);
    const id = await first.submit(SCRIPT);
    const [approval = ""] = await first.paused(id);
    expect(made(first)).toEqual(["list"]);
    open.splice(0);
    await first[Symbol.asyncDispose]();
    const second = await start(60_000);
    await second.decide(approval, "approve");
    await expectWhole(second, id, { echoed: { name: "a" } });
    expect(made(second)).toEqual(["delete_item", "list", "list"]);
  });

  test("cyrnel.ask gives the script the answer, in place and in a later child", async () => {
    const code = `
      const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
      const one = await cyrnel.ask({ message: "One?", schema });
      const two = await cyrnel.ask({ message: "Two?" });
      return [one, two];
    `;
    const on = await start(0);
    const id = await on.submit(code);
    const [first = ""] = await on.paused(id);
    await until("the child has gone", () => isDetached(on, id));
    expect((await on.decide(first, "approve", { data: { n: "x" } })).status).toBe(400);
    const id64 = toRawInteger("9007199254740993");
    expect((await on.decide(first, "approve", { data: { n: id64 } })).status).toBe(200);
    expect((await on.decide(first, "approve", { data: { n: id64 } })).status).toBe(200);
    const second = await until("it asks again", async () => {
      const [next] = (await on.read(id)).approvals;
      return next !== first && next;
    });
    expect((await on.decide(second, "approve", { data: ["yes", id64] })).body).toMatchObject({
      code: "invalid_request",
      issues: [{ path: "body.data[1]", message: expect.stringContaining("would be rounded") }],
    });
    await on.decide(second, "approve", { data: ["yes", toRawInteger("9007199254740992")] });
    expect((await on.read(id, "?wait=30000")).result).toEqual([
      { n: "9007199254740993" },
      ["yes", 9007199254740992],
    ]);
  });

  test.each([
    ["in their child", 60_000],
    ["over many children", 0],
  ])("of three that wait at once, each goes on when it is decided, %s", async (_where, holdMs) => {
    const on = await start(holdMs);
    const id = await on.submit(`
      await Promise.all(["a", "b", "c"].map(async (name) => {
        const outcome = await tools.shop.delete_item({ name }).then(() => "ok", ({ code }) => code);
        console.log(name, outcome);
      }));
      return (await tools.shop.list({ random: Math.random() })).echoed.random === undefined;
    `);
    const asked = new Map<string, string>();
    for (const approval of await on.paused(id, 3)) {
      asked.set((await on.boss.send("GET", `/approvals/${approval}`)).body.parameters.name, approval);
    }
    const of = (name: string) => asked.get(name) ?? "";
    const says = (line: string) =>
      until(`the script says ${line}`, async () => (await on.read(id)).stdout.endsWith(`${line}\n`));
    await on.decide(of("b"), "approve");
    await says("b ok");
    expect((await on.paused(id, 2)).sort()).toEqual([of("a"), of("c")].sort());
    await on.decide(of("c"), "deny");
    await says("c approval_denied");
    await on.decide(of("a"), "approve");
    const record = await on.read(id, "?wait=30000");
    expect(record).toMatchObject({ exitState: "success", result: false });
    expect(record.stdout).toBe("b ok\nc approval_denied\na ok\n");
    expect(on.made().slice(0, 2)).toEqual(['delete_item {"name":"b"}', 'delete_item {"name":"a"}']);
    expect(on.made()).toHaveLength(3);
  });

  test.each([
    ["while its child waits", 60_000],
    ["when its child has gone", 0],
  ])("killed %s it is canceled, and what was asked for is never done", async (_when, holdMs) => {
    const on = await start(holdMs);
    const id = await on.submit(SCRIPT);
    const [approval = ""] = await on.paused(id);
    if (holdMs === 0) await until("the child has gone", () => isDetached(on, id));
    expect((await on.agent.send("POST", `/processes/${id}/signals/kill`)).status).toBe(200);
    expect(await on.read(id, "?wait=30000")).toMatchObject({
      exitState: "canceled",
      reason: "killed",
      approvals: [],
      output: { step: 1 },
    });
    const late = await on.decide(approval, "approve");
    expect([late.status, late.body.code]).toEqual([409, "approval_expired"]);
    expect(made(on)).toEqual(["list"]);
  });

  test.each([
    ["while its child waits", 60_000],
    ["when its child has gone", 0],
  ])("decided by nobody %s, the script is told; then it is too late to decide", async (_when, holdMs) => {
    const on = await start(holdMs, { environment: { CYRNEL_APPROVAL_TTL_MS: "1500" } });
    const id = await on.submit(SCRIPT);
    const [approval = ""] = await on.paused(id);
    const over = await until("it has ended", async () => {
      const record = await on.read(id);
      return record.state === "idle" && record;
    });
    expect(over).toMatchObject({ exitState: "success", result: { deleted: { code: "approval_expired" } } });
    const late = await on.decide(approval, "approve");
    expect([late.status, late.body.code]).toEqual([409, "approval_expired"]);
    expect(made(on)).toEqual(["list", "list", "list"]);
  });

  test("time spent waiting for approval does not count for the run", async () => {
    const on = await start(60_000);
    const id = await on.submit("await tools.shop.delete_item({}); return 1", { options: { timeout: 1500 } });
    const [approval = ""] = await on.paused(id);
    await new Promise((resolve) => setTimeout(resolve, 2000));
    await on.decide(approval, "approve");
    expect(await on.read(id, "?wait=30000")).toMatchObject({ exitState: "success", result: 1 });
  });

  // One of them is enough for so many calls.
  if (environmentId === "typescript-process") {
    test("a script that catches the denial and retries 10,000 times asks once, and ends", async () => {
      const on = await start(60_000);
      const id = await on.submit(
        `
      const codes = {};
      for (let n = 0; n < 10_000; n++) {
        await tools.shop.delete_item({ name: "again" }).catch(({ code }) => { codes[code] = (codes[code] ?? 0) + 1; });
      }
      return codes;
    `,
        { options: { timeout: 60_000 } },
      );
      const [approval = ""] = await on.paused(id);
      await on.decide(approval, "deny");
      const record = await on.read(id, "?wait=60000");
      expect([record.exitState, record.error]).toEqual(["success", null]);
      const { approval_denied: denied = 0, max_calls: beyond = 0 } = record.result;
      expect([denied > 9900, denied + beyond]).toEqual([true, 10_000]);
      expect((await on.boss.send("GET", `/approvals?processId=${id}`)).body.approvals).toHaveLength(1);
      expect(made(on)).toEqual([]);
    });
  }
});

async function isDetached(on: ApprovalsServer, id: number): Promise<boolean> {
  const rows = await on.server.pool`select from process_checkpoints where process_id = ${id} and detached`;
  return rows.length === 1;
}
