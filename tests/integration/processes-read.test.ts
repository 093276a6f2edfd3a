import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { encodeCursor } from "#api/http/cursor.ts";
import { ToolError } from "#api/processes/calls/errors.ts";
import { callTrailSchema } from "#api/processes/model/event-schemas.ts";
import {
  type ProcessRecord,
  processListSchema,
  processSchema,
  processSummarySchema,
} from "#api/processes/model/schemas.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { createTools, type HostedCall } from "./harness/tools.ts";
import {
  type ErrorBody,
  expectNothingLeft,
  type ProcessesServer,
  read,
  runScript,
  send,
  startProcessesServer,
  submit,
  until,
} from "./processes-server.ts";

let database: TestDatabase;
let server: ProcessesServer;
const calls: HostedCall[] = [];

const tools = createTools(
  async (call) => {
    if (call.toolId === "deny") throw new ToolError("policy_blocked", "not allowed here", 403, "denied");
    if (call.toolId === "slow") await new Promise((resolve) => setTimeout(resolve, 30));
    if (call.toolId === "odd") call.warn?.({ code: "answer_odd", message: "It is odd." });
    if (call.toolId === "broken") throw new Error("adapter broke");
    return { echoed: call.parameters };
  },
  async (call) => {
    calls.push(call);
    // It is not sent.
    if (call.toolId === "hang") await new Promise(() => {});
    return null;
  },
);

beforeAll(async () => {
  database = await createTestDatabase();
  server = await startProcessesServer({
    databaseUrl: database.url,
    tools,
    variables: {
      CYRNEL_MAX_STDOUT_BYTES: "5000",
      CYRNEL_MAX_STDERR_BYTES: "3000",
    },
  });
});
afterEach(() => expectNothingLeft(server));
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});

interface Page {
  processes: (ProcessRecord & { code?: string })[];
  nextCursor: string | null;
}
const list = async (query = "") => (await send<Page>(server, "GET", `/processes${query}`)).body;

describe("ids", () => {
  test.each(["12abc", "0", "-1", "1.0", "+1", "0x1", "1e3", "%201", "9999999999999999", "null"])(
    "%s is no id",
    async (id) => {
      for (const path of ["", "/code", "/output", "/stdout", "/stderr", "/calls", "/events"]) {
        const answer = await send<ErrorBody>(server, "GET", `/processes/${id}${path}`);
        expect([path, answer.status, answer.body.code]).toEqual([path, 400, "invalid_request"]);
        expect(answer.body.issues?.[0]?.path).toBe("params.id");
      }
      expect((await send(server, "DELETE", `/processes/${id}`)).status).toBe(400);
      for (const signal of ["run", "kill"]) {
        expect((await send(server, "POST", `/processes/${id}/signals/${signal}`)).status).toBe(400);
      }
    },
  );

  test("a process that does not exist is not found, by every route", async () => {
    const id = 999_999_999_999_999;
    for (const path of ["", "?wait=10", "/code", "/output", "/stdout", "/stderr", "/calls", "/events"]) {
      const answer = await send<ErrorBody>(server, "GET", `/processes/${id}${path}`);
      expect([path, answer.status, answer.body.code]).toEqual([path, 404, "not_found"]);
    }
    expect((await send(server, "DELETE", `/processes/${id}`)).status).toBe(404);
    for (const signal of ["run", "kill"]) {
      expect((await send(server, "POST", `/processes/${id}/signals/${signal}`)).status).toBe(404);
    }
  });
});

