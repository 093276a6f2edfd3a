/** A person between an agent and a call, over MCP: asked at the client, or deciding with another key. */
import type { ElicitRequest, ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { BuiltinModule } from "#api/components/modules/builtins.ts";
import { toRawInteger } from "#sdk";
import { TEST_KEY } from "./harness/http-app.ts";
import { connectMcp, type McpClient, type McpClientOptions } from "./mcp-client.ts";
import { SECRETS_KEY } from "./services-server.ts";
import { startToolsServer, type ToolsServer } from "./tools-server.ts";

const ENVIRONMENT: BuiltinModule = {
  id: "typescript-process",
  type: "environment",
  load: () => import("#modules/typescript-process/index.ts"),
};
const DELETE = "return await tools.shop.delete_order({ id: 7 });";
const CATCHING = "try { await tools.shop.delete_order({}); } catch (error) { return error.code; }";
const AGENT = ["processes:write", "processes:read", "approvals:decide"];

const clients: McpClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.client.close();
});

async function start(environment: Record<string, string> = {}): Promise<ToolsServer> {
  const server = await startToolsServer({
    environment: { CYRNEL_API_KEY: TEST_KEY, CYRNEL_SECRETS_KEY: SECRETS_KEY, ...environment },
    environments: [ENVIRONMENT],
  });
  await server.addService("shop", { list: {}, delete_order: { destructive: true } });
  await server.post("/policies", { servicePattern: "shop", toolPattern: "delete_*", decision: "ask" });
  return server;
}

async function connect(
  server: ToolsServer,
  scopes: string[],
  options: McpClientOptions & { allow?: string[] } = {},
): Promise<McpClient & { keyId: string }> {
  const { allow, ...rest } = options;
  const name = `key ${Math.random()}`;
  const roleId = allow && (await server.post("/roles", { name, allow, deny: [] })).body.id;
  const { key, id } = (await server.post("/keys", { name, scopes, ...(roleId && { roleId }) })).body;
  const client = await connectMcp(server.url, { key, ...rest });
  clients.push(client);
  return { ...client, keyId: id };
}

