import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ProcessRow, RunEnding } from "#api/processes/model/records.ts";
import type { ProcessRecord } from "#api/processes/model/schemas.ts";
import { mayChangeState, PROCESS_STATES, type ProcessState } from "#api/processes/model/states.ts";
import {
  cancelQueued,
  changeHeldState,
  finishRun,
  restartProcess,
  terminateElsewhere,
} from "#api/processes/store/changes.ts";
import {
  cancelDetached,
  pauseRun,
  recoverPausedRuns,
  requeueRun,
  resumeRun,
} from "#api/processes/store/pauses.ts";
import { claimQueued, isAbandoned, returnClaims } from "#api/processes/store/queue.ts";
import { readProcessRow } from "#api/processes/store/reads.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import {
  activate,
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
import { ScriptedEnvironment } from "./scripted-environment.ts";

let database: TestDatabase;
let server: ProcessesServer;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await startProcessesServer({ databaseUrl: database.url, slots: 2 });
});
afterEach(() => expectNothingLeft(server));
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});

const signal = (id: number, name: "run" | "kill", body?: unknown) =>
  send<ProcessRecord & ErrorBody>(server, "POST", `/processes/${id}/signals/${name}`, body);

const RESTART = { force: true, startedBy: "anonymous" };

describe("signals/run", () => {
  test("runs a process that was only stored", async () => {
    const id = await submit(server, "print now\ngate run-now", { autorun: false });
    const answer = await signal(id, "run");
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ id, exitState: null, completedAt: null });
    expect(["queued", "running"]).toContain(answer.body.state);
    server.environment.open("run-now");
    expect(await read(server, id, "?wait=10000")).toMatchObject({ exitState: "success", stdout: "now\n" });
  });

  test("with block answers when the run has ended", async () => {
    const id = await submit(server, "return 5", { autorun: false });
    const answer = await signal(id, "run", { block: true });
    expect([answer.status, answer.body.state, answer.body.result]).toEqual([200, "idle", 5]);
  });

  test("needs force when there are results, and clears them", async () => {
    const first = await runScript(server, 'print once\nwarn e\noutput {"a":1}\ncall s t {}\nreturn 1');
    const refused = await signal(first.id, "run");
    expect([refused.status, refused.body.code]).toEqual([400, "process_has_outputs"]);
    expect(await read(server, first.id)).toEqual(first);
    await server.pool`update processes set code = 'gate forced' where id = ${first.id}`;
    const again = await signal(first.id, "run", { force: true });
    expect(again.body).toMatchObject({
      exitState: null,
      reason: null,
      stdout: "",
      stderr: "",
      output: {},
      result: null,
    });
    expect(await read(server, first.id)).toMatchObject({ state: "running", stdout: "", completedAt: null });
    expect((await send(server, "GET", `/processes/${first.id}/calls`)).body).toEqual({ calls: [] });
    server.environment.open("forced");
    const second = await read(server, first.id, "?wait=10000");
    expect(second).toMatchObject({
      exitState: "success",
      stdout: "",
      output: {},
      createdAt: first.createdAt,
    });
    expect(second.completedAt).not.toBe(first.completedAt);
  });

  test("is refused unless idle; of concurrent ones exactly one wins", async () => {
    const id = await submit(server, "gate raced-run", { autorun: false });
    const answers = await Promise.all(Array.from({ length: 12 }, () => signal(id, "run")));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const lost = answers.filter(({ status }) => status !== 200);
    expect(lost.map(({ body }) => body.code)).toEqual(Array(11).fill("process_not_idle"));
    server.environment.open("raced-run");
    await read(server, id, "?wait=10000");
    expect(server.environment.inputs.filter(({ eid }) => eid === id)).toHaveLength(1);
  });

  test.each([[{ force: "yes" }], [{ block: 1 }], [{ wait: 5 }], [[]], ["x"]])(
    "refuses the body %j",
    async (body) => {
      const id = await submit(server, "", { autorun: false });
      const answer = await signal(id, "run", body);
      expect(answer.status).toBe(400);
      expect(["invalid_request", "invalid_json"]).toContain(answer.body.code);
    },
  );
});