describe("GET /processes/:id", () => {
  test("a running process shows what there is so far", async () => {
    const id = await submit(
      server,
      'print so far\noutput {"step":1}\nusage {"cpuMs":3}\ngate so-far\noutput {"step":2}\nprint done',
    );
    const record = await until("output is there", async () => {
      const now = await read(server, id);
      return now.output.step === 1 && now;
    });
    expect(processSchema.strict().parse(record)).toMatchObject({
      state: "running",
      exitState: null,
      stdout: "so far\n",
      usage: { cpuMs: 3 },
      completedAt: null,
    });
    const listed = (await list()).processes.find((item) => item.id === id);
    expect(listed).toMatchObject({ state: "running", output: { step: 1 } });
    for (const part of ["output", "stdout", "stderr"]) {
      const answer = await send<ErrorBody>(server, "GET", `/processes/${id}/${part}`);
      expect([answer.status, answer.body.code]).toEqual([409, "process_not_idle"]);
    }
    expect((await send(server, "GET", `/processes/${id}/code`)).status).toBe(200);
    server.environment.open("so-far");
    expect(await read(server, id, "?wait=10000")).toMatchObject({ state: "idle", output: { step: 2 } });
  });

  test("?wait answers when the process is idle, and at its time when it is not", async () => {
    const id = await submit(server, "gate waited");
    const started = Date.now();
    expect(await read(server, id, "?wait=150")).toMatchObject({ state: "running" });
    expect(Date.now() - started).toBeGreaterThanOrEqual(140);
    const waiting = Promise.all(Array.from({ length: 10 }, () => read(server, id, "?wait=60000")));
    await until("all wait", () => server.service.health().listeners === 10);
    server.environment.open("waited");
    expect((await waiting).map(({ state, exitState }) => `${state} ${exitState}`)).toEqual(
      Array(10).fill("idle success"),
    );
    expect(await read(server, id, "?wait=60000")).toMatchObject({ state: "idle" });
  });

  test.each(["60001", "-1", "1.5", "x", "", "1e3", "10&wait=20"])("?wait=%s is refused", async (wait) => {
    const answer = await send<ErrorBody>(server, "GET", `/processes/1?wait=${wait}`);
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    expect(answer.body.issues?.[0]?.path).toBe("query.wait");
  });

  test("a client that stops waiting leaves no listener", async () => {
    const id = await submit(server, "gate left");
    const gone = new AbortController();
    const request = fetch(`${server.url}/processes/${id}?wait=60000`, { signal: gone.signal });
    await until("it waits", () => server.service.health().listeners === 1);
    gone.abort();
    await expect(request).rejects.toThrow();
    await until("it is gone", () => server.service.health().listeners === 0);
    server.environment.open("left");
  });

  test("an environment that queues on its own is shown queued, and found so", async () => {
    const id = await submit(server, "state queued\ngate inner\nstate running\ngate inner-2");
    await until("it says queued", async () => (await read(server, id)).state === "queued");
    expect((await list("?state=queued")).processes.map((item) => item.id)).toEqual([id]);
    expect((await list("?state=running")).processes).toEqual([]);
    server.environment.open("inner");
    await until("it says running", async () => (await read(server, id)).state === "running");
    expect((await list("?state=running")).processes.map((item) => item.id)).toEqual([id]);
    server.environment.open("inner-2");
  });
});

