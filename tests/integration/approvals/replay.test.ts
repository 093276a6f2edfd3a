/** Approvals of runs whose child has gone: the hold has passed, or the server ended. The run is repeated from its record. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { until } from "../processes-server.ts";
import { type ApprovalsServer, type ApprovalsServerOptions, startApprovalsServer } from "./server.ts";

let database: TestDatabase;
const open: ApprovalsServer[] = [];
beforeEach(async () => {
  database = await createTestDatabase({ maxConnections: 12 });
});
afterEach(async () => {
  for (const on of open.splice(0)) await on[Symbol.asyncDispose]();
  await database.drop();
});

async function start(options: ApprovalsServerOptions = {}): Promise<ApprovalsServer> {
  const on = await startApprovalsServer({ database, ...options });
  open.push(on);
  return on;
}

async function stop(on: ApprovalsServer): Promise<void> {
  open.splice(open.indexOf(on), 1);
  await on[Symbol.asyncDispose]();
}

const SHORT_HOLD = { environment: { CYRNEL_APPROVAL_HOLD_MS: "0" } };
const left = (on: ApprovalsServer) =>
  until(
    "the child has gone",
    () => on.server.environment.held === 0 && on.server.environment.kills.length > 0,
  );

const SCRIPT = [
  "print before",
  'output {"step":1}',
  'call shop list {"page":1}',
  'call shop delete_item {"name":"a"}',
  "print after",
  'call shop list {"page":2}',
].join("\n");

describe("when the hold has passed", () => {
  test("after the child is gone the process stays paused and keeps its record; approved, it is replayed without calling twice", async () => {
    const on = await start(SHORT_HOLD);
    const id = await on.submit(SCRIPT);
    const [approval = ""] = await on.paused(id);
    await left(on);
    const shown = await on.read(id);
    expect(shown).toMatchObject({
      state: "paused",
      output: { step: 1 },
      approvals: [approval],
      completedAt: null,
    });
    expect(shown.stdout).toContain("before");
    expect((await on.server.get(`/processes/${id}/calls`)).body.calls).toMatchObject([
      { seq: 1, status: "ok" },
      { seq: 2, status: null },
    ]);
    expect(on.server.server.app).toBeDefined();
    expect((await on.decide(approval, "approve")).status).toBe(200);
    const record = await on.read(id, "?wait=10000");
    expect(record).toMatchObject({ exitState: "success", output: { step: 1 }, approvals: [] });
    expect(record.startedAt).toBe(shown.startedAt);
    expect(record.stdout).toBe(
      'before\n{"echoed":{"page":1}}\n{"echoed":{"name":"a"}}\nafter\n{"echoed":{"page":2}}\n',
    );
    expect(on.made()).toEqual(['list {"page":1}', 'delete_item {"name":"a"}', 'list {"page":2}']);
    const { calls } = (await on.server.get(`/processes/${id}/calls`)).body;
    expect(calls.map((call: { seq: number; status: string }) => [call.seq, call.status])).toEqual([
      [1, "ok"],
      [2, "ok"],
      [3, "ok"],
    ]);
    const [leftover] = await on.server.pool`
      select (select count(*) from process_checkpoints)::int as checkpoints, (select count(*) from process_journal)::int as journal,
        (select count(*) from secrets where owner_kind = 'call_log')::int as sealed`;
    expect(leftover).toEqual({ checkpoints: 0, journal: 0, sealed: 0 });
  });

  test("a denied or expired call rejects in the script", async () => {
    const on = await start({ environment: { CYRNEL_APPROVAL_HOLD_MS: "0", CYRNEL_APPROVAL_TTL_MS: "2000" } });
    const denied = await on.submit('call shop delete_item {"name":"d"}\nprint went on');
    const [first = ""] = await on.paused(denied);
    await left(on);
    await on.decide(first, "deny", { reason: "no" });
    const told = await on.read(denied, "?wait=10000");
    expect(told.stdout).toMatch(/approval_denied: .*\(no\).*\nwent on\n$/);
    const expired = await on.submit('call shop delete_item {"name":"e"}\nprint went on');
    await on.paused(expired);
    const over = await until("it has expired", async () => {
      const record = await on.read(expired);
      return record.state === "idle" && record;
    });
    expect(over.stdout).toMatch(/approval_expired: .*\nwent on\n$/);
    expect(on.made()).toEqual([]);
    expect((await on.server.get("/audit?action=approval.expire")).body.records).toHaveLength(1);
  });

  test("a script that does something else ends as replay_divergence", async () => {
    const on = await start(SHORT_HOLD);
    const id = await on.submit('call-attempt shop list\ncall shop delete_item {"name":"a"}');
    const [approval = ""] = await on.paused(id);
    await left(on);
    await on.decide(approval, "approve");
    expect(await on.read(id, "?wait=10000")).toMatchObject({
      exitState: "failed",
      reason: "replay_divergence",
    });
    expect(on.made()).toEqual(['list {"attempt":1}']);
  });

  test("an approved call is not made with other parameters", async () => {
    const on = await start(SHORT_HOLD);
    const id = await on.submit("call-attempt shop delete_item");
    const [approval = ""] = await on.paused(id);
    await left(on);
    await on.decide(approval, "approve");
    expect(await on.read(id, "?wait=10000")).toMatchObject({
      exitState: "failed",
      reason: "replay_divergence",
    });
    expect(on.made()).toEqual([]);
  });

  test("each of two approvals is used once, over any number of children", async () => {
    const on = await start(SHORT_HOLD);
    const id = await on.submit(
      'together [["shop","delete_item",{"n":1}],["shop","buy",{"n":2}]]\ncall shop buy {"n":3}',
    );
    const [first = "", second = ""] = await on.paused(id, 2);
    await left(on);
    await on.decide(second, "approve");
    await until("the second was called", () => on.made().length === 1);
    expect(await on.paused(id, 1)).toEqual([first]);
    await on.decide(first, "approve");
    const third = await until("it asks a third time", async () => {
      const [last] = (await on.read(id)).approvals;
      return last !== first && last;
    });
    await on.decide(third, "deny");
    expect((await on.read(id, "?wait=10000")).exitState).toBe("success");
    expect(on.made().sort()).toEqual(['buy {"n":2}', 'delete_item {"n":1}']);
  });

  test("a kill without a child cancels at once", async () => {
    const on = await start(SHORT_HOLD);
    const id = await on.submit(SCRIPT);
    const [approval = ""] = await on.paused(id);
    await left(on);
    expect((await on.agent.send("POST", `/processes/${id}/signals/kill`)).body).toMatchObject({
      state: "idle",
      exitState: "canceled",
    });
    expect((await on.decide(approval, "approve")).body.code).toBe("approval_expired");
    expect(on.made()).toEqual(['list {"page":1}']);
    const again = await on.agent.send("POST", `/processes/${id}/signals/run`, { force: true });
    expect(again.status).toBe(200);
    const [next = ""] = await on.paused(id);
    expect(next).not.toBe(approval);
    await on.agent.send("POST", `/processes/${id}/signals/kill`);
  });

  test("one event stream shows the whole run over its children", async () => {
    const on = await start(SHORT_HOLD);
    const id = await on.submit(SCRIPT);
    const whole = fetch(`${on.server.url}/processes/${id}/events`, {
      headers: { authorization: `Bearer ${on.server.config.apiKey}` },
    }).then((response) => response.text());
    const [approval = ""] = await on.paused(id);
    await left(on);
    await on.decide(approval, "approve");
    const text = await whole;
    const events = [...text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, name, data]) => [
      name,
      JSON.parse(data ?? ""),
    ]);
    const stdout = events
      .filter(([name]) => name === "stdout")
      .map(([, { text: part }]) => part)
      .join("");
    expect(stdout).toBe((await on.read(id)).stdout);
    expect(events.filter(([name]) => name === "approval").map(([, data]) => data)).toEqual([
      { id: approval, state: "pending" },
      { id: approval, state: "approved" },
    ]);
    expect(events.filter(([name]) => name === "call")).toHaveLength(3);
    expect(events.filter(([name]) => name === "state").map(([, { state }]) => state)).toEqual(
      expect.arrayContaining(["running", "paused", "idle"]),
    );
  });
});

describe("when the server has ended meanwhile", () => {
  test("paused processes wait for the next server, and continue there", async () => {
    const first = await start();
    const id = await first.submit(SCRIPT);
    const other = await first.submit('call shop buy {"n":1}');
    const [approval = ""] = await first.paused(id);
    const [denied = ""] = await first.paused(other);
    await stop(first);
    const second = await start();
    expect(await second.read(id)).toMatchObject({ state: "paused", approvals: [approval] });
    await second.decide(approval, "approve");
    await second.decide(denied, "deny");
    const record = await second.read(id, "?wait=10000");
    expect(record.exitState).toBe("success");
    expect(second.made()).toEqual(['delete_item {"name":"a"}', 'list {"page":2}']);
    expect((await second.read(other, "?wait=10000")).stdout).toContain("approval_denied");
  });

  test("a run that had continued is replayed with the same replies", async () => {
    const first = await start();
    const id = await first.submit(`${SCRIPT}\ncall shop free {"n":1}\ngate later\nprint end`);
    const [approval = ""] = await first.paused(id);
    await first.decide(approval, "approve");
    await until("it waits at the gate", async () => (await first.read(id)).stdout.includes('{"n":1}'));
    expect(first.made()).toHaveLength(4);
    await stop(first);
    const second = await start();
    second.server.environment.open("later");
    const record = await second.read(id, "?wait=10000");
    expect(record.exitState).toBe("success");
    expect(record.stdout).toContain("end");
    expect(second.made()).toEqual([]);
  });

  test("an interrupted destructive call is not repeated: the run ends as interrupted_call", async () => {
    const hang = { destructive: true, invoke: () => new Promise(() => {}) };
    const first = await start({ functions: { ask_wipe: hang } });
    const id = await first.submit('call shop ask_wipe {"disk":1}');
    const [approval = ""] = await first.paused(id);
    await first.decide(approval, "approve");
    await until("the adapter is at work", () => first.made().length === 1);
    await stop(first);
    const second = await start({ functions: { ask_wipe: hang } });
    const record = await second.read(id, "?wait=10000");
    expect(record).toMatchObject({ exitState: "failed", reason: "interrupted_call" });
    expect(record.error).toContain("shop.ask_wipe");
    expect(second.made()).toEqual([]);
  });

  test("an interrupted harmless call is made again", async () => {
    const first = await start({ functions: { ask_slow: { invoke: () => new Promise(() => {}) } } });
    const id = await first.submit('call shop ask_slow {"n":1}');
    const [approval = ""] = await first.paused(id);
    await first.decide(approval, "approve");
    await until("the adapter is at work", () => first.made().length === 1);
    await stop(first);
    const second = await start({ functions: { ask_slow: {} } });
    expect(await second.read(id, "?wait=10000")).toMatchObject({ exitState: "success" });
    expect(second.made()).toEqual(['ask_slow {"n":1}']);
  });

  test("a run whose sealing key is missing is not replayed, and says why", async () => {
    const first = await start();
    const id = await first.submit(SCRIPT);
    const [approval = ""] = await first.paused(id);
    await stop(first);
    const other = Buffer.from(
      "9f31c7be2408d56a1bc07a93ee6422d8417fe0ac3b9d6482c5f70e19a8d35b61",
      "hex",
    ).toString("base64");
    const second = await start({ environment: { CYRNEL_SECRETS_KEY: other } });
    await second.decide(approval, "approve");
    const record = await until("it is over", async () => {
      const now = await second.read(id);
      return now.state === "idle" && now;
    });
    expect(record).toMatchObject({ exitState: "failed", reason: "interrupted" });
    expect(record.error).toContain("CYRNEL_SECRETS_PREVIOUS_KEYS");
    expect(second.made()).toEqual([]);
  });
});
