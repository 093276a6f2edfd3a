import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MAX_POLICIES } from "#api/access/policies/model.ts";
import { type GovernanceServer, insertTools, startGovernanceServer } from "./governance-server.ts";
import { until } from "./processes-server.ts";

let governance: GovernanceServer;
beforeAll(async () => {
  governance = await startGovernanceServer();
  await insertTools(governance.server, [
    { service: "github", tool: "read_issue" },
    { service: "github", tool: "delete_repo", destructive: true },
    { service: "github", tool: "delete_issue", destructive: true },
    { service: "mail", tool: "send", destructive: true },
  ]);
});
afterAll(() => governance.server.close());
beforeEach(async () => {
  await governance.server.pool`delete from policies`;
});

type Body = Record<string, unknown>;
const post = (json: Body) => governance.server.post("/policies", json);
const send = (method: string, path: string, json?: unknown) =>
  governance.server.request(method, path, { json });
const list = async () => (await governance.server.get("/policies?limit=200")).body;
async function add(
  servicePattern: string,
  toolPattern: string,
  decision: string,
  more: Body = {},
): Promise<string> {
  const answer = await post({ servicePattern, toolPattern, decision, ...more });
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
  return answer.body.id;
}
function decide(path: string, more: { destructive?: boolean; keyId?: string; processId?: number } = {}) {
  const [serviceId = "", toolId = ""] = path.split(".");
  const { destructive = false, ...caller } = more;
  return governance.server.server.governance.gate.decide(caller, { serviceId, toolId, destructive });
}

describe("rules", () => {
  test("the first that matches decides; order, change and deletion count at once", async () => {
    const block = await add("github", "delete_*", "block");
    const ask = await add("*", "*", "ask");
    expect(await decide("github.delete_repo")).toEqual({ decision: "block", policyId: block });
    expect(await decide("mail.send")).toEqual({ decision: "ask", policyId: ask });

    const ordered = await send("PUT", "/policies/order", { orderedIds: [ask, block] });
    expect([ordered.status, ordered.body]).toEqual([200, { orderedIds: [ask, block] }]);
    expect((await list()).policies.map(({ id }: { id: string }) => id)).toEqual([ask, block]);
    expect(await decide("github.delete_repo")).toEqual({ decision: "ask", policyId: ask });

    const changed = await send("PATCH", `/policies/${ask}`, { servicePattern: "mail", decision: "block" });
    expect(changed.body).toMatchObject({
      servicePattern: "mail",
      toolPattern: "*",
      decision: "block",
      affected: 1,
    });
    expect(await decide("github.delete_repo")).toEqual({ decision: "block", policyId: block });
    expect((await send("DELETE", `/policies/${block}`)).status).toBe(204);
    expect(await decide("github.delete_repo")).toEqual({ decision: "allow" });
    expect((await send("DELETE", `/policies/${block}`)).status).toBe(404);
    expect((await send("PATCH", `/policies/${block}`, { decision: "ask" })).status).toBe(404);
  });

  test("a rule for a role counts for its keys only, one for a process for its calls only", async () => {
    const role = (await governance.server.post("/roles", { name: "careful", allow: ["**"] })).body.id;
    const key = await governance.makeKey({ roleId: role });
    const free = await governance.makeKey();
    const asking = await add("*", "*", "ask", { roleId: role });
    expect((await decide("mail.send", { keyId: key.id })).decision).toBe("ask");
    expect((await decide("mail.send", { keyId: free.id })).decision).toBe("allow");
    expect((await decide("mail.send")).decision).toBe("allow");

    await governance.server.server.governance.policies.remember({
      serviceId: "mail",
      toolId: "send",
      approvalId: "apr_of_a_test",
      replaces: asking,
      keyIds: [key.id],
      roleId: role,
      processId: 7,
      expiresAt: new Date(Date.now() + 60_000),
    });
    expect((await decide("mail.send", { keyId: key.id, processId: 7 })).decision).toBe("allow");
    expect((await decide("mail.send", { keyId: key.id, processId: 8 })).decision).toBe("ask");
    // Asked before all others, and shown like any other.
    expect((await list()).policies[0]).toMatchObject({ processId: 7, decision: "allow" });
  });

  test("a rule with an expiry is over then, without anybody's doing", async () => {
    const id = await add("mail", "send", "block", { expiresAt: new Date(Date.now() + 700).toISOString() });
    expect(await decide("mail.send")).toEqual({ decision: "block", policyId: id });
    await until("the rule is over", async () => (await decide("mail.send")).decision === "allow");
    await governance.server.server.governance.policies.sweep();
    expect((await list()).policies).toEqual([]);
  });

  test("a call of a revoked key is blocked", async () => {
    const key = await governance.makeKey();
    await send("DELETE", `/keys/${key.id}`);
    expect(await decide("mail.send", { keyId: key.id })).toEqual({ decision: "block" });
  });

  test.each([
    ["allow", "allow", "allow"],
    ["ask-destructive", "allow", "ask"],
    ["ask", "ask", "ask"],
    ["block", "block", "block"],
  ])("without a match the default %s decides", async (policy, harmless, destructive) => {
    await using other = await startGovernanceServer({ environment: { CYRNEL_DEFAULT_POLICY: policy } });
    const { gate } = other.server.server.governance;
    const call = { serviceId: "a", toolId: "b" };
    expect(await gate.decide({}, { ...call, destructive: false })).toEqual({ decision: harmless });
    expect(await gate.decide({}, { ...call, destructive: true })).toEqual({ decision: destructive });
    expect((await other.server.get("/policies")).body.defaultPolicy).toBe(policy);
  });

  test("another server of the same database hears of a change", async () => {
    await using other = await startGovernanceServer({ database: governance.server.database });
    const id = await add("mail", "*", "block");
    const { gate } = other.server.server.governance;
    await until("the rule counts there", async () => {
      const { policyId } = await gate.decide({}, { serviceId: "mail", toolId: "send", destructive: false });
      return policyId === id;
    });
  });
});