describe("signals/kill", () => {
  test("a running process winds down and ends canceled; again is fine; idle is refused", async () => {
    const id = await submit(server, "print before\nhang\nprint never");
    await until("it runs", async () => (await read(server, id)).stdout !== "");
    const answer = await signal(id, "kill");
    expect([answer.status, answer.body.state]).toEqual([200, "terminating"]);
    const record = await read(server, id, "?wait=10000");
    expect(record).toMatchObject({
      state: "idle",
      exitState: "canceled",
      reason: "killed",
      error: null,
      stdout: "before\n",
    });
    const late = await signal(id, "kill");
    expect([late.status, late.body.code]).toEqual([409, "process_idle"]);
  });

  test("a terminating process answers 200 again and stays so until the environment confirms", async () => {
    const id = await submit(server, "deaf\ngate confirm");
    await until("it runs", () => server.environment.held === 1);
    for (let index = 0; index < 3; index += 1) {
      const answer = await signal(id, "kill");
      expect([answer.status, answer.body.state]).toEqual([200, "terminating"]);
    }
    expect((await send(server, "GET", "/processes?state=terminating")).text).toContain(`"id":${id}`);
    expect(await readProcessRow(server.pool, id)).toMatchObject({ state: "terminating" });
    server.environment.open("confirm");
    // It was deaf and came to its end: the environment's word stands.
    expect(await read(server, id, "?wait=10000")).toMatchObject({ state: "idle", exitState: "success" });
  });

  test("a queued process is canceled at once, and never runs", async () => {
    const running = [await submit(server, "gate queue"), await submit(server, "gate queue")];
    const queued = await submit(server, "print never");
    const behind = await submit(server, "print behind");
    expect(await read(server, queued)).toMatchObject({ state: "queued", startedAt: null, environment: null });
    const answer = await signal(queued, "kill");
    expect(answer.body).toMatchObject({
      state: "idle",
      exitState: "canceled",
      reason: "killed",
      startedAt: null,
    });
    expect(answer.body.completedAt).not.toBeNull();
    server.environment.open("queue");
    for (const id of [...running, behind])
      expect(await read(server, id, "?wait=10000")).toMatchObject({ exitState: "success" });
    expect(server.environment.inputs.some(({ eid }) => eid === queued)).toBe(false);
  });

  test("a killed queued process answers who blocks on it", async () => {
    await Promise.all([submit(server, "gate blocked-queue"), submit(server, "gate blocked-queue")]);
    const blocked = send<ProcessRecord>(server, "POST", "/processes", {
      code: "print x",
      block: true,
      ref: "blocked",
    });
    const [item] = await until("it is queued", async () => {
      const page = await send<{ processes: ProcessRecord[] }>(
        server,
        "GET",
        "/processes?ref=blocked&state=queued",
      );
      return page.body.processes.length === 1 && page.body.processes;
    });
    await signal(item?.id ?? 0, "kill");
    expect((await blocked).body).toMatchObject({ state: "idle", exitState: "canceled" });
    server.environment.open("blocked-queue");
    await until("the others are done", () => server.registry.size === 0);
  });

  test("killing at any moment of many short runs leaves one end each, and nothing behind", async () => {
    const ids = await Promise.all(
      Array.from({ length: 40 }, (_, index) => submit(server, `sleep ${index % 5}\nprint x`)),
    );
    await Promise.all(
      ids.map(async (id, index) => {
        await new Promise((resolve) => setTimeout(resolve, (index * 7) % 20));
        expect([200, 409]).toContain((await signal(id, "kill")).status);
      }),
    );
    for (const id of ids) {
      const record = await read(server, id, "?wait=10000");
      expect(record.state).toBe("idle");
      expect(["success ok", "canceled killed"]).toContain(`${record.exitState} ${record.reason}`);
    }
  });

  test("an environment that never confirms does not keep the process, and the id waits for it", {
    timeout: 40_000,
  }, async () => {
    const id = await submit(server, "deaf\ngate never-confirmed\nprint late");
    await until("it runs", () => server.environment.held === 1);
    await signal(id, "kill");
    const record = await read(server, id, "?wait=30000");
    expect(record).toMatchObject({ state: "idle", exitState: "canceled", reason: "killed" });
    expect(JSON.stringify(server.logs)).toContain("not confirmed the end");
    expect(server.service.health()).toMatchObject({ slotsTaken: 0, active: 0 });
    const refused = await signal(id, "run", { force: true });
    expect([refused.status, refused.body.code]).toEqual([409, "process_not_idle"]);
    server.environment.open("never-confirmed");
    await until("it has let go", () => server.environment.held === 0);
    expect(await read(server, id)).toMatchObject({ stdout: "" });
    await until(
      "it may run",
      async () => (await signal(id, "run", { force: true, block: true })).status === 200,
    );
  });
});

