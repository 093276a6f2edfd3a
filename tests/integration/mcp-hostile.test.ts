/** What no well-behaved MCP client sends: every request is answered, within bounds, and the server goes on. */
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SESSION_LIMITS } from "#api/mcp/sessions.ts";
import { TEST_KEY } from "./harness/http-app.ts";
import { type Answer, startServer, type TestServer } from "./harness/server.ts";
import { connectMcp } from "./mcp-client.ts";
import { builtin } from "./modules-server.ts";
import { ScriptedEnvironment } from "./scripted-environment.ts";

const HEADERS = { accept: "application/json, text/event-stream", "content-type": "application/json" };
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "hostile", version: "0" } },
};
const LIST = { jsonrpc: "2.0", id: 2, method: "tools/list" };
const run = (id: number, script: string) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "run", arguments: { script }, _meta: { "cyrnel/patienceMs": 30_000 } },
});

const builtins = () => [builtin({ id: "typescript-process" }, () => new ScriptedEnvironment())];

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ environment: { CYRNEL_API_KEY: TEST_KEY }, builtins: builtins() });
});
afterAll(() => server?.close());

const post = (body: unknown, headers: Record<string, string> = {}, on = server): Promise<Answer> =>
  on.request("POST", "/mcp", {
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { ...HEADERS, ...headers },
  });

async function openSession(key = TEST_KEY): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await post(INITIALIZE, headers);
  expect(answer.status, answer.text).toBe(200);
  const session = { ...headers, "mcp-session-id": answer.headers.get("mcp-session-id") ?? "" };
  await post({ jsonrpc: "2.0", method: "notifications/initialized" }, session);
  return session;
}

async function isWell(): Promise<void> {
  const { client, ...rest } = await connectMcp(server.url, { key: TEST_KEY });
  expect((await client.listTools()).tools).toHaveLength(5);
  await rest.transport?.terminateSession();
  await client.close();
}

describe("what is no message", () => {
  const deep = `${"[".repeat(5000)}${"]".repeat(5000)}`;
  test.each([
    ["no JSON", "{", 400],
    ["nothing", "", 400],
    ["no UTF-8", "\uD800", 400],
    ["a number", "7", 400],
    ["null", "null", 400],
    ["an empty batch", "[]", 400],
    ["a deep one", deep, 400],
    ["a key of the prototype", '{"__proto__":{"a":1}}', 400],
    ["a wrong version", '{"jsonrpc":"1.0","id":1,"method":"tools/list"}', 400],
    ["an id that is an object", '{"jsonrpc":"2.0","id":{},"method":"tools/list"}', 400],
    ["more than two mebibytes", JSON.stringify({ ...LIST, params: { x: "x".repeat(2 * 1024 * 1024) } }), 413],
    ["101 messages", JSON.stringify(Array.from({ length: 101 }, (_, id) => ({ ...LIST, id }))), 429],
    ["two greetings", JSON.stringify([INITIALIZE, INITIALIZE]), 400],
  ])("%s is refused", async (_name, body, status) => {
    const session = await openSession();
    const answer = await post(body, session);
    expect([answer.status, typeof answer.body?.error]).toEqual([
      status,
      expect.stringMatching(/string|object/),
    ]);
    expect(answer.text).not.toMatch(/\n\s+at /);
    const without = await post(body);
    expect(without.status).toBe(status === 429 ? 400 : status);
    await isWell();
  });

  test("wrong headers are refused before anything is done", async () => {
    expect((await post(LIST, { "content-type": "text/plain" })).status).toBe(415);
    const session = await openSession();
    expect((await post(LIST, { ...session, accept: "text/html" })).status).toBe(406);
    expect((await post(LIST, { ...session, "mcp-protocol-version": "1999-01-01" })).status).toBe(400);
    expect((await server.get("/mcp")).status).toBe(405);
    expect((await server.request("PUT", "/mcp", { json: LIST })).status).toBe(404);
  });
});