describe("what the answer tells", () => {
  test("how many tools are affected; a rule that matches nothing is accepted with a hint", async () => {
    const made = await post({ servicePattern: "github", toolPattern: "delete_*", decision: "ask" });
    expect(made.body).toMatchObject({
      affected: 2,
      hints: [],
      roleId: null,
      processId: null,
      expiresAt: null,
    });
    const empty = await post({ servicePattern: "gitlab", toolPattern: "*", decision: "block" });
    expect([empty.status, empty.body.affected]).toEqual([201, 0]);
    expect(empty.body.hints).toEqual([expect.stringContaining("gitlab.* matches no installed tool")]);
  });

  test("that a rule behind a wider one decides nothing", async () => {
    await add("*", "*", "allow");
    const late = await post({ servicePattern: "mail", toolPattern: "send", decision: "block" });
    expect(late.body.hints).toEqual([expect.stringContaining("Earlier rules decide every tool")]);
  });

  test("a preview shows the tools and what would decide, for a role too", async () => {
    const role = (await governance.server.post("/roles", { name: "previewed", allow: ["**"] })).body.id;
    const ask = await add("github", "delete_*", "ask");
    const block = await add("github", "*", "block", { roleId: role });
    const preview = async (query: string) =>
      (await governance.server.get(`/policies/preview?servicePattern=github&toolPattern=*${query}`)).body;
    expect(await preview("")).toEqual({
      tools: [
        { serviceId: "github", id: "read_issue", destructive: false, decision: "allow", policyId: null },
        { serviceId: "github", id: "delete_repo", destructive: true, decision: "ask", policyId: ask },
        { serviceId: "github", id: "delete_issue", destructive: true, decision: "ask", policyId: ask },
      ],
      affected: 3,
      hints: [],
    });
    expect((await preview(`&roleId=${role}`)).tools[0]).toMatchObject({ decision: "block", policyId: block });
  });

  test("a preview hides what the asking key may not see", async () => {
    const role = (await governance.server.post("/roles", { name: "narrow", allow: ["mail.*"] })).body.id;
    const key = await governance.makeKey({ scopes: ["keys:admin"], roleId: role });
    const { body } = await key.get("/policies/preview?servicePattern=*&toolPattern=*");
    expect(body).toMatchObject({ affected: 1, tools: [{ serviceId: "mail", id: "send" }] });
  });
});

describe("what is refused", () => {
  test.each([
    [{ servicePattern: "a.b", toolPattern: "*", decision: "ask" }, "body.servicePattern"],
    [{ servicePattern: "*", toolPattern: "a*b*", decision: "ask" }, "body.toolPattern"],
    [{ servicePattern: "*", toolPattern: "", decision: "ask" }, "body.toolPattern"],
    [{ servicePattern: "*", toolPattern: "*", decision: "maybe" }, "body.decision"],
    [{ servicePattern: "*", toolPattern: "*" }, "body.decision"],
    [
      { servicePattern: "*", toolPattern: "*", decision: "ask", roleId: `role_${"0".repeat(20)}` },
      "body.roleId",
    ],
    [
      { servicePattern: "*", toolPattern: "*", decision: "ask", expiresAt: "2001-01-01T00:00:00Z" },
      "body.expiresAt",
    ],
    [{ servicePattern: "*", toolPattern: "*", decision: "allow", processId: 1 }, "body"],
  ])("%j", async (json, path) => {
    const answer = await post(json);
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    expect(answer.body.issues.map((issue: { path: string }) => issue.path)).toContain(path);
  });

  test("an order that does not name every rule exactly once changes nothing", async () => {
    const [a, b] = [await add("a", "*", "ask"), await add("b", "*", "ask")];
    const unknown = `pol_${"0".repeat(20)}`;
    for (const orderedIds of [[b], [b, unknown], [b, a, unknown], []]) {
      const answer = await send("PUT", "/policies/order", { orderedIds });
      expect([answer.status, answer.body.code]).toEqual([409, "policy_order_mismatch"]);
    }
    expect((await send("PUT", "/policies/order", { orderedIds: [a, a] })).status).toBe(400);
    expect((await list()).policies.map(({ id }: { id: string }) => id)).toEqual([a, b]);
  });

  test("rules that are added at the same time all get a place", async () => {
    await Promise.all(Array.from({ length: 20 }, (_, n) => add(`s${n}`, "*", "ask")));
    expect((await list()).policies).toHaveLength(20);
  });

  test("there are only so many, and with so many everything still answers", async () => {
    const { pool } = governance.server;
    await pool`
      insert into policies (id, position, service_pattern, tool_pattern, decision)
      select 'pol_' || lpad(to_hex(n), 20, '0'), n, 's' || n, '*', 'block' from generate_series(1, ${MAX_POLICIES}) as n`;
    const answer = await post({ servicePattern: "*", toolPattern: "*", decision: "ask" });
    expect([answer.status, answer.body.code]).toEqual([409, "limit_reached"]);
    await until("the rules count", async () => (await decide(`s${MAX_POLICIES}.x`)).decision === "block");
    expect((await decide("mail.send")).decision).toBe("allow");
    const rows = await pool<{ id: string }[]>`select id from policies order by position desc`;
    const orderedIds = rows.map(({ id }) => id);
    expect((await send("PUT", "/policies/order", { orderedIds })).status).toBe(200);
    expect((await list()).policies[0].id).toBe(orderedIds[0]);
  });
});