describe("parts of a record", () => {
  test("are plain text and JSON, byte for byte", async () => {
    const record = await runScript(server, 'print <b>é</b>\nhex stderr 00ff41\noutput {"a":{"b":[1]}}');
    const part = (name: string) => send(server, "GET", `/processes/${record.id}/${name}`);
    expect((await part("stdout")).text).toBe("<b>é</b>\n");
    expect((await part("stdout")).headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect((await part("stderr")).text).toBe("\0\ufffdA");
    expect((await part("code")).text).toBe(record.code);
    expect((await part("output")).body).toEqual({ a: { b: [1] } });
  });

  test("of a process that never ran are empty", async () => {
    const id = await submit(server, "print x", { autorun: false });
    expect((await send(server, "GET", `/processes/${id}/output`)).body).toEqual({});
    expect((await send(server, "GET", `/processes/${id}/stdout`)).text).toBe("");
    expect((await send(server, "GET", `/processes/${id}/calls`)).body).toEqual({ calls: [] });
  });
});

describe("streams and values", () => {
  test("characters split across writes are healed", async () => {
    const euro = Buffer.from("€").toString("hex");
    const record = await runScript(
      server,
      `hex stdout ${euro.slice(0, 2)}\nsleep 5\nhex stdout ${euro.slice(2)}\nhex stderr ${euro.slice(0, 4)}`,
    );
    expect(record).toMatchObject({
      stdout: "€",
      stderr: "\ufffd",
      truncated: { stdout: false, stderr: false },
    });
  });

  test("each stream is cut at its cap, visibly", async () => {
    const record = await runScript(server, "flood stdout 20000\nwarn short");
    expect(record.truncated).toEqual({ stdout: true, stderr: false });
    expect(record.stdout).toBe(`${"x".repeat(5000)}\n[stdout truncated: more than 5000 bytes]\n`);
    expect(record.stderr).toBe("short\n");
    const exact = await runScript(server, "flood stdout 5000\nflood stderr 4000");
    expect(exact.truncated).toEqual({ stdout: false, stderr: true });
    expect(exact.stdout).toHaveLength(5000);
  });

  test("output or a result over 4 MiB ends the run as output_limit", async () => {
    const output = await runScript(server, `output {"kept":1}\nbig-output ${4 * 1024 * 1024}`);
    expect(output).toMatchObject({ exitState: "failed", reason: "output_limit", output: { kept: 1 } });
    expect(output.error).toContain("4194304");
    expect(server.environment.kills).toContain(output.id);
    const result = await runScript(server, `big-return ${4 * 1024 * 1024}`);
    expect(result).toMatchObject({ exitState: "failed", reason: "output_limit", result: null });
    const fits = await runScript(server, `big-return ${4 * 1024 * 1024 - 2}`);
    expect(fits.exitState).toBe("success");
    expect(fits.result).toHaveLength(4 * 1024 * 1024 - 2);
  });

  test("nesting is bounded, and __proto__ is a member like any other", async () => {
    expect(await runScript(server, "deep 600")).toMatchObject({
      exitState: "failed",
      reason: "output_limit",
    });
    expect((await runScript(server, "deep 500")).exitState).toBe("success");
    const record = await send(server, "POST", "/processes", {
      code: 'return {"__proto__":{"a":1},"b":{"__proto__":1}}\noutput {"__proto__":{"polluted":true},"c":1}',
      block: true,
    });
    expect(JSON.stringify([record.body.result, record.body.output])).toBe(
      '[{"__proto__":{"a":1},"b":{"__proto__":1}},{"__proto__":{"polluted":true},"c":1}]',
    );
  });

  test("an error keeps its position, and the words of its exit state", async () => {
    const detail = {
      name: "RangeError",
      message: "out\0 of range",
      stack: "at script.ts:3:7",
      line: 3,
      column: 7,
      reason: "memory_limit",
    };
    expect(await runScript(server, `error ${JSON.stringify(detail)}\nend failed`)).toMatchObject({
      exitState: "failed",
      reason: "memory_limit",
      error: "out\ufffd of range",
      errorDetail: {
        name: "RangeError",
        message: "out\ufffd of range",
        stack: "at script.ts:3:7",
        line: 3,
        column: 7,
      },
    });
    expect(await runScript(server, "fail no reason")).toMatchObject({
      reason: "script_error",
      error: "no reason",
    });
    expect(await runScript(server, "end timeout", { options: { timeout: 77 } })).toMatchObject({
      exitState: "timeout",
      reason: "timeout",
      error: expect.stringContaining("77 ms"),
    });
    expect(await runScript(server, "end canceled")).toMatchObject({
      exitState: "canceled",
      reason: "killed",
      error: null,
    });
  });

  test("an environment may answer with the whole outcome", async () => {
    const usage = { cpuMs: 7, peakMemoryBytes: 1024, wallMs: 1e9, toolCalls: 99 };
    const good = await runScript(
      server,
      `outcome ${JSON.stringify({ exitState: "success", result: { a: [1] }, usage })}`,
    );
    expect(good).toMatchObject({ exitState: "success", reason: "ok", result: { a: [1] }, error: null });
    expect(good.usage).toMatchObject({ cpuMs: 7, peakMemoryBytes: 1024, toolCalls: 0 });
    expect(good.usage.wallMs).toBeLessThan(60_000);

    const error = { name: "MemoryError", message: "too much", line: 3, column: 4, reason: "memory_limit" };
    expect(
      await runScript(server, `outcome ${JSON.stringify({ exitState: "failed", error, result: 1 })}`),
    ).toMatchObject({
      exitState: "failed",
      reason: "memory_limit",
      result: null,
      errorDetail: { name: "MemoryError", message: "too much", line: 3, column: 4 },
    });
    expect(
      await runScript(server, `outcome ${JSON.stringify({ exitState: "failed", error: "in words" })}`),
    ).toMatchObject({ exitState: "failed", reason: "script_error", error: "in words" });
  });

  test("an environment that throws or answers nonsense ends the run as crashed, and its words stay in the log", async () => {
    for (const code of [
      "throw",
      "nonsense",
      "return 1\nthrow",
      "output [1]",
      "outcome {}",
      "outcome []",
      'outcome {"exitState":"banana","result":1}',
      'outcome {"exitState":"success","result":1,"error":17}',
    ]) {
      const record = await runScript(server, code);
      expect(record).toMatchObject({ exitState: "failed", reason: "crashed", result: null });
      expect(JSON.stringify(record)).not.toContain("secret inside");
    }
    expect(JSON.stringify(server.logs)).toContain("secret inside");
  });
});

describe("GET /processes", () => {
  const markAll = async (ref: string, count: number) => {
    const ids: number[] = [];
    for (let index = 0; index < count; index += 1) {
      ids.push(await submit(server, "x", { autorun: false, ref: `${ref} ${index}` }));
    }
    return ids;
  };

  test("items have everything but code, name, input, files, packages, stdout and stderr", async () => {
    const record = await runScript(server, 'print x\noutput {"a":1}\nreturn [2]');
    const page = processListSchema.parse(await list("?limit=1"));
    const [item] = page.processes;
    const {
      code: _code,
      name: _name,
      input: _input,
      inputSchema: _schema,
      files: _files,
      artifacts: _artifacts,
      packages: _packages,
      stdout: _out,
      stderr: _err,
      ...rest
    } = record;
    expect(processSummarySchema.strict().parse((await list("?limit=1")).processes[0])).toEqual(rest);
    expect(item).toEqual(rest);
  });

  test("a walk by cursor sees each process once, newest first, whatever is inserted meanwhile", async () => {
    const ids = await markAll("walk", 25);
    const seen: number[] = [];
    let cursor: string | null = null;
    do {
      const page: Page = await list(`?limit=7${cursor === null ? "" : `&cursor=${cursor}`}`);
      seen.push(...page.processes.map((item) => item.id));
      cursor = page.nextCursor;
      await submit(server, "x", { autorun: false });
    } while (cursor !== null);
    expect(seen).toEqual([...seen].sort((a, b) => b - a));
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => ids.includes(id))).toEqual([...ids].reverse());
    const total = await server.pool`select 1 from processes where id <= ${seen[0] as number}`;
    expect(seen.length).toBe(total.length);
  });

  test("filters by state, exit state and ref", async () => {
    const [never = 0] = await markAll("filter", 1);
    const failed = (await runScript(server, "fail x")).id;
    const ok = (await runScript(server, "")).id;
    const running = await submit(server, "gate filter");
    const ids = async (query: string) => (await list(`?limit=200&${query}`)).processes.map((item) => item.id);
    await until("it runs", () => server.registry.get(running) !== undefined);
    expect(await ids("state=running")).toEqual([running]);
    expect(await ids("state=queued")).toEqual([]);
    const idle = await ids("state=idle");
    expect([never, failed, ok].every((id) => idle.includes(id))).toBe(true);
    expect(idle).not.toContain(running);
    expect(await ids("status=failed")).toContain(failed);
    expect(await ids("status=failed")).not.toContain(ok);
    const without = await ids("status=null");
    expect([without.includes(never), without.includes(running), without.includes(ok)]).toEqual([
      true,
      true,
      false,
    ]);
    expect(await ids("status=null&state=idle")).not.toContain(running);
    expect(await ids("ref=filter%200")).toEqual([never]);
    expect(await ids("ref=filter")).toEqual([]);
    // Stored trimmed, so looked for trimmed.
    expect(await ids("ref=%20%09filter%200%20")).toEqual([never]);
    server.environment.open("filter");
  });

  test.each([
    ["limit=0", "query.limit"],
    ["limit=201", "query.limit"],
    ["limit=5x", "query.limit"],
    ["limit=-1", "query.limit"],
    ["limit=", "query.limit"],
    ["state=stopped", "query.state"],
    ["status=ok", "query.status"],
    ["ref=a&ref=b", "query.ref"],
    ["ref=", "query.ref"],
    ["ref=%20%09", "query.ref"],
    // Refused before any schema is asked.
    ["ref=a%00b", undefined],
    ["colour=red", "query"],
  ])("refuses ?%s", async (query, path) => {
    const answer = await send<ErrorBody>(server, "GET", `/processes?${query}`);
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    expect(answer.body.issues?.[0]?.path).toBe(path);
  });

  test.each([
    "x",
    "AAAA",
    encodeCursor("modules", 5),
    encodeCursor("processes", "5"),
    encodeCursor("processes", -5),
  ])("refuses the cursor %s", async (cursor) => {
    const answer = await send<ErrorBody>(server, "GET", `/processes?cursor=${cursor}`);
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_cursor"]);
  });

  test("a page of large results ends early instead of growing without bound", async () => {
    for (let index = 0; index < 5; index += 1)
      await runScript(server, `big-return ${4 * 1024 * 1024 - 2}`, { ref: `large ${index}` });
    const first = await list("?limit=5");
    expect(first.processes.length).toBeGreaterThanOrEqual(1);
    expect(first.processes.length).toBeLessThan(5);
    const rest = await list(`?limit=5&cursor=${first.nextCursor}`);
    const refs = [...first.processes, ...rest.processes].slice(0, 5).map((item) => item.ref);
    expect(refs).toEqual(["large 4", "large 3", "large 2", "large 1", "large 0"]);
    for (const item of first.processes) expect(item.result).toHaveLength(4 * 1024 * 1024 - 2);
    await server.pool`delete from processes where ref like 'large %'`;
  });
});