describe("what fits the protocol and means harm", () => {
  test("unknown methods, tools, resources and arguments are refused one by one", async () => {
    const session = await openSession();
    const ask = async (method: string, params: unknown) => {
      const { text } = await post({ jsonrpc: "2.0", id: 9, method, params }, session);
      return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? "{}");
    };
    expect((await ask("initialize", {})).error.message.length).toBeLessThan(4000);
    for (const method of [
      "nothing",
      "constructor",
      "__proto__",
      "tasks/list",
      "sampling/createMessage",
      "prompts/list",
    ]) {
      expect([method, (await ask(method, {})).error?.code]).toEqual([method, -32601]);
    }
    for (const name of ["nothing", "constructor", "toString", "x".repeat(100_000)]) {
      const { error } = await ask("tools/call", { name, arguments: {} });
      expect(error).toMatchObject({ code: -32602 });
      expect(error.message.length).toBeLessThan(400);
    }
    expect((await ask("resources/read", { uri: "file:///etc/passwd" })).error.code).toBe(-32002);
    for (const args of [
      {},
      null,
      { script: 7 },
      { script: "return 1", timeoutMs: -1 },
      { script: "return 1", timeoutMs: 1e99 },
      { script: "return 1", extra: true },
      { script: "a\u0000b" },
    ]) {
      const { result, error } = await ask("tools/call", { name: "run", arguments: args });
      expect([args, result?.isError ?? error?.code]).toEqual([
        args,
        expect.toBeOneOf([true, -32602, -32603]),
      ]);
    }
    for (const processId of [0, -1, 1.5, 1e300, Number.MAX_SAFE_INTEGER, "1"]) {
      const { result } = await ask("tools/call", { name: "result", arguments: { processId } });
      expect([processId, result?.isError]).toEqual([processId, true]);
      expect(result.content[0].text).toMatch(/not_found|invalid_request/);
    }
    await isWell();
  });

  test("a session belongs to its key: with another it does not exist", async () => {
    const session = await openSession();
    const { key } = (await server.post("/keys", { name: "other", scopes: ["processes:read"] })).body;
    const stolen = { ...session, authorization: `Bearer ${key}` };
    expect((await post(LIST, stolen)).status).toBe(404);
    expect((await server.request("DELETE", "/mcp", { headers: stolen })).status).toBe(404);
    expect((await post(LIST, session)).status).toBe(200);
    const guessed = { ...session, "mcp-session-id": "x".repeat(10_000) };
    expect((await post(LIST, guessed)).status).toBe(404);
  });

  test("a session that was ended is gone, and what waited in it ends", async () => {
    const session = await openSession();
    const waiting = post(run(3, "hang"), session);
    await expect.poll(async () => (await server.get("/processes")).body.processes[0]?.state).toBe("running");
    expect((await server.request("DELETE", "/mcp", { headers: session })).status).toBe(200);
    expect((await waiting).text).not.toContain("result");
    expect((await post(LIST, session)).status).toBe(404);
    const [{ id }] = (await server.get("/processes")).body.processes;
    await server.post(`/processes/${id}/signals/kill`);
  });

  test("answers to questions that were never asked, and progress of nothing, change nothing", async () => {
    const session = await openSession();
    for (const message of [
      { jsonrpc: "2.0", id: 77, result: { action: "accept", content: {} } },
      { jsonrpc: "2.0", id: 0, error: { code: 1, message: "no" } },
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 12345 } },
      { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: "x", progress: 1 } },
    ]) {
      expect((await post(message, session)).status).toBe(202);
    }
    await isWell();
  });

  test("many sessions of one key push out each other, and nobody else's", async () => {
    const mine = await openSession();
    const { key } = (await server.post("/keys", { name: "greedy", scopes: [] })).body;
    const first = await openSession(key);
    for (let opened = 0; opened < SESSION_LIMITS.maxSessionsPerCaller; opened += 10) {
      await Promise.all(
        Array.from({ length: 10 }, () => post(INITIALIZE, { authorization: `Bearer ${key}` })),
      );
    }
    expect((await post(LIST, first)).status).toBe(404);
    expect((await post(LIST, mine)).status).toBe(200);
  });

  test("only so many requests of one session wait at a time; the others are told so", async () => {
    const session = await openSession();
    const open = Array.from({ length: SESSION_LIMITS.maxRequestsPerSession }, (_, index) => {
      const outgoing = httpRequest(new URL("/mcp", server.url), {
        method: "POST",
        headers: { ...HEADERS, ...session },
      });
      outgoing.on("error", () => {});
      outgoing.end(JSON.stringify(run(100 + index, "hang")));
      return new Promise<typeof outgoing>((resolve) => outgoing.once("response", () => resolve(outgoing)));
    });
    const requests = await Promise.all(open);
    const refused = await post(LIST, session);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"]);
    expect(refused.body.error.message).toContain("32 requests");
    for (const outgoing of requests) outgoing.destroy();
    await expect.poll(async () => (await post(LIST, session)).status, { timeout: 5000 }).toBe(200);
    for (const { id } of (await server.get("/processes?limit=100&state=running")).body.processes) {
      await server.post(`/processes/${id}/signals/kill`);
    }
    for (const { id } of (await server.get("/processes?limit=100&state=queued")).body.processes) {
      await server.post(`/processes/${id}/signals/kill`);
    }
  });
});

