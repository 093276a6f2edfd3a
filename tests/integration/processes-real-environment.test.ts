import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseConfig } from "#api/config.ts";
import type { ProcessRecord } from "#api/processes/model/schemas.ts";
import { type CyrnelServer, openServer } from "#api/server.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { createTools } from "./harness/tools.ts";

/** The processes feature with the environment that people get: one child per run. */
let database: TestDatabase;
let server: CyrnelServer;
let url: string;
let asked = 0;
const tenAsked = Promise.withResolvers<void>();

beforeAll(async () => {
  database = await createTestDatabase();
  const parsed = parseConfig({ PORT: "0", SHUTDOWN_TIMEOUT_MS: "0" });
  if (!parsed.ok) throw new Error(parsed.problems.join("\n"));
  // Answers no call before ten were made: only calls in progress together come back.
  const tools = createTools(async ({ parameters }) => {
    asked += 1;
    if (asked === 10) tenAsked.resolve();
    await tenAsked.promise;
    return { echoed: parameters };
  });
  server = await openServer(parsed.config, {
    database: { pool: database.pool, watch: { reachable: true } },
    logger: pino({ level: "silent" }),
    tools,
  });
  url = await server.listen();
});
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});

async function run(code: string, options: Record<string, unknown> = {}): Promise<ProcessRecord> {
  const response = await fetch(`${url}/processes`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code, block: true, options }),
  });
  return (await response.json()) as ProcessRecord;
}

test("everything a script leaves behind is in its record", async () => {
  const record = await run(
    "console.log('€ out'); console.error('err'); cyrnel.output({ a: 1 }); cyrnel.output({ a: 2, b: [cyrnel.process.id] });\nreturn { done: true };",
  );
  expect(record).toMatchObject({
    exitState: "success",
    reason: "ok",
    stdout: "€ out\n",
    stderr: "err\n",
    output: { a: 2, b: [record.id] },
    result: { done: true },
    environment: "typescript-process",
  });
  expect(record.usage.cpuMs).toBeGreaterThan(0);
  expect(record.usage.peakMemoryBytes).toBeGreaterThan(1_000_000);
  expect(record.options.memoryMb).toBeGreaterThan(0);
});

test("an error has the submitted line and column", async () => {
  const record = await run("const a: number = 1;\n\n  throw new RangeError('bad ' + a);");
  expect(record).toMatchObject({ exitState: "failed", reason: "script_error", error: "bad 1" });
  expect(record.errorDetail).toMatchObject({ name: "RangeError", line: 3 });
  expect(await run("const = 5;")).toMatchObject({
    exitState: "failed",
    reason: "syntax_error",
    errorDetail: { line: 1 },
  });
});

test("a script that spins is stopped at its timeout, one that waits is killed on request", async () => {
  expect(await run("for (;;) {}", { timeout: 300 })).toMatchObject({
    exitState: "timeout",
    reason: "timeout",
  });
  const created = await fetch(`${url}/processes`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      code: "console.log('up'); await new Promise((done) => setTimeout(done, 60_000));",
    }),
  });
  const { id } = (await created.json()) as { id: number };
  const kill = await fetch(`${url}/processes/${id}/signals/kill`, { method: "POST" });
  expect(kill.status).toBe(200);
  const record = (await (await fetch(`${url}/processes/${id}?wait=20000`)).json()) as ProcessRecord;
  expect(record).toMatchObject({ state: "idle", exitState: "canceled", reason: "killed" });
});

test("calls are recorded, and ten are under way at once", async () => {
  const record = await run(
    "const all = Array.from({ length: 10 }, (_, n) => tools.shop.list({ n }));\nreturn (await Promise.all(all)).length;",
  );
  expect(record).toMatchObject({ exitState: "success", result: 10, usage: { toolCalls: 10 } });
  const response = await fetch(`${url}/processes/${record.id}/calls`);
  const { calls } = (await response.json()) as {
    calls: { seq: number; status: string; result: unknown }[];
  };
  expect(calls.map(({ seq, status }) => `${seq} ${status}`)).toEqual(
    Array.from({ length: 10 }, (_, n) => `${n + 1} ok`),
  );
});