describe("GET /processes/:id/calls", () => {
  const trail = async (id: number) =>
    callTrailSchema.parse((await send(server, "GET", `/processes/${id}/calls`)).body).calls;

  test("shows every call with its end, in order of issue, the same live and stored", async () => {
    const id = await submit(
      server,
      [
        'call shop list {"a":"\\u0000"}',
        "call shop deny {}",
        "call shop broken {}",
        "call-in-background shop slow {}",
        "call shop list {}",
        "sleep 100",
        "gate trail",
      ].join("\n"),
    );
    const live = await until("all five are over", async () => {
      const found = await trail(id);
      return found.length === 5 && found.every(({ status }) => status !== null) && found;
    });
    expect(live.map(({ seq, serviceId, toolId, status }) => [seq, serviceId, toolId, status])).toEqual([
      [1, "shop", "list", "ok"],
      [2, "shop", "deny", "denied"],
      [3, "shop", "broken", "error"],
      [4, "shop", "slow", "ok"],
      [5, "shop", "list", "ok"],
    ]);
    expect(live[0]).toMatchObject({
      parameters: { a: "\0" },
      parametersBytes: 14,
      result: { echoed: { a: "\0" } },
    });
    expect(live[2]).toMatchObject({ error: "adapter broke", resultBytes: 0 });
    expect("error" in (live[0] ?? {})).toBe(false);
    server.environment.open("trail");
    const record = await read(server, id, "?wait=10000");
    expect(record.usage.toolCalls).toBe(5);
    expect(record.stdout).toContain("ToolError policy_blocked: not allowed here");
    expect(await trail(id)).toEqual(live);
  });

  test("a call is cut off by the end of the run and by a kill", async () => {
    const ended = await runScript(server, "call-in-background shop hang {}");
    expect(await trail(ended.id)).toMatchObject([{ status: "canceled" }]);
    expect(calls.at(-1)?.signal?.aborted).toBe(true);
    const killed = await submit(server, "call shop hang {}");
    await until("it is called", async () => (await trail(killed)).length === 1);
    expect((await trail(killed))[0]).toMatchObject({ status: null, durationMs: null });
    await send(server, "POST", `/processes/${killed}/signals/kill`);
    await read(server, killed, "?wait=10000");
    expect(await trail(killed)).toMatchObject([{ status: "canceled" }]);
    expect(calls.at(-1)?.signal?.aborted).toBe(true);
  });

  test("a server without services refuses calls and lists nothing", async () => {
    const other = await startProcessesServer({ databaseUrl: database.url });
    await using _ = other;
    expect((await runScript(other, "call shop list {}")).stdout).toMatch(
      /^ToolError not_found: There is no service "shop"/,
    );
    expect((await runScript(other, "discover")).result).toEqual([[], []]);
    expect((await runScript(other, "ask Sure?")).stdout).toContain("no approvals");
  });
});