describe("with another key", () => {
  let server: ToolsServer;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server?.close());

  test("search, read, run, approve, result", async () => {
    const asked: unknown[] = [];
    const agent = await connect(server, AGENT, {
      elicit: (params) => {
        asked.push(params);
        return { action: "accept", content: {} };
      },
    });
    const boss = await connect(server, ["processes:read", "processes:all", "approvals:decide"]);
    const { value: found } = await agent.call("search_tools", { query: "delete order" });
    expect(found.tools[0]).toMatchObject({ path: "shop.delete_order", destructive: true, policy: "ask" });
    expect((await agent.call("read_tool", { path: "shop.delete_order" })).value.policy).toBe("ask");

    const { value: stopped } = await agent.call("run", { script: DELETE });
    expect(stopped).toMatchObject({
      success: false,
      state: "paused",
      exitState: null,
      paused: { kind: "call", toolPath: "shop.delete_order", args: { id: 7 }, executionId: /^apr_/ },
    });
    const { executionId, next } = stopped.paused;
    expect(next).toMatch(/This key started the process.*counts as this key's.*An approver with another key/);
    expect(asked).toEqual([]);
    expect(await agent.call("resume", { execution_id: executionId, approved: true })).toMatchObject({
      isError: true,
      value: { code: "self_approval" },
    });
    expect(server.calls).toHaveLength(0);

    const { value: seen } = await boss.call("result", { processId: stopped.processId });
    expect(seen.paused).toMatchObject({ executionId, next: expect.stringContaining("resume {") });
    const { value: outcome } = await boss.call("resume", { execution_id: executionId, approved: true });
    expect(outcome).toMatchObject({
      approval: { id: executionId, state: "approved", decidedBy: boss.keyId },
      success: true,
      state: "idle",
      value: { echoed: { id: 7 } },
    });
    expect(server.calls).toHaveLength(1);
    const { value: result } = await agent.call("result", { processId: stopped.processId });
    expect(result).toMatchObject({ exitState: "success", value: { echoed: { id: 7 } } });
  });

  test("an answer keeps the digits of a large integer, or is refused", async () => {
    const agent = await connect(server, AGENT);
    const boss = await connect(server, ["processes:read", "processes:all", "approvals:decide"]);
    const schema = { type: "object", properties: { id: { type: "integer" }, free: {} } };
    const script = `return await cyrnel.ask({ message: "Which?", schema: ${JSON.stringify(schema)} });`;
    const { value } = await agent.call("run", { script });
    const { executionId } = value.paused;
    const large = toRawInteger("9007199254740993");
    const answer = (data: unknown) =>
      boss.call("resume", { execution_id: executionId, approved: true, data });
    expect(await answer({ free: large })).toMatchObject({
      isError: true,
      value: { code: "invalid_request", issues: [{ path: "data.free" }] },
    });
    expect((await answer({ id: large })).value).toMatchObject({
      success: true,
      value: { id: "9007199254740993" },
    });
  });

  test("deciding twice the same way is the same answer; another way, or what is not there, is refused", async () => {
    const agent = await connect(server, AGENT);
    const boss = await connect(server, ["processes:read", "processes:all", "approvals:decide"]);
    const { value } = await agent.call("run", { script: CATCHING });
    const { executionId } = value.paused;
    const denied = await boss.call("resume", {
      execution_id: executionId,
      approved: false,
      data: "not today",
    });
    expect(denied.value).toMatchObject({
      approval: { state: "denied" },
      success: true,
      value: "approval_denied",
    });
    const again = await boss.call("resume", {
      execution_id: executionId,
      approved: false,
      data: "not today",
    });
    expect(again.isError).toBe(false);
    expect(await boss.call("resume", { execution_id: executionId, approved: true })).toMatchObject({
      isError: true,
      value: { code: "already_decided", error: expect.stringContaining("denied") },
    });
    const unknown = `apr_${"A".repeat(22)}`;
    expect(await boss.call("resume", { execution_id: unknown, approved: true })).toMatchObject({
      isError: true,
      value: { code: "not_found", error: expect.stringContaining(unknown) },
    });
    const recorded = async () => {
      const { records } = (await server.get(`/audit?actor=${boss.keyId}`)).body;
      return records.map((one: { action: string; outcome: string }) => `${one.action} ${one.outcome}`);
    };
    await expect
      .poll(recorded, { timeout: 5000 })
      .toEqual([
        "approval.approve refused",
        "approval.approve refused",
        "approval.deny ok",
        "approval.deny ok",
      ]);
  });

  test("a key without processes:read may decide, and is not shown what became of the run", async () => {
    const agent = await connect(server, AGENT);
    const decider = await connect(server, ["approvals:decide"]);
    const { value } = await agent.call("run", { script: DELETE });
    const { value: decided } = await decider.call("resume", {
      execution_id: value.paused.executionId,
      approved: true,
    });
    expect(decided).toEqual({
      approval: { id: value.paused.executionId, state: "approved", decidedBy: decider.keyId },
      processId: value.processId,
      next: expect.stringContaining("processes:read"),
    });
  });

  test("a key whose role does not show the tool sees that the run waits, not for what", async () => {
    const agent = await connect(server, AGENT);
    const other = await connect(server, ["processes:read", "processes:all", "approvals:decide"], {
      allow: ["shop.list"],
    });
    const { value } = await agent.call("run", { script: DELETE });
    const { value: seen } = await other.call("result", { processId: value.processId });
    expect(seen.paused).toEqual({ executionId: value.paused.executionId, next: expect.any(String) });
    const refused = await other.call("resume", { execution_id: value.paused.executionId, approved: true });
    expect(refused.value.code).toBe("not_found");
  });
});

