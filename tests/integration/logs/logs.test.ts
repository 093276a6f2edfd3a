/** `GET /logs` of a real server: what it says about itself, found by what people look for, page by page. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLogger } from "#api/http/logging.ts";
import type { LogAnswer } from "#api/observe/logs/model.ts";
import { createLogRing } from "#api/observe/logs/ring.ts";
import { createLogs } from "#api/observe/logs/service.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { startServer, type TestServer } from "../harness/server.ts";

const KEY = "logs-test-key-0123456789abcdefgh";
let server: TestServer;
let failedId: number;

beforeAll(async () => {
  server = await startServer({ environment: { CYRNEL_API_KEY: KEY } });
  await server.post("/processes", { code: "return 1", block: true }, { "x-request-id": "first-run" });
  const failed = await server.post("/processes", {
    code: "await tools.nowhere.nothing({}).catch(() => {}); throw new Error('oh')",
    block: true,
  });
  failedId = failed.body.id;
});
afterAll(() => server.close());

async function list(query: string): Promise<LogAnswer[]> {
  const { status, body, text } = await server.get(`/logs?${query}`);
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  return body.logs;
}

test("needs a key with the scope logs:read", async () => {
  expect((await fetch(`${server.url}/logs`)).status).toBe(401);
  expect((await fetch(`${server.url}/logs/stream`)).status).toBe(401);
  const { body } = await server.post("/keys", { name: "other", scopes: ["processes:read"] });
  const refused = await server.get("/logs", { authorization: `Bearer ${body.key}` });
  expect(refused.body).toMatchObject({ code: "forbidden", error: expect.stringContaining("logs:read") });
});

test("shows requests, runs and calls as records, newest first", async () => {
  const logs = await list("limit=200");
  const ids = logs.map(({ id }) => Number(id.split(".")[1]));
  expect(ids).toEqual([...ids].sort((a, b) => b - a));
  const [run] = await list(`type=run&processId=${failedId}`);
  expect(run).toMatchObject({
    level: "info",
    message: "run ended",
    processId: failedId,
    requestId: null,
    fields: { environment: "typescript-process", exitState: "failed", reason: "script_error", toolCalls: 1 },
  });
  const [request] = await list("requestId=first-run");
  expect(request).toMatchObject({
    type: "request",
    requestId: "first-run",
    fields: { method: "POST", route: "/processes", status: 201, caller: "bootstrap" },
  });
  expect(await list("serviceId=nowhere&toolId=nothing&type=call")).toMatchObject([
    { serviceId: "nowhere", toolId: "nothing", processId: failedId, fields: { outcome: "error" } },
  ]);
});

test("every filter leaves out what it says", async () => {
  await server.get("/health");
  const [run] = await list(`type=run&processId=${failedId}`);
  expect(new Set((await list("level=info")).map(({ level }) => level))).toEqual(new Set(["info"]));
  expect((await list("levelMin=debug")).some(({ fields }) => fields.route === "/health")).toBe(true);
  expect((await list("levelMin=info")).some(({ level }) => level === "debug")).toBe(false);
  expect(await list("levelMin=fatal")).toEqual([]);
  expect(await list("toolId=noth")).toEqual([]);
  const at = encodeURIComponent(run?.time ?? "");
  expect((await list(`from=${at}&type=run`)).map(({ id }) => id)).toContain(run?.id);
  expect((await list(`to=${at}&type=run`)).map(({ id }) => id)).not.toContain(run?.id);
  expect((await list("query=SCRIPT_error")).map(({ id }) => id)).toEqual([run?.id]);
  expect(await list("query=no-such-words-anywhere&type=run")).toEqual([]);
});

test("pages go on where the one before ended, whatever is logged meanwhile", async () => {
  const first = (await server.get("/logs?limit=2&type=request")).body;
  const second = (await server.get(`/logs?limit=2&type=request&cursor=${first.nextCursor}`)).body;
  const whole = await list("limit=10&type=request");
  const at = whole.findIndex(({ id }) => id === first.logs[0].id);
  expect([...first.logs, ...second.logs].map(({ id }) => id)).toEqual(
    whole.slice(at, at + 4).map(({ id }) => id),
  );
});

test.each([
  ["level=loud"],
  ["processId=0"],
  ["processId=12abc"],
  ["from=yesterday"],
  ["limit=0"],
  ["limit=201"],
  ["query="],
  ["unknown=1"],
])("refuses %s with 400", async (query) => {
  expect((await server.get(`/logs?${query}`)).body).toMatchObject({ code: "invalid_request" });
});

test("refuses a cursor that is not its own", async () => {
  const { body } = await server.get("/processes?limit=1");
  for (const cursor of [body.nextCursor, "AAAA"])
    expect((await server.get(`/logs?cursor=${cursor}`)).body).toMatchObject({ code: "invalid_cursor" });
});

test("is answered without a database", async () => {
  server.setReachable(false);
  try {
    expect((await server.get("/logs")).status).toBe(200);
  } finally {
    server.setReachable(true);
  }
});

describe("what is kept", () => {
  const any = { from: null, limit: 200 };

  test("is bounded in number and in size, and the oldest go first", async () => {
    const ring = createLogRing({ maxRecords: 5, maxCharacters: 1950 });
    const logs = createLogs({ ring, redactor: createRedactor() });
    for (let n = 0; n < 8; n += 1) ring.add(JSON.stringify({ msg: `line ${n}` }));
    expect((await logs.list({}, any)).logs.map(({ message }) => message)).toEqual(
      [7, 6, 5, 4, 3].map((n) => `line ${n}`),
    );
    ring.add(JSON.stringify({ msg: "x".repeat(1900) }));
    expect(ring.next - ring.oldest).toBeLessThan(5);
    ring.add(JSON.stringify({ level: "warn", processId: 7, msg: "short", err: { stack: "s".repeat(1e6) } }));
    const [longest] = (await logs.list({}, any)).logs;
    expect(longest).toMatchObject({ level: "warn", processId: 7, message: "short" });
    expect(JSON.stringify(longest).length).toBeLessThan(500);
  });

  test("holds no secret: neither one known when the line was written nor one that became known since", async () => {
    const ring = createLogRing();
    const redactor = createRedactor();
    redactor.setOwner("service:one", { key: "known-secret-1234567890" });
    const log = createLogger(
      { logLevel: "info", apiKey: KEY, databaseUrl: "postgres://u:database-word@h/d" },
      { redactor, ring, stream: { write: () => {} } },
    );
    log.info({ token: "by-its-name", deep: ["known-secret-1234567890"] }, `${KEY} database-word`);
    log.info("later-secret-0987654321");
    redactor.setOwner("service:two", { key: "later-secret-0987654321" });
    const logs = createLogs({ ring, redactor });
    const shown = JSON.stringify((await logs.list({}, any)).logs);
    expect(shown).not.toMatch(/known-secret|later-secret|by-its-name|logs-test-key|database-word/);
    expect((await logs.list({ query: "later-secret" }, any)).logs).toEqual([]);
    expect((await logs.list({}, any)).logs).toHaveLength(2);
  });

  test("takes any line: broken, nested, with members that objects are born with", async () => {
    const ring = createLogRing();
    const logs = createLogs({ ring, redactor: createRedactor() });
    const lines = [
      "not json",
      "[1]",
      "null",
      '{"__proto__":{"level":"fatal"},"msg":7,"time":"never","processId":"1","level":"loud"}',
      `{"msg":"deep","nested":${"[".repeat(3000)}${"]".repeat(3000)}}`,
    ];
    for (const line of lines) ring.add(line);
    const shown = (await logs.list({}, any)).logs;
    expect(shown).toHaveLength(lines.length);
    ring.add('{"eid":9,"msg":"of an environment"}');
    expect((await logs.list({ processId: 9 }, any)).logs).toHaveLength(1);
    expect(shown[1]).toMatchObject({ level: "info", message: "", processId: null, type: "server" });
  });
});
