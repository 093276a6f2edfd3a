/** A run is not blamed for its host: where no child can be started it waits in the queue, and ends with an honest reason at last. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createProcessEnvironment } from "#modules/typescript-process/environment.ts";
import { type Execution, type ExecutionContext, runExecution } from "#runner/host/execution.ts";
import { createSlotPool } from "#runner/host/slots.ts";
import { RLIMIT_NOFILE } from "#runner/jail/kernel/kernel-headers.ts";
import { openKernel } from "#runner/jail/kernel/syscalls.ts";
import { createMonitor } from "#runner/process/monitor.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import {
  expectNothingLeft,
  type ProcessesServer,
  read,
  send,
  startProcessesServer,
  submit,
  until,
} from "./processes-server.ts";
import { startReal } from "./runner/harness.ts";

let database: TestDatabase;
let server: ProcessesServer;
beforeAll(async () => {
  database = await createTestDatabase();
  server = await startProcessesServer({ databaseUrl: database.url, slots: 2 });
});
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});

test("a run that could not be started is queued, then runs once, and so do those beside it", async () => {
  const ids = [
    await submit(server, "not-started 2\nprint ran"),
    await submit(server, "not-started 1\nprint ran"),
  ];
  await until("one is queued again", async () => (await read(server, ids[0] as number)).state === "queued");
  ids.push(await submit(server, "print beside"));
  for (const id of ids) {
    const record = await read(server, id, "?wait=20000");
    expect(record).toMatchObject({ exitState: "success", stdout: expect.stringMatching(/^(ran|beside)\n$/) });
  }
  expect(
    server.logs.filter(({ msg }) => msg === "a run could not be started; it is queued again"),
  ).toHaveLength(3);
  await expectNothingLeft(server);
}, 60_000);

test("it is canceled while it waits for another attempt", async () => {
  const id = await submit(server, "not-started 9\nprint ran");
  await until("it is queued again", async () => (await read(server, id)).state === "queued");
  await send(server, "POST", `/processes/${id}/signals/kill`);
  expect(await read(server, id, "?wait=20000")).toMatchObject({
    exitState: "canceled",
    reason: "killed",
    stdout: "",
  });
}, 60_000);

test("after five attempts the reason is the host's, and the script is not blamed", async () => {
  const id = await submit(server, "not-started 99");
  expect(await read(server, id, "?wait=60000")).toMatchObject({
    exitState: "failed",
    reason: "interrupted",
    errorDetail: { name: "HostError", message: expect.stringContaining("in 5 attempts") },
  });
  expect(server.environment.attempts.get(id)).toBe(5);
  await expectNothingLeft(server);
}, 90_000);

test.runIf(process.platform === "linux")(
  "the bundled environment says that nothing has run when no process can be started",
  async () => {
    const environment = createProcessEnvironment();
    const none = async () => [];
    await environment.setup({
      config: { warmPool: { min: 1, max: 1 } },
      secrets: {},
      fetch: globalThis.fetch,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      bindings: new Proxy(
        {},
        { get: (_, name) => (/^(find|read)Package$/.test(String(name)) ? undefined : none) },
      ) as never,
      isolation: "development",
      zygote: false,
    });
    try {
      // Another memory limit than that of the child that waits: one is started for it.
      const run = (eid: number) =>
        environment.execute({ eid, code: "return 1", options: { timeoutMs: 30_000, memoryMb: 100 } });
      expect(await run(1)).toMatchObject({ exitState: "success" });
      const [, soft = "", hard = ""] =
        /Max open files\s+(\d+)\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
      const limit = (descriptors: bigint) =>
        openKernel().prlimit(process.pid, RLIMIT_NOFILE, { soft: descriptors, hard: BigInt(hard) });
      limit(3n);
      const failed = await run(2)
        .catch((error) => error)
        .finally(() => limit(BigInt(soft)));
      expect(failed).toMatchObject({
        code: "not_started",
        message: expect.stringContaining("could not be started"),
      });
      expect(await run(3)).toMatchObject({ exitState: "success" });
    } finally {
      await environment.teardown();
    }
  },
  60_000,
);

test("a script that none of three children got is the host's fault", async () => {
  using monitor = createMonitor();
  const taken: number[] = [];
  const pool = {
    async take() {
      const child = await startReal();
      taken.push(child.pid);
      process.kill(child.pid, "SIGKILL");
      // Long enough to be dead, too short for this process to have been told.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
      return child;
    },
  };
  const on = {
    config: { memoryMb: 128, maxMemoryMb: 128, queueTtlMs: null, maxCalls: 10, maxConcurrentCalls: 10 },
    bindings: { setState() {} },
    logger: { warn() {} },
    pool,
    slots: createSlotPool(1),
    monitor,
  } as unknown as ExecutionContext;
  const execution: Execution = {
    kill: new AbortController(),
    over: Promise.withResolvers(),
    isPaused: false,
    current: null,
  };
  await expect(runExecution(on, { eid: 1, code: "return 1" }, execution, false)).rejects.toMatchObject({
    code: "not_started",
    message: expect.stringContaining("3 children in a row"),
  });
  expect(taken).toHaveLength(3);
}, 60_000);
