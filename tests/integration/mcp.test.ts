/** What an agent does over MCP: the official client against a real server with the environment that people get. */
import { spawn } from "node:child_process";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { BuiltinModule } from "#api/components/modules/builtins.ts";
import { toRawInteger } from "#sdk";
import { TEST_KEY } from "./harness/http-app.ts";
import { connectMcp, connectWith, type McpClient } from "./mcp-client.ts";
import { startToolsServer, type ToolsServer } from "./tools-server.ts";

const STDIO = path.resolve(import.meta.dirname, "../../dist/server/mcp.js");
const ENVIRONMENT: BuiltinModule = {
  id: "typescript-process",
  type: "environment",
  load: () => import("#modules/typescript-process/index.ts"),
};

let server: ToolsServer;
const clients: McpClient[] = [];

async function connect(key = TEST_KEY): Promise<McpClient> {
  const client = await connectMcp(server.url, { key });
  clients.push(client);
  return client;
}

async function makeKey(scopes: string[], allow?: string[]): Promise<{ id: string; key: string }> {
  const name = `key ${Math.random()}`;
  const roleId = allow && (await server.post("/roles", { name, allow, deny: [] })).body.id;
  return (await server.post("/keys", { name, scopes, ...(roleId && { roleId }) })).body;
}

beforeAll(async () => {
  server = await startToolsServer({
    environment: { CYRNEL_API_KEY: TEST_KEY },
    environments: [ENVIRONMENT],
  });
  await server.addService("shop", {
    list_orders: {
      name: "List orders",
      description: "All orders of the shop.",
      inputSchema: {
        type: "object",
        properties: { page: { type: "integer", description: "From 1." } },
        required: ["page"],
      },
      outputSchema: { type: "object", properties: { orders: { type: "array", items: { type: "string" } } } },
      invoke: () => ({ orders: ["apples", "pears"] }),
    },
    delete_order: { name: "Delete an order", description: "For ever.", destructive: true },
  });
  await server.addService("vault", {
    open_safe: { name: "Open the safe", description: "All orders of gold." },
  });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.client.close();
});
afterAll(() => server?.close());