describe("DELETE /processes/:id", () => {
  test("removes an idle process with everything of it", async () => {
    const { id } = await runScript(server, "print x\ncall a b {}", { ref: "to delete" });
    const answer = await send(server, "DELETE", `/processes/${id}`);
    expect([answer.status, answer.text]).toEqual([204, ""]);
    expect((await send(server, "GET", `/processes/${id}`)).status).toBe(404);
    expect((await send(server, "DELETE", `/processes/${id}`)).status).toBe(404);
    expect(await server.pool`select 1 from process_results where process_id = ${id}`).toHaveLength(0);
    expect(await server.pool`select 1 from tool_calls where process_id = ${id}`).toHaveLength(0);
    await submit(server, "", { ref: "to delete" });
  });

  test("is refused unless idle", async () => {
    const id = await submit(server, "gate delete");
    const answer = await send<ErrorBody>(server, "DELETE", `/processes/${id}`);
    expect([answer.status, answer.body.code]).toEqual([409, "process_not_idle"]);
    expect(answer.body.error).toContain("running");
    server.environment.open("delete");
    await read(server, id, "?wait=10000");
    expect((await send(server, "DELETE", `/processes/${id}`)).status).toBe(204);
  });
});

describe("environments", () => {
  test("without one a run answers 503 before anything is stored; storing does not need one", async () => {
    await using other = await startProcessesServer({ databaseUrl: database.url, active: false });
    const before = await server.pool`select 1 from processes`;
    const refused = await send<ErrorBody>(other, "POST", "/processes", {
      code: "print x",
      ref: "no environment",
    });
    expect([refused.status, refused.body.code]).toEqual([503, "no_environment"]);
    expect(await server.pool`select 1 from processes`).toHaveLength(before.length);
    const id = await submit(other, "print x", { autorun: false, options: { memoryMb: 9999 } });
    const run = await send<ErrorBody>(other, "POST", `/processes/${id}/signals/run`);
    expect([run.status, run.body.code]).toEqual([503, "no_environment"]);
    activate(other.environments, other.environment);
    const record = await send<ProcessRecord>(other, "POST", `/processes/${id}/signals/run`, { block: true });
    expect(record.body).toMatchObject({ exitState: "success", options: { memoryMb: 512 } });
  });

  test("a switch: runs of the old one end there, new ones start in the new one, the queue goes on", async () => {
    await using other = await startProcessesServer({ databaseUrl: database.url, slots: 1 });
    const next = new ScriptedEnvironment(1);
    await next.setup({
      config: {},
      secrets: {},
      fetch: globalThis.fetch,
      logger: other.app.log,
      bindings: other.environment.bindings,
    });
    const old = await submit(other, "gate switch\nprint old");
    const queued = await submit(other, "print queued");
    activate(other.environments, next, "scripted-2");
    expect(await read(other, queued, "?wait=10000")).toMatchObject({
      exitState: "success",
      environment: "scripted-2",
    });
    expect(other.environments.draining()).toEqual([{ id: "scripted", runs: 1 }]);
    other.environment.open("switch");
    expect(await read(other, old, "?wait=10000")).toMatchObject({ stdout: "old\n", environment: "scripted" });
    await until("the old one is gone", () => other.environments.draining().length === 0);
    await expectNothingLeft(other);
  });
});