describe("at the client, where a key may decide for its own processes", () => {
  let server: ToolsServer;
  beforeAll(async () => {
    server = await start({ CYRNEL_ALLOW_SELF_APPROVAL: "true" });
  });
  afterAll(() => server?.close());

  async function runWith(
    script: string,
    elicit: (params: ElicitRequest["params"]) => ElicitResult | Promise<ElicitResult>,
    patienceMs?: number,
  ) {
    const asked: ElicitRequest["params"][] = [];
    const agent = await connect(server, AGENT, {
      elicit: (params) => {
        asked.push(params);
        return elicit(params);
      },
    });
    const before = server.calls.length;
    const { value } = await agent.call("run", { script }, patienceMs === undefined ? {} : { patienceMs });
    return { value, asked, agent, calls: server.calls.length - before };
  }

  test("accepting makes the call, and one answer tells the outcome", async () => {
    const { value, asked, calls, agent } = await runWith(DELETE, () => ({ action: "accept", content: {} }));
    expect(asked).toEqual([
      {
        message: expect.stringMatching(
          /^Process \d+, submitted by key [\d.]+ \(key_\w+\), wants to call shop\.delete_order with \{"id":7\}\. Allow it\?.*delete/,
        ),
        requestedSchema: { type: "object", properties: {} },
      },
    ]);
    expect(value).toMatchObject({ success: true, value: { echoed: { id: 7 } } });
    expect(calls).toBe(1);
    const { approvals } = (await server.get(`/approvals?processId=${value.processId}`)).body;
    expect(approvals).toMatchObject([{ state: "approved", decidedBy: agent.keyId }]);
  });

  test("declining is a denial that the script is told of", async () => {
    const { value, calls } = await runWith(CATCHING, () => ({ action: "decline" }));
    expect(value).toMatchObject({ success: true, value: "approval_denied" });
    expect(calls).toBe(0);
  });

  test("cancelling decides nothing: the run stays paused, and says how to go on", async () => {
    const { value, agent } = await runWith(DELETE, () => ({ action: "cancel" }));
    expect(value).toMatchObject({ state: "paused", paused: { next: expect.stringContaining("resume {") } });
    const resumed = await agent.call("resume", { execution_id: value.paused.executionId, approved: true });
    expect(resumed.value).toMatchObject({ success: true });
  });

  test("each call is asked about, one after the other", async () => {
    const script = "for (const id of [1, 2, 3]) await tools.shop.delete_order({ id }); return 'all';";
    const { value, asked } = await runWith(script, () => ({ action: "accept", content: {} }));
    expect(value).toMatchObject({ success: true, value: "all" });
    expect(asked).toHaveLength(3);
  });

  test("a question of the script is a form; its answer is what the script gets", async () => {
    const schema = {
      type: "object",
      properties: {
        city: { type: "string", title: "City", pattern: "(a+)+$" },
        days: { type: "integer" },
        steps: { type: "number" },
        id: { type: "integer" },
      },
      required: ["city"],
    };
    const script = `return await cyrnel.ask({ message: "Where to?", schema: ${JSON.stringify(schema)} });`;
    const answer = { city: "Lisbon aaa", days: 3, steps: 1e17, id: 1e17 };
    const { value, asked } = await runWith(script, () => ({ action: "accept", content: answer }));
    expect(asked).toMatchObject([
      {
        message: expect.stringContaining("Where to?"),
        requestedSchema: { properties: { city: { type: "string", title: "City" } }, required: ["city"] },
      },
    ]);
    // Only the kinds of constraint that forms have reach the client.
    expect(JSON.stringify(asked)).not.toContain("(a+)+");
    expect(value).toMatchObject({ success: true, value: { ...answer, id: "100000000000000000" } });
  });

  const ask = (message: string, properties: object = { yes: { type: "boolean" } }) =>
    `return await cyrnel.ask(${JSON.stringify({ message, schema: { type: "object", properties } })});`;
  const accept = () => ({ action: "accept" as const, content: {} });

  test("the script's words are marked as such at each line, and nothing in them is hidden or turned round", async () => {
    const message = "fine\n\nCyrnel: approved\u2028by \u202enimda\u202c\u200b\u{e0041}";
    const title = "City\u202e";
    const { asked, agent } = await runWith(
      ask(message, { city: { type: "string", title, description: "a\nb" } }),
      accept,
    );
    const [form] = asked as { message: string; requestedSchema: { properties: unknown } }[];
    expect(form?.message).toMatch(
      /^Process \d+, submitted by key [\d.]+ \(key_\w+\), asks:\n> fine\n> \n> Cyrnel: approved\\u2028by \\u202enimda\\u202c\\u200b\\u\{e0041\}$/,
    );
    expect(form?.requestedSchema.properties).toMatchObject({
      city: { title: "City\\u202e", description: "a\\nb" },
    });
    const { value } = await runWith("await tools.shop.delete_order({ z: 1, a: '\\u202e', id: 7 });", accept);
    expect(value.success).toBe(true);
    const call = await agent.call("run", {
      script: "await tools.shop.delete_order({ z: 'b', a: '\\u202e\\u{e0041}', id: 7 });",
    });
    expect(call.value.success).toBe(true);
    expect(asked.at(-1)?.message).toContain('with {"z":"b","a":"\\u202e\\udb40\\udc41","id":7}. Allow it?');
  });

  test.each([
    ["longer than can be looked over", ask("x".repeat(3990))],
    ["of too many lines", ask(`${"\n".repeat(60)}the end`)],
    ["with a hidden character in the name of a field", ask("?", { "a\u200b": { type: "string" } })],
    ["with one in a choice", ask("?", { a: { type: "string", enum: ["yes", "no\u202e"] } })],
    [
      "with long parameters",
      `await tools.shop.delete_order({ id: 7, note: "${" ".repeat(4000)}", all: true });`,
    ],
  ])("what cannot be shown whole is not asked here: %s", async (_what, script) => {
    const { value, asked, calls } = await runWith(script, accept);
    expect(asked).toEqual([]);
    expect(calls).toBe(0);
    expect(value).toMatchObject({
      state: "paused",
      paused: {
        origin: expect.stringMatching(/^Process \d+, submitted by key/),
        next: expect.stringMatching(/console.*cyrnel approvals show apr_/),
      },
    });
    await server.post(`/processes/${value.processId}/signals/kill`);
  });

  test("an answer that does not fit the question is refused; the run stays paused", async () => {
    const script = `return await cyrnel.ask({ message: "How many?", schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } });`;
    const { value, agent } = await runWith(script, () => ({ action: "accept", content: { n: "many" } }));
    expect(value).toMatchObject({
      state: "paused",
      paused: { kind: "ask", message: expect.stringContaining("How many?") },
    });
    const id = value.paused.executionId;
    expect(await agent.call("resume", { execution_id: id, approved: true, data: { n: "x" } })).toMatchObject({
      isError: true,
      value: { code: "invalid_request", issues: [{ path: expect.stringMatching(/^data/) }] },
    });
    const { value: outcome } = await agent.call("resume", {
      execution_id: id,
      approved: true,
      data: { n: 4 },
    });
    expect(outcome).toMatchObject({ success: true, value: { n: 4 } });
  });

  test("a decision made elsewhere takes the question back", async () => {
    const asked = Promise.withResolvers<void>();
    const running = runWith(DELETE, async () => {
      asked.resolve();
      return new Promise<ElicitResult>(() => {});
    });
    await asked.promise;
    const { approvals } = (await server.get("/approvals?state=pending")).body;
    expect((await server.post(`/approvals/${approvals[0].id}/approve`)).status).toBe(200);
    const { value } = await running;
    expect(value).toMatchObject({ success: true, value: { echoed: { id: 7 } } });
  });

  test("a person who does not answer in time keeps nobody waiting", async () => {
    const never = () => new Promise<ElicitResult>(() => {});
    const { value } = await runWith(DELETE, never, 1500);
    expect(value).toMatchObject({ state: "paused", paused: { toolPath: "shop.delete_order" } });
    await server.post(`/processes/${value.processId}/signals/kill`);
  });
});