test("an agent searches, reads, runs a script and reads its result", async () => {
  const { call, client } = await connect();
  expect(client.getInstructions()).toContain("search_tools");
  const docs = await client.readResource({ uri: "cyrnel://environment/docs" });
  expect(docs.contents[0]).toMatchObject({
    mimeType: "text/markdown",
    text: expect.stringContaining("cyrnel"),
  });

  const { value: found } = await call("search_tools", { query: "list orders" });
  expect(found.tools[0]).toEqual({
    path: "shop.list_orders",
    name: "List orders",
    description: "All orders of the shop.",
    destructive: false,
    policy: "allow",
    signature: expect.stringMatching(/^\(params: \{ page: number.* => Promise<.+>$/),
  });
  expect(found).not.toHaveProperty("services");
  const { value: nothing } = await call("search_tools", { query: "zzqqxx" });
  expect(nothing).toMatchObject({ note: expect.stringContaining("Nothing was found") });
  expect(nothing.services).toContain("shop");
  expect(nothing.tools).not.toHaveLength(0);
  const { value: tool } = await call("read_tool", { path: found.tools[0].path });
  expect(tool).toMatchObject({
    path: "shop.list_orders",
    inputSchema: { required: ["page"] },
    destructive: false,
  });
  expect(tool.signature).toMatch(/^\(params: \{ page: number.* => Promise<.+>$/);
  expect(tool.example).toMatch(/^await tools\.shop\.list_orders\(\{\s+page: \d+\s+\}\)$/);
  // Each thing once: no text that repeats the description or the schemas.
  expect(JSON.stringify(tool).split("All orders of the shop.")).toHaveLength(2);
  expect(tool).not.toHaveProperty("docs");

  const { value: outcome, isError } = await call("run", {
    script: `
      const { orders } = await tools.shop.list_orders({ page: 1 });
      console.log("found", orders.length);
      console.error("careful");
      console.debug("all:\\n", orders.join());
      console.warn("few");
      console.info("done");
      cyrnel.output({ first: orders[0] });
      return { orders: orders.length };`,
    ref: "the agent's",
    timeoutMs: 20_000,
  });
  expect(isError).toBe(false);
  expect(outcome).toMatchObject({
    ref: "the agent's",
    success: true,
    state: "idle",
    exitState: "success",
    reason: "ok",
    value: { orders: 2 },
    output: { first: "apples" },
    calls: [{ path: "shop.list_orders", args: { page: 1 } }],
    logs: [
      { level: "info", message: "found 2" },
      { level: "debug", message: "all:" },
      { level: "debug", message: " apples,pears" },
      { level: "info", message: "done" },
      { level: "error", message: "careful" },
      { level: "warn", message: "few" },
    ],
    usage: { toolCalls: 1 },
  });
  const { value: result } = await call("result", { processId: outcome.processId });
  expect(result).toMatchObject({
    processId: outcome.processId,
    state: "idle",
    value: { orders: 2 },
    output: { first: "apples" },
    stdout: "found 2\nall:\n apples,pears\ndone\n",
    stderr: "careful\nfew\n",
    calls: [{ path: "shop.list_orders", args: { page: 1 }, status: "ok" }],
  });
  const { body } = await server.get(`/processes/${outcome.processId}`);
  expect(body).toMatchObject({ ref: "the agent's", options: { timeoutMs: 20_000 }, exitState: "success" });
});

test("the five tools describe themselves briefly, with what they may change", async () => {
  const { client } = await connect();
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["run", "search_tools", "read_tool", "resume", "result"]);
  const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
  for (const name of ["search_tools", "read_tool", "result"])
    expect(hints[name]).toMatchObject({ readOnlyHint: true });
  for (const name of ["run", "resume"]) {
    expect(hints[name]).toMatchObject({ readOnlyHint: false, destructiveHint: true, openWorldHint: true });
  }
  const inputs = Object.fromEntries(
    tools.map(({ name, inputSchema }) => [name, Object.keys(inputSchema.properties ?? {})]),
  );
  expect(inputs).toEqual({
    run: ["script", "timeoutMs", "ref", "input", "files", "name"],
    search_tools: ["query", "limit", "serviceId"],
    read_tool: ["path"],
    resume: ["execution_id", "approved", "data"],
    result: ["processId"],
  });
  // What a model is given of them, counted with more tokens than it has: English and JSON have more than 3 characters a token.
  const given = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  expect(Math.ceil(JSON.stringify(given).length / 3)).toBeLessThanOrEqual(700);
});

test("a script that fails is an answer, with its place; one that is refused is an error with its code", async () => {
  const { call } = await connect();
  const { value, isError } = await call("run", { script: "const a = 1;\nthrow new Error('no luck');" });
  expect(isError).toBe(false);
  expect(value).toMatchObject({
    success: false,
    exitState: "failed",
    reason: "script_error",
    error: "no luck",
    line: 2,
  });

  expect(await call("run", { script: "x".repeat(200_000) })).toMatchObject({
    isError: true,
    value: { code: "invalid_request", issues: [{ path: "script" }] },
  });
  expect(await call("run", { script: "return 1", ref: " " })).toMatchObject({
    isError: true,
    value: { code: "invalid_request", issues: [{ path: "ref" }] },
  });
  expect((await call("run", { code: "return 6 * 7" })).value).toMatchObject({ success: true, value: 42 });
  for (const input of [{ code: "return 1", script: "return 2" }, { code: 7 }, {}]) {
    expect(await call("run", input)).toMatchObject({ isError: true, value: { code: "invalid_request" } });
  }
  await call("run", { script: "return 1", ref: "once" });
  expect(await call("run", { script: "return 1", ref: "once" })).toMatchObject({
    isError: true,
    value: { code: "ref_taken" },
  });
  expect(await call("result", { processId: 999_999 })).toMatchObject({
    isError: true,
    value: { code: "not_found" },
  });
  expect(await call("resume", { execution_id: "apr_unknown", approved: true })).toMatchObject({
    isError: true,
    value: { code: "not_found" },
  });
});

test("a script finds the input it is given; one that cannot be an input is refused", async () => {
  const { call } = await connect();
  const input = { names: ["a", "b"], deep: { n: 1 } };
  const { value } = await call("run", { script: "return [cyrnel.input, cyrnel.input.names.length]", input });
  expect(value).toMatchObject({ success: true, value: [input, 2] });
  const large = { id: toRawInteger("9007199254740993") };
  const { value: rounded } = await call("run", { script: "return cyrnel.input.id", input: large });
  expect(rounded).toMatchObject({
    success: true,
    value: 9007199254740992,
    warnings: [{ code: "number_rounded", path: "input.id" }],
  });
  expect((await server.get(`/processes/${rounded.processId}`)).text).toContain(
    '"input":{"id":9007199254740993}',
  );
  expect(
    await call("run", { script: "return cyrnel.input.length", input: "x".repeat(1024 * 1024 - 2) }),
  ).toMatchObject({
    isError: false,
    value: { value: 1024 * 1024 - 2 },
  });
  expect(await call("run", { script: "return 1", input: "x".repeat(1024 * 1024) })).toMatchObject({
    isError: true,
    value: { code: "invalid_request", issues: [{ path: "input" }] },
  });
});

test("a run that takes longer than the client waits is answered with its state, and read later", async () => {
  const { call } = await connect();
  const heard: string[] = [];
  const { value } = await call(
    "run",
    { script: "await new Promise((r) => setTimeout(r, 1500)); return 'late';" },
    { patienceMs: 200, onprogress: ({ message }) => heard.push(message ?? "") },
  );
  expect(value).toMatchObject({ success: false, exitState: null });
  expect(["queued", "running"]).toContain(value.state);
  expect(value.next).toContain(`"processId":${value.processId}`);
  expect(heard[0]).toContain(`Process ${value.processId}`);
  const { value: result } = await call("result", { processId: value.processId });
  expect(result).toMatchObject({ state: "idle", exitState: "success", value: "late" });
});

test("a client that goes away leaves its run going", async () => {
  const { call, client } = await connect();
  const gone = new AbortController();
  const ref = "left alone";
  const script = "await new Promise((r) => setTimeout(r, 1000)); return 'done';";
  const waiting = call("run", { script, ref }, { signal: gone.signal, onprogress: () => gone.abort() });
  await expect(waiting).rejects.toThrow();
  await client.close();
  const { body } = await server.get(`/processes?ref=${encodeURIComponent(ref)}`);
  const ended = await server.get(`/processes/${body.processes[0].id}?wait=20000`);
  expect(ended.body).toMatchObject({ exitState: "success", result: "done" });
});

test("what would flood a model's context is cut, and the answer says so", async () => {
  const { call } = await connect();
  const { value } = await call("run", {
    script: "for (let i = 0; i < 5000; i++) console.log('line ' + i); return 'x'.repeat(600_000);",
  });
  expect(value).toMatchObject({ success: true });
  expect(value.logs).toHaveLength(500);
  expect(value).not.toHaveProperty("value");
  expect(value.cut).toMatch(/value is left out.*600002.*GET \/processes\//);
  expect(JSON.stringify(value).length).toBeLessThan(300_000);
});

describe("access", () => {
  test("tools outside the role of a key are nowhere to be found or called", async () => {
    const { key } = await makeKey(["processes:write", "processes:read"], ["shop.list_orders"]);
    const { call } = await connect(key);
    for (const args of [
      { query: "orders" },
      { query: "" },
      { query: "orders gold safe" },
      { query: "delete" },
    ]) {
      const { value } = await call("search_tools", args);
      expect(
        value.tools
          .map((tool: { path: string }) => tool.path)
          .filter((p: string) => p !== "shop.list_orders"),
      ).toEqual([]);
    }
    for (const hidden of ["vault.open_safe", "shop.delete_order"]) {
      const { value, isError } = await call("read_tool", { path: hidden });
      const { value: invented } = await call("read_tool", { path: "nothing.at_all" });
      expect([isError, value.code]).toEqual([true, "not_found"]);
      expect(value.code).toBe(invented.code);
      expect(value.error).not.toContain("Did you mean `vault");
    }
    const before = server.calls.length;
    const { value } = await call("run", {
      script:
        "try { await tools.vault.open_safe({}); return 'called'; } catch (error) { return error.code; }",
    });
    expect(value.value).toBe("not_found");
    expect(server.calls.length).toBe(before);
  });

  test("each tool needs its scope: others are not listed, and say so when they are called", async () => {
    const needs = {
      run: ["processes:write", { script: "return 1" }],
      resume: ["approvals:decide", { execution_id: "apr_x", approved: true }],
      result: ["processes:read", { processId: 1 }],
    } as const;
    const { key } = await makeKey(["services:admin"]);
    const without = await connect(key);
    expect((await without.client.listTools()).tools.map(({ name }) => name)).toEqual([
      "search_tools",
      "read_tool",
    ]);
    for (const [name, [scope, args]] of Object.entries(needs)) {
      const refused = await without.call(name, args);
      expect([name, refused.value.code, refused.isError]).toEqual([name, "forbidden", true]);
      expect(refused.value.error).toContain(scope);
      const allowed = await connect((await makeKey([scope])).key);
      const { tools } = await allowed.client.listTools();
      expect(tools.map((tool) => tool.name)).toEqual(
        ["run", "search_tools", "read_tool", "resume", "result"].filter(
          (other) => other === name || ["search_tools", "read_tool"].includes(other),
        ),
      );
      expect((await allowed.call(name, args)).value.code).not.toBe("forbidden");
    }
  });

  test("no key and a wrong key are refused; a revoked one at its next request", async () => {
    await expect(connectMcp(server.url)).rejects.toThrow("Unauthorized");
    await expect(connectMcp(server.url, { key: "wrong" })).rejects.toThrow("Unauthorized");
    const { key, id } = await makeKey(["processes:write"]);
    const { call } = await connect(key);
    expect((await call("search_tools", { query: "" })).isError).toBe(false);
    await server.request("DELETE", `/keys/${id}`);
    await expect(call("search_tools", { query: "" })).rejects.toThrow("Unauthorized");
  });

  test("a run is in the audit trail under the key, as a submission over HTTP is; reading is not", async () => {
    const { key, id } = await makeKey(["processes:write", "processes:read", "logs:read"]);
    const { call } = await connect(key);
    const { value } = await call("run", {
      script: "return 'a secret plan'",
      input: { note: "another secret plan" },
    });
    await call("run", { script: "x".repeat(200_000) });
    await call("result", { processId: value.processId });
    await expect
      .poll(async () => (await server.get(`/audit?actor=${id}`)).body?.records?.length ?? 0, {
        timeout: 5000,
      })
      .toBe(2);
    const { records } = (await server.get(`/audit?actor=${id}`)).body;
    expect(records).toMatchObject([
      { action: "process.create", outcome: "refused", code: "invalid_request" },
      { action: "process.create", outcome: "ok", object: { kind: "process", id: String(value.processId) } },
    ]);
    expect(JSON.stringify(records)).not.toContain("secret plan");
  });
});

describe("stdio", () => {
  const environment = (overrides: Record<string, string> = {}) => ({
    PATH: process.env.PATH ?? "",
    CYRNEL_URL: server.url,
    CYRNEL_API_KEY: TEST_KEY,
    ...overrides,
  });
  async function connectStdio(overrides?: Record<string, string>): Promise<McpClient> {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [STDIO],
      env: environment(overrides),
      stderr: "ignore",
    });
    const client = await connectWith(transport as Transport);
    clients.push(client);
    return client;
  }

  test("the same agent, through a program that the client starts", async () => {
    const { call, client } = await connectStdio();
    expect((await client.listTools()).tools).toHaveLength(5);
    const { value: found } = await call("search_tools", { query: "orders", limit: 1 });
    expect(found.tools).toHaveLength(1);
    const heard: string[] = [];
    const { value } = await call(
      "run",
      { script: "return (await tools.shop.list_orders({ page: 2 })).orders;" },
      { onprogress: ({ message }) => heard.push(message ?? "") },
    );
    expect(value).toMatchObject({ success: true, value: ["apples", "pears"] });
    expect(heard[0]).toContain(`Process ${value.processId}`);
    const left = await call("run", {
      script: "await cyrnel.files.write('large.txt', await cyrnel.files.text('a.txt'));",
      files: { "a.txt": { text: "x".repeat(100_000) } },
    });
    expect(left.attached).toMatchObject([{ type: "resource_link", name: "large.txt", size: 100_000 }]);
    const { contents } = await client.readResource({ uri: left.value.artifacts[0].uri });
    expect(contents).toMatchObject([{ text: "x".repeat(100_000) }]);
  });

  test("goes on when the server has forgotten the session", async () => {
    const { call } = await connectStdio();
    expect((await call("search_tools", { query: "orders" })).isError).toBe(false);
    // It is the longest idle one only once its last answer is over.
    await sleep(300);
    const others = await Promise.all(Array.from({ length: 100 }, () => connect()));
    expect(others).toHaveLength(100);
    expect((await call("search_tools", { query: "orders" })).value.tools).not.toHaveLength(0);
  });

  test("a wrong key and a server that is not there are said to the client", async () => {
    await expect(connectStdio({ CYRNEL_API_KEY: "wrong" })).rejects.toThrow("refused the key");
    await expect(connectStdio({ CYRNEL_URL: "http://127.0.0.1:9" })).rejects.toThrow("cannot be reached");
  });

  test("settings that are wrong end it with a sentence; the end of its input ends it", async () => {
    const run = (args: string[], env: Record<string, string>) =>
      new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
        const child = spawn(process.execPath, [STDIO, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
        const written = { stdout: "", stderr: "" };
        child.stdout.on("data", (data) => (written.stdout += data));
        child.stderr.on("data", (data) => (written.stderr += data));
        child.once("close", (code) => resolve({ code, ...written }));
      });
    const wrong = await run([], environment({ CYRNEL_URL: "ftp://somewhere" }));
    expect(wrong).toMatchObject({
      code: 78,
      stdout: "",
      stderr: expect.stringContaining("url is not valid"),
    });
    expect(await run(["--nonsense"], environment())).toMatchObject({ code: 78, stdout: "" });
    expect(await run([], environment())).toMatchObject({ code: 0, stdout: "", stderr: "" });
  });
});