describe("pages of other origins", () => {
  /** `fetch` does not let a program set these headers. */
  const send = (url: string, headers: Record<string, string>) =>
    new Promise<number>((resolve, reject) => {
      const outgoing = httpRequest(new URL("/mcp", url), {
        method: "POST",
        headers: { ...HEADERS, ...headers },
      });
      outgoing.once("error", reject).once("response", (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      outgoing.end(JSON.stringify(INITIALIZE));
    });

  test("are refused even with a key; its own origin and programs are not", async () => {
    const authorization = `Bearer ${TEST_KEY}`;
    expect(await send(server.url, { authorization, origin: "https://evil.example" })).toBe(403);
    expect(await send(server.url, { authorization, origin: "null" })).toBe(403);
    expect(await send(server.url, { authorization, origin: server.url })).toBe(200);
    expect(await send(server.url, { authorization })).toBe(200);
  });

  test("are refused by a server without a key, under any name that was pointed at it", async () => {
    await using anonymous = await startServer({ builtins: builtins() });
    expect(await send(anonymous.url, {})).toBe(200);
    expect(await send(anonymous.url, { host: "evil.example" })).toBe(403);
    expect(await send(anonymous.url, { origin: "http://evil.example" })).toBe(403);
    expect(await send(anonymous.url, { host: "evil.example", origin: "http://evil.example" })).toBe(403);
    expect(await send(anonymous.url, { "sec-fetch-site": "cross-site" })).toBe(403);
  });
});

test("a server that stops ends its sessions, and what waits in them", async () => {
  const stopping = await startServer({
    environment: { CYRNEL_API_KEY: TEST_KEY, SHUTDOWN_TIMEOUT_MS: "200" },
    builtins: builtins(),
  });
  const { call, client } = await connectMcp(stopping.url, { key: TEST_KEY });
  const waiting = call("run", { script: "hang" }).then(
    ({ value }) => value.state,
    () => "failed",
  );
  await expect.poll(async () => (await stopping.get("/processes")).body.processes[0]?.state).toBe("running");
  await stopping.close();
  expect(["idle", "running", "failed"]).toContain(
    await Promise.race([waiting, client.close().then(() => "failed")]),
  );
});

test("nothing that was sent here reached the log as a failure of the server", () => {
  expect(server.logs().filter(({ level }) => level === "error" || level === 50)).toEqual([]);
  expect(JSON.stringify(server.logs())).not.toContain(TEST_KEY);
});
