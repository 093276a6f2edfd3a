/** Approvals of runs whose child is still there: asked for, decided once, by somebody else, and what the script is told. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApprovalsServer, startApprovalsServer } from "./server.ts";

let on: ApprovalsServer;
beforeAll(async () => {
  on = await startApprovalsServer();
});
afterAll(() => on[Symbol.asyncDispose]());

describe("a call that a person is to decide", () => {
  test("waits, is listed, and is made once when approved; the run continues in its child", async () => {
    const id = await on.submit('print before\ncall shop delete_item {"name":"a1"}\nprint after');
    const [approval = ""] = await on.paused(id);
    expect(on.made()).toEqual([]);
    const seen = await on.boss.send("GET", `/approvals/${approval}`);
    expect(seen.body).toMatchObject({
      id: approval,
      processId: id,
      kind: "call",
      serviceId: "shop",
      toolId: "delete_item",
      destructive: true,
      state: "pending",
      parameters: { name: "a1" },
      requestedBy: on.agent.id,
      decidedAt: null,
    });
    expect((await on.boss.send("GET", `/approvals?processId=${id}`)).body.approvals).toHaveLength(1);
    const decided = await on.decide(approval, "approve");
    expect([decided.status, decided.body.state, decided.body.decidedBy]).toEqual([
      200,
      "approved",
      on.boss.id,
    ]);
    const record = await on.read(id, "?wait=10000");
    expect(record).toMatchObject({ exitState: "success", approvals: [] });
    expect(record.stdout).toBe('before\n{"echoed":{"name":"a1"}}\nafter\n');
    expect(on.made()).toEqual(['delete_item {"name":"a1"}']);
    expect((await on.server.get(`/processes/${id}/calls`)).body.calls).toMatchObject([
      { toolId: "delete_item", status: "ok" },
    ]);
    expect((await on.boss.send("GET", `/approvals/${approval}`)).body.usedAt).not.toBeNull();
  });

  test("when denied, rejects with the reason, which the script can catch; the adapter is not called", async () => {
    const before = on.made().length;
    const id = await on.submit('call shop delete_item {"name":"b"}\nprint went on');
    const [approval = ""] = await on.paused(id);
    expect((await on.decide(approval, "deny", { reason: "not today" })).status).toBe(200);
    const record = await on.read(id, "?wait=10000");
    expect(record.exitState).toBe("success");
    expect(record.stdout).toMatch(/^ToolError approval_denied: apr_.*not today.*\nwent on\n$/);
    expect(on.made()).toHaveLength(before);
    const [call] = (await on.server.get(`/processes/${id}/calls`)).body.calls;
    expect(call.status).toBe("denied");
  });

  test("ends the run as approval_denied when the script does not catch it", async () => {
    const id = await on.submit('must-call shop delete_item {"name":"c"}\nprint no');
    const [approval = ""] = await on.paused(id);
    await on.decide(approval, "deny");
    expect(await on.read(id, "?wait=10000")).toMatchObject({
      exitState: "failed",
      reason: "approval_denied",
      stdout: "",
    });
  });

  test("several at once are decided separately: the run continues after the first and waits for the second", async () => {
    const id = await on.submit(
      'together [["shop","delete_item",{"n":1}],["shop","buy",{"n":2}],["shop","list",{}]]',
    );
    const ids = await on.paused(id, 2);
    // Which of two that are made at once is stored first is chance.
    const { body } = await on.server.get(`/approvals/${ids[0]}`);
    const [first = "", second = ""] = body.toolId === "delete_item" ? ids : ids.toReversed();
    await on.decide(second, "approve");
    expect(await on.paused(id, 1)).toEqual([first]);
    await on.decide(first, "deny");
    const record = await on.read(id, "?wait=10000");
    expect(record.exitState).toBe("success");
    expect(record.stdout).toContain("approval_denied");
    expect(record.stdout).toContain('{"echoed":{"n":2}}');
    expect(on.made().filter((call) => call.startsWith("buy"))).toHaveLength(1);
  });

  test("may wait longer than the run's timeout: neither clock advances", async () => {
    const id = await on.submit('call shop delete_item {"name":"slow"}');
    const [approval = ""] = await on.paused(id);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    await on.decide(approval, "approve");
    const record = await on.read(id, "?wait=10000");
    expect(record.exitState).toBe("success");
    expect(record.usage.wallMs).toBeLessThan(2500);
  });

  test("frees its slot", async () => {
    on.server.environment.slots = 1;
    const id = await on.submit('call shop delete_item {"name":"slot"}');
    const [approval = ""] = await on.paused(id);
    const other = await on.submit("print other");
    expect((await on.read(other, "?wait=10000")).exitState).toBe("success");
    await on.decide(approval, "approve");
    expect((await on.read(id, "?wait=10000")).exitState).toBe("success");
    on.server.environment.slots = 4;
  });

  test("ends when the process is killed, and cannot be decided any more", async () => {
    const id = await on.submit('call shop delete_item {"name":"killed"}');
    const [approval = ""] = await on.paused(id);
    expect((await on.agent.send("POST", `/processes/${id}/signals/kill`)).status).toBe(200);
    expect(await on.read(id, "?wait=10000")).toMatchObject({
      exitState: "canceled",
      reason: "killed",
      approvals: [],
    });
    const late = await on.decide(approval, "approve");
    expect([late.status, late.body.code]).toEqual([409, "approval_expired"]);
    expect(on.made()).not.toContain('delete_item {"name":"killed"}');
  });
});

describe("who decides, and how often", () => {
  test("the submitting key, a key without the scope, and unknown ids are refused", async () => {
    const both = await on.makeKey(["processes:write", "processes:read", "approvals:decide"]);
    const { id } = (await both.send("POST", "/processes", { code: 'call shop delete_item {"name":"own"}' }))
      .body;
    const [approval = ""] = await on.paused(id);
    const own = await both.send("POST", `/approvals/${approval}/approve`, {});
    expect([own.status, own.body.code]).toEqual([403, "self_approval"]);
    expect((await both.send("POST", `/approvals/${approval}/deny`, {})).body.code).toBe("self_approval");
    expect((await on.agent.send("POST", `/approvals/${approval}/approve`, {})).body.code).toBe("forbidden");
    expect((await on.agent.send("GET", "/approvals")).body.code).toBe("forbidden");
    expect((await on.decide(`apr_${"a".repeat(22)}`, "approve")).status).toBe(404);
    expect((await on.decide("1", "approve")).status).toBe(400);
    expect((await on.decide(approval, "deny")).status).toBe(200);
    await on.read(id, "?wait=10000");
  });

  test("counts once: the same key may repeat it, others are told who decided first", async () => {
    const id = await on.submit('call shop delete_item {"name":"once"}');
    const [approval = ""] = await on.paused(id);
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, () => on.decide(approval, "approve")),
      ...Array.from({ length: 5 }, () => on.server.post(`/approvals/${approval}/deny`, {})),
    ]);
    const codes = answers.map(({ status }) => status);
    const winner = (await on.boss.send("GET", `/approvals/${approval}`)).body;
    expect(codes.slice(0, 5)).toEqual(Array(5).fill(winner.state === "approved" ? 200 : 409));
    expect(codes.slice(5)).toEqual(Array(5).fill(winner.state === "denied" ? 200 : 409));
    const other = answers.find(({ status }) => status === 409);
    expect(other?.body.code).toBe("already_decided");
    expect(other?.body.error).toContain(winner.decidedBy);
    await on.read(id, "?wait=10000");
    expect(on.made().filter((call) => call.includes('"once"')).length).toBeLessThanOrEqual(1);
    const later = await on.decide(approval, winner.state === "approved" ? "deny" : "approve");
    expect(later.body.code).toBe("already_decided");
  });

  test("a role that hides the tool hides its approvals", async () => {
    const role = (await on.server.post("/roles", { name: "blind", allow: ["other.*"] })).body.id;
    const blind = await on.makeKey(["approvals:decide"], role);
    const id = await on.submit('call shop delete_item {"name":"hidden"}');
    const [approval = ""] = await on.paused(id);
    expect((await blind.send("GET", "/approvals")).body).toEqual({ approvals: [], nextCursor: null });
    expect((await blind.send("POST", `/approvals/${approval}/approve`, {})).status).toBe(404);
    await on.decide(approval, "deny");
  });
});

describe("remember", () => {
  test("for the process: the tool is not asked about again there, but elsewhere it is; the rule is listed and expires", async () => {
    const id = await on.submit('call shop buy {"n":1}\ncall shop buy {"n":2}\ncall shop buy {"n":3}');
    const [approval = ""] = await on.paused(id);
    await on.decide(approval, "approve", { remember: { for: "process", minutes: 5 } });
    expect((await on.read(id, "?wait=10000")).exitState).toBe("success");
    const rules = (await on.server.get("/policies")).body.policies;
    expect(rules[0]).toMatchObject({
      processId: id,
      decision: "allow",
      servicePattern: "shop",
      toolPattern: "buy",
    });
    expect(rules[0].expiresAt).not.toBeNull();
    const other = await on.submit('call shop buy {"n":4}');
    const [again = ""] = await on.paused(other);
    await on.decide(again, "deny");
    await on.server.request("DELETE", `/policies/${rules[0].id}`);
  });

  test("not by a second decision, and not for a question", async () => {
    const id = await on.submit('call shop buy {"n":5}');
    const [approval = ""] = await on.paused(id);
    await on.decide(approval, "deny");
    await on.decide(approval, "approve", { remember: { for: "tool", minutes: 5 } });
    expect(
      (await on.server.get("/policies")).body.policies.some(
        (p: { decision: string }) => p.decision === "allow",
      ),
    ).toBe(false);
  });
});

describe("a script that does not give up", () => {
  test("is denied the same call without asking anybody again", async () => {
    const call = 'call shop delete_item {"name":"again"}';
    const id = await on.submit(Array(200).fill(call).join("\n"));
    const [approval = ""] = await on.paused(id);
    await on.decide(approval, "deny");
    const record = await on.read(id, "?wait=20000");
    expect(record.stdout.match(/approval_denied/g)).toHaveLength(200);
    expect((await on.boss.send("GET", `/approvals?processId=${id}`)).body.approvals).toHaveLength(1);
  });

  test("has a limited number of approvals, whatever it changes about its calls", async () => {
    const calls = Array.from({ length: 150 }, (_, n) => ["shop", "delete_item", { n }]);
    const id = await on.submit(
      `together ${JSON.stringify(calls.slice(0, 60))}\ntogether ${JSON.stringify(calls.slice(60, 120))}`,
    );
    for (const approval of await on.paused(id, 60)) await on.decide(approval, "deny");
    for (const approval of await on.paused(id, 40)) await on.decide(approval, "deny");
    const record = await on.read(id, "?wait=20000");
    expect(record.stdout.match(/approval_denied/g)).toHaveLength(100);
    expect(record.stdout.match(/too_many_approvals/g)).toHaveLength(20);
  }, 60_000);
});

describe("cyrnel.ask", () => {
  const schema = {
    type: "object",
    properties: { amount: { type: "integer", minimum: 1 } },
    required: ["amount"],
  };
  const question = JSON.stringify({ message: "How much?", schema });

  test("gives the script the answer, if it is valid", async () => {
    const id = await on.submit(`ask ${question}`);
    const [approval = ""] = await on.paused(id);
    const seen = (await on.boss.send("GET", `/approvals/${approval}`)).body;
    expect(seen).toMatchObject({
      kind: "ask",
      message: "How much?",
      schema,
      parameters: null,
      serviceId: null,
    });
    for (const data of [undefined, null, {}, { amount: "5" }, { amount: 0 }, []]) {
      const refused = await on.decide(approval, "approve", data === undefined ? {} : { data });
      expect([refused.status, refused.body.code]).toEqual([400, "invalid_request"]);
    }
    const remembered = await on.decide(approval, "approve", {
      data: { amount: 1 },
      remember: { for: "tool", minutes: 1 },
    });
    expect(remembered.status).toBe(400);
    expect((await on.read(id)).state).toBe("paused");
    expect((await on.decide(approval, "approve", { data: { amount: 7 } })).status).toBe(200);
    expect((await on.read(id, "?wait=10000")).stdout).toBe('{"amount":7}\n');
    expect((await on.decide(approval, "approve", { data: { amount: 7 } })).status).toBe(200);
    expect((await on.decide(approval, "approve", { data: { amount: 8 } })).body.code).toBe("already_decided");
  });

  test("without a schema accepts any answer; when denied, it rejects", async () => {
    const id = await on.submit("ask Sure?\nask Really?");
    const [first = ""] = await on.paused(id);
    await on.decide(first, "approve", { data: "yes" });
    const [second = ""] = await on.paused(id);
    expect(second).not.toBe(first);
    await on.decide(second, "deny", { reason: "no" });
    const record = await on.read(id, "?wait=10000");
    expect(record.stdout).toMatch(/^"yes"\napr_.*the question was denied \(no\)/);
  });

  test("answers are not in the audit trail, and neither they nor parameters are stored in plain text", async () => {
    const id = await on.submit('ask Password?\ncall shop delete_item {"name":"sealed-parameter"}');
    const [first = ""] = await on.paused(id);
    await on.decide(first, "approve", { data: "the-answer-4711" });
    const [second = ""] = await on.paused(id);
    const rows = await on.server.pool`
      select (select json_agg(s) from secrets s)::text as secrets, (select json_agg(a) from approvals a)::text as approvals,
        (select json_agg(l) from audit_log l where action like 'approval%')::text as audit,
        (select json_agg(c) from process_checkpoints c)::text as checkpoints`;
    const text = JSON.stringify(rows);
    const found = ["the-answer-4711", "sealed-parameter"].filter((secret) => text.includes(secret));
    expect(found).toEqual([]);
    await on.decide(second, "deny");
    const [entry] = (await on.server.get("/audit?action=approval.deny&limit=1")).body.records;
    expect(entry).toMatchObject({
      actor: { id: on.boss.id },
      object: { kind: "approval", id: second },
      outcome: "ok",
    });
  });

  test.each([
    ["{}"],
    ['{"message":""}'],
    ['{"message":"x","schema":"y"}'],
    [JSON.stringify({ message: "x".repeat(5000) })],
  ])("refuses %s", async (text) => {
    const id = await on.submit(`ask ${text.slice(0, 6000)}`);
    const record = await on.read(id, "?wait=10000");
    expect(record.stdout).toContain("cyrnel.ask");
    expect(record.exitState).toBe("success");
  });
});