describe("warnings", () => {
  const warning = { code: "call_not_awaited", message: "Not awaited.", line: 3, column: 5, path: "result.a" };
  const outcome = (more: object) => `outcome ${JSON.stringify({ exitState: "success", ...more })}`;

  test("of the script and of its calls are in the record, in lists and in the end event", async () => {
    const record = await runScript(server, `call s odd {}\n${outcome({ warnings: [warning] })}`);
    const expected = [{ code: "answer_odd", message: "s.odd: It is odd." }, warning];
    expect(record).toMatchObject({ exitState: "success", warnings: expected });
    expect(await read(server, record.id)).toMatchObject({ warnings: expected });
    const page = processListSchema.parse(await (await fetch(`${server.url}/processes`)).json());
    expect(page.processes.find(({ id }) => id === record.id)?.warnings).toEqual(expected);
    const events = await (await fetch(`${server.url}/processes/${record.id}/events`)).text();
    expect(events).toContain(`"warnings":${JSON.stringify(expected)}`);
  });

  test("are at most 50, and the rest are counted", async () => {
    const warnings = new Array(50).fill(warning);
    const record = await runScript(server, `call s odd {}\n${outcome({ warnings, droppedWarnings: 4 })}`);
    expect(record.warnings).toHaveLength(51);
    expect(record.warnings.at(-1)).toEqual({
      code: "more_warnings",
      message: "5 more warnings were not kept.",
    });
  });

  test("that are malformed make the outcome unusable", async () => {
    const record = await runScript(server, outcome({ warnings: [{ code: "NO", message: "m" }] }));
    expect(record).toMatchObject({ exitState: "failed", reason: "crashed", warnings: [] });
  });

  test("an earlier run has given are gone with its results", async () => {
    const { id } = await runScript(server, outcome({ warnings: [warning] }));
    await send(server, "POST", `/processes/${id}/signals/run`, { force: true, block: true });
    expect((await read(server, id)).warnings).toEqual([warning]);
  });
});