describe("changes of state in the database", () => {
  /** Without a server, which would take what it does not run for lost. */
  let own: TestDatabase;
  beforeAll(async () => {
    own = await createTestDatabase();
  });
  afterAll(() => own?.drop());
  const OTHER = randomUUID();
  const claims = new Map<number, string>();

  /** A row in a state, by the shortest legal way. */
  async function rowIn(state: ProcessState): Promise<number> {
    const claim = randomUUID();
    const held = !["idle", "queued"].includes(state);
    const [row] = await own.pool<{ id: number }[]>`
      insert into processes (code, state, claim, queued_at, started_at)
      values ('', ${state}, ${held ? claim : null}, now(), case when ${held}::boolean then now() end) returning id`;
    claims.set(row?.id ?? 0, claim);
    if (state === "running" || state === "paused") {
      await own.pool`
        insert into process_checkpoints (process_id, run, replayable, detached, usage)
        values (${row?.id ?? 0}, ${claim}, true, ${state === "paused"}, '{}')`;
      await own.pool`
        insert into approvals (
          id, process_id, run, seq, kind, destructive, digest, message, requested_by, expires_at, state, decided_at
        )
        values (${`apr_${"x".repeat(22)}`}, ${row?.id ?? 0}, ${claim}, 1, 'ask', false, sha256(''), '?', 'anonymous',
          now(), 'expired', now())`;
    }
    return row?.id ?? 0;
  }

  const asRow = async (id: number, isDone: boolean) => (isDone ? readProcessRow(own.pool, id) : null);

  const ending = (id: number, claim: string): RunEnding => ({
    id,
    claim,
    exitState: "success",
    reason: "ok",
    error: null,
    memoryMb: null,
    usage: { queuedMs: 0, startMs: 0, wallMs: 0, cpuMs: 0, peakMemoryBytes: 0, toolCalls: 0 },
    stdout: Buffer.alloc(0),
    stderr: Buffer.alloc(0),
    levels: null,
    truncated: { stdout: false, stderr: false },
    output: "{}",
    outputs: 0,
    result: null,
    calls: [],
    artifacts: [],
    packages: [],
    warnings: [],
  });

  /** The statements by which a state is entered. */
  const entries: Record<
    ProcessState,
    ((id: number, from: ProcessState) => Promise<ProcessRow | null | undefined>)[]
  > = {
    queued: [
      (id) => restartProcess(own.pool, id, null, RESTART),
      async (id) => asRow(id, await requeueRun(own.pool, id, `apr_${"x".repeat(22)}`)),
      async (id) => {
        const nobody = { replica: null, unheld: null, maxSilentMs: null };
        const queued = await recoverPausedRuns(own.pool, isAbandoned(own.pool, nobody), true);
        return asRow(id, queued.includes(id));
      },
      async (id) => {
        const returned = await returnClaims(own.pool, [{ id, claim: claims.get(id) ?? "" }]);
        return asRow(id, returned.includes(id));
      },
    ],
    running: [
      (id) => restartProcess(own.pool, id, { environment: "e", claim: randomUUID(), replica: null }, RESTART),
      async (id) =>
        (
          await claimQueued(own.pool, {
            environment: "e",
            replica: null,
            maxRows: 100,
            maxPerCaller: null,
          })
        ).find((row) => row.id === id),
      (id) => changeHeldState(own.pool, id, claims.get(id) ?? "", "running"),
      async (id, from) =>
        asRow(id, (await resumeRun(own.pool, id, claims.get(id) ?? "")) && from !== "running"),
    ],
    paused: [
      (id) => changeHeldState(own.pool, id, claims.get(id) ?? "", "paused"),
      async (id, from) => {
        const claim = claims.get(id) ?? "";
        const { usage } = ending(id, claim);
        const isDone = await pauseRun(
          own.pool,
          { id, claim, run: claim },
          { replayable: true, usage, unanswered: [] },
        );
        return asRow(id, isDone && from !== "paused");
      },
    ],
    terminating: [
      (id) => changeHeldState(own.pool, id, claims.get(id) ?? "", "terminating"),
      async (id, from) => {
        // A paused run without a child is ended at once instead.
        await own.pool`update processes set replica = ${OTHER} where id = ${id}`;
        await own.pool`update process_checkpoints set detached = false where process_id = ${id}`;
        return asRow(id, (await terminateElsewhere(own.pool, id, OTHER)) && from !== "terminating");
      },
    ],
    idle: [
      (id) => cancelQueued(own.pool, id),
      async (id) => asRow(id, await cancelDetached(own.pool, id)),
      (id) => finishRun(own.pool, ending(id, claims.get(id) ?? "")),
    ],
  };
  const pairs = PROCESS_STATES.flatMap((from) =>
    PROCESS_STATES.map((to): [ProcessState, ProcessState] => [from, to]),
  );

  test.each(pairs)("%s to %s happens by its statement exactly when the table allows it", async (from, to) => {
    let reached = false;
    for (const enter of entries[to]) {
      const id = await rowIn(from);
      const row = await enter(id, from);
      const after = (await readProcessRow(own.pool, id))?.state;
      expect(after).toBe(row ? to : from);
      reached ||= row !== null && row !== undefined;
      await own.pool`delete from processes where id = ${id}`;
    }
    expect(reached).toBe(mayChangeState(from, to));
  });

  test.each(["running", "paused", "terminating"] as const)(
    "a late message of an earlier run never lands on a run that is %s",
    async (state) => {
      const id = await rowIn(state);
      const earlier = randomUUID();
      expect(await finishRun(own.pool, ending(id, earlier))).toBeNull();
      for (const to of ["running", "paused", "terminating"] as const) {
        expect(await changeHeldState(own.pool, id, earlier, to)).toBeNull();
      }
      expect((await readProcessRow(own.pool, id))?.state).toBe(state);
      expect(await own.pool`select 1 from process_results where process_id = ${id}`).toHaveLength(0);
      await own.pool`delete from processes where id = ${id}`;
    },
  );

  test.each([
    ["state = 'gone'"],
    ["state = 'running', claim = null"],
    ["exit_state = 'success', reason = 'killed', completed_at = now()"],
    ["exit_state = 'success', reason = 'ok'"],
    ["reason = 'ok'"],
    ["state = 'queued', queued_at = null"],
    ["state = 'queued', queued_at = now(), exit_state = 'failed', reason = 'crashed', completed_at = now()"],
  ])("the database itself refuses %s", async (change) => {
    const id = await submit(server, "", { autorun: false });
    await expect(server.pool.unsafe(`update processes set ${change} where id = ${id}`)).rejects.toThrow(
      "check constraint",
    );
  });
});
