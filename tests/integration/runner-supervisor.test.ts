import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type RunOnChild, type SupervisedRun, superviseRun } from "#runner/host/supervisor.ts";
import { type Child, spawnChild } from "#runner/pool/spawn.ts";
import { createMonitor, type Monitor } from "#runner/process/monitor.ts";
import { DEFAULT_SESSION_LIMITS } from "#runner/wire/protocol.ts";
import { echoCalls, launchHostile, listChildren, startParams, startReal } from "./runner/harness.ts";

let monitor: Monitor;
let handlesBefore = 0;

/** Open pipes, processes and timers of this process. */
function countHandles(): number {
  return process.getActiveResourcesInfo().filter((name) => /^(PipeWrap|ProcessWrap)$/.test(name)).length;
}

// Loaded with the first child, it opens standard input, which would count.
beforeAll(() => import("execa"));

beforeEach(() => {
  handlesBefore = countHandles();
  monitor = createMonitor();
});

afterEach(async () => {
  monitor[Symbol.dispose]();
  await vi.waitFor(() => expect(listChildren()).toEqual([]), 20_000);
  await vi.waitFor(() => expect(countHandles()).toBe(handlesBefore));
});

interface Supervised extends SupervisedRun {
  child: Child;
  stdout: () => string;
  kill: AbortController;
}

function supervise(child: Child, changes: Partial<RunOnChild> & { code?: string } = {}): Supervised {
  const { code = "async()=>1", ...rest } = changes;
  const kill = new AbortController();
  const chunks: Buffer[] = [];
  const run = superviseRun({
    child,
    monitor,
    start: startParams(code),
    openCalls: () => echoCalls,
    events: { stdout: (data) => chunks.push(data), stderr() {}, output() {} },
    sessionLimits: DEFAULT_SESSION_LIMITS,
    limits: { timeoutMs: 20_000, cpuMs: null, memoryMb: 128 },
    killSignal: kill.signal,
    afterEnd: "kill",
    ...rest,
  });
  return { ...run, child, stdout: () => Buffer.concat(chunks).toString(), kill };
}

const runReal = async (code: string, changes: Partial<RunOnChild> = {}) =>
  supervise(await startReal(), { code, ...changes });
const runHostile = async (behaviour: string, changes: Partial<RunOnChild> = {}) =>
  supervise(await spawnChild(launchHostile(behaviour)), changes);

describe("a run", () => {
  test("that ends has its result and what it cost, and its child is gone", async () => {
    const { outcome, child } = await runReal(
      "async()=>{let n=0;for(let i=0;i<2e8;i++)n^=i;await tools.a.b({});return {a:[n&0]}}",
    );
    const ended = await outcome;
    expect(ended).toMatchObject({
      state: "success",
      reason: "ok",
      result: { value: { a: [0] } },
      toolCalls: 1,
    });
    expect(ended.error).toBeUndefined();
    // Work, not time: a machine that is starved gives a busy process little of it.
    expect(ended.cpuMs).toBeGreaterThan(30);
    expect(ended.wallMs).toBeGreaterThan(30);
    expect(ended.peakMemoryBytes).toBeGreaterThan(20e6);
    expect((await child.exited).signal).toBe("SIGKILL");
  });

  test("a short one has a CPU time that is not zero", async () => {
    const { outcome } = await runReal("async()=>1");
    const { cpuMs } = await outcome;
    expect(cpuMs).toBeGreaterThan(0.05);
    expect(cpuMs).toBeLessThan(1000);
  });

  test("that loops for ever is ended close to its limit, and what it printed first is there", async () => {
    const { outcome, stdout } = await runReal('async()=>{console.log("before");for(;;);}', {
      limits: { timeoutMs: 500, cpuMs: null, memoryMb: 128 },
    });
    const ended = await outcome;
    expect(ended).toMatchObject({ state: "timeout", reason: "timeout", error: { reason: "timeout" } });
    expect(ended.error?.message).toContain("500 ms");
    expect(stdout()).toBe("before\n");
    expect(ended.wallMs).toBeGreaterThanOrEqual(500);
    expect(ended.wallMs).toBeLessThan(3000);
  });

  test("that prints without end while it is ended loses nothing it had printed", async () => {
    const code =
      "async()=>{for(let i=0;;i++){console.log(String(i));const end=Date.now()+5;while(Date.now()<end);}}";
    const { outcome, stdout } = await runReal(code, {
      limits: { timeoutMs: 400, cpuMs: null, memoryMb: 128 },
    });
    await outcome;
    const lines = stdout().split("\n").slice(0, -1);
    expect(lines.length).toBeGreaterThan(5);
    expect(lines).toEqual(lines.map((_, index) => String(index)));
  });

  test("does not use up its time while it is paused", async () => {
    const { outcome, pause, resume } = await runReal(
      "async()=>{await new Promise(r=>setTimeout(r,900));return 1}",
      {
        limits: { timeoutMs: 600, cpuMs: null, memoryMb: 128 },
      },
    );
    const paused = await pause();
    expect(paused?.usedMs).toBeLessThan(600);
    await delay(600);
    resume();
    expect(await outcome).toMatchObject({ state: "success" });
  });

  test("that uses more CPU than it may is ended for that", async () => {
    const { outcome } = await runReal("async()=>{for(;;);}", {
      limits: { timeoutMs: 20_000, cpuMs: 200, memoryMb: 128 },
    });
    const ended = await outcome;
    expect(ended).toMatchObject({ state: "failed", reason: "cpu_limit" });
    expect(ended.error?.message).toContain("200 ms");
    expect(ended.wallMs).toBeLessThan(10_000);
  });

  test.each([
    ["its heap", "async()=>{const a=[];for(;;)a.push(new Array(1e5).fill(1.5))}"],
    ["buffers", "async()=>{const a=[];for(;;)a.push(new Uint8Array(16e6).fill(1))}"],
    ["strings", 'async()=>{let s="x";const a=[];for(let i=0;;i++)a.push((s+i).repeat(1e6))}'],
  ])("that fills memory with %s is ended for that, with the limit named", async (_, code) => {
    const { outcome } = await runReal(code, { limits: { timeoutMs: 25_000, cpuMs: null, memoryMb: 128 } });
    const ended = await outcome;
    expect(ended).toMatchObject({ state: "failed", reason: "memory_limit" });
    expect(ended.error?.message).toContain("128 MB");
  });

  test("that is killed is canceled at once, also before it has begun and however often", async () => {
    const { outcome, kill } = await runReal("async()=>{for(;;);}");
    await delay(50);
    kill.abort();
    kill.abort();
    expect(await outcome).toMatchObject({ state: "canceled", reason: "killed" });

    const killed = AbortSignal.abort();
    const { outcome: early } = await runReal("async()=>{for(;;);}", { killSignal: killed });
    expect(await early).toMatchObject({ state: "canceled", reason: "killed" });
  });

  test("the first reason is the one that counts", async () => {
    const { outcome, kill, child } = await runReal("async()=>{for(;;);}", {
      limits: { timeoutMs: 100, cpuMs: 90, memoryMb: 128 },
    });
    await delay(30);
    kill.abort();
    child.kill();
    await delay(200);
    expect(await outcome).toMatchObject({ reason: "killed" });
  });

  test("a call in flight is aborted when its run is killed or out of time", async () => {
    for (const reason of ["killed", "timeout"]) {
      const called = Promise.withResolvers<AbortSignal>();
      const { outcome, kill } = await runReal("async()=>{await tools.a.b({})}", {
        limits: { timeoutMs: reason === "timeout" ? 300 : null, cpuMs: null, memoryMb: 128 },
        openCalls: () => ({
          ...echoCalls,
          invoke: (_, signal) => {
            called.resolve(signal);
            return new Promise(() => {});
          },
        }),
      });
      const signal = await called.promise;
      if (reason === "killed") kill.abort();
      expect(await outcome).toMatchObject({ reason });
      expect(signal.aborted).toBe(true);
    }
  });

  test("SIGKILLed from outside at any moment is a crash, or has ended before", async () => {
    for (const waitMs of [0, 1, 3, 10, 30, 100]) {
      const { outcome, child } = await runReal(
        "async()=>{for(let i=0;i<20;i++){console.log(i);await new Promise(r=>setTimeout(r,2))}}",
      );
      await delay(waitMs);
      if (child.exit === null) process.kill(child.pid, "SIGKILL");
      const ended = await outcome;
      if (ended.state === "success") continue;
      expect(ended).toMatchObject({ state: "failed", reason: "crashed" });
      expect(ended.error?.message).toContain("SIGKILL");
    }
  });

  test("on a child that is gone already has not started", async () => {
    const child = await startReal();
    process.kill(child.pid, "SIGKILL");
    // Long enough to be dead, too short for this process to have been told.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    const { outcome } = supervise(child);
    expect(await outcome).toMatchObject({ reason: "crashed", wasNeverStarted: true, toolCalls: 0 });

    const { outcome: other } = await runReal("async()=>1");
    expect((await other).wasNeverStarted).toBe(false);
  });

  test("a child that is kept takes the next run", async () => {
    // The real child serves one run only; that it is alive and silent is what is kept.
    const { outcome, child } = await runReal("async()=>1", { afterEnd: "keep" });
    expect(await outcome).toMatchObject({ state: "success" });
    expect(child.exit).toBeNull();
    expect(child.channel.isClosed).toBe(false);
    child.kill();
    child.channel.close();
  });
});

describe("a hostile child", () => {
  test.each([
    ["run-exit", "crashed", "exit code 7"],
    ["run-exit-after-output", "crashed", "exit code 0"],
    ["run-abort", "crashed", "SIGABRT"],
    ["run-segv", "crashed", "SIGSEGV"],
    ["run-ill", "crashed", "SIGILL"],
    ["run-kill", "crashed", "SIGKILL"],
    ["run-xcpu", "cpu_limit", "CPU time"],
    ["run-sys", "sandbox_violation", "system call"],
    ["run-heap", "memory_limit", "128 MB"],
    ["run-garbage", "sandbox_violation", "not valid JSON"],
    ["run-bad-utf8", "sandbox_violation", "not valid UTF-8"],
    ["run-huge-header", "output_limit", "2147483647"],
    ["run-huge-attachment", "output_limit", "an attachment of 262145 bytes"],
    ["run-empty-attachment", "sandbox_violation", "an empty attachment"],
    ["run-attached-to-output", "sandbox_violation", "stdout: only writeFile without text"],
    ["run-attached-to-call", "sandbox_violation", "invoke: only writeFile without text"],
    ["run-attached-twice", "sandbox_violation", "writeFile: only writeFile without text"],
    ["run-attached-to-end", "sandbox_violation", "end: only writeFile without text"],
    ["run-deep", "sandbox_violation", "nested deeper"],
    ["run-forged-id", "sandbox_violation", "call id 4 does not follow 5"],
    ["run-endless", "output_limit", "67108864 bytes"],
    ["run-after-end", "sandbox_violation", "after the end"],
    ["run-closes-output", "crashed", "ended unexpectedly"],
  ])("%s ends its run as %s", async (behaviour, reason, message) => {
    const { outcome, child } = await runHostile(behaviour);
    const ended = await outcome;
    expect(ended).toMatchObject({ state: "failed", reason });
    expect(ended.error?.message).toContain(message);
    await child.exited;
  });

  test.each(["run-half-frame", "run-silent", "run-endless-tiny"])(
    "%s is out of time in the end",
    async (behaviour) => {
      const { outcome } = await runHostile(behaviour, {
        limits: { timeoutMs: 400, cpuMs: null, memoryMb: 128 },
      });
      const ended = await outcome;
      expect(["timeout", "output_limit"]).toContain(ended.reason);
      expect(ended.wallMs).toBeLessThan(5000);
    },
  );

  test("that has ended its run but does not go, or goes on talking, is killed and changes nothing", async () => {
    for (const behaviour of ["run-end-and-stay", "run-end-and-flood"]) {
      const { outcome, child } = await runHostile(behaviour);
      const ended = await outcome;
      expect(["ok", "sandbox_violation"]).toContain(ended.reason);
      expect((await child.exited).signal).toBe("SIGKILL");
    }
  });

  test("that floods descriptor 2 is not listened to there, and its run goes on", async () => {
    const { outcome, child } = await runHostile("run-engine-flood");
    expect(await outcome).toMatchObject({ state: "success" });
    expect((await child.engineText()).length).toBeLessThanOrEqual(16 * 1024);
  });

  test("what it printed before it died is not lost", async () => {
    const { outcome, stdout } = await runHostile("run-exit-after-output");
    await outcome;
    expect(stdout()).toHaveLength(100_000);
  });

  test("that calls and never reads cannot make this process grow", async () => {
    const before = process.memoryUsage().rss;
    const { outcome } = await runHostile("run-calls-and-never-reads", {
      limits: { timeoutMs: 1500, cpuMs: null, memoryMb: 128 },
      openCalls: () => ({ ...echoCalls, invoke: async () => "x".repeat(8 * 1024 * 1024) }),
    });
    expect(await outcome).toMatchObject({ reason: "timeout" });
    // 32 answers of 8 MB were asked for; copies of a few are on their way.
    expect(process.memoryUsage().rss - before).toBeLessThan(400e6);
  });

  test("that sends without end costs this process no memory and leaves it responsive", async () => {
    const before = process.memoryUsage().rss;
    let longestMs = 0;
    let last = performance.now();
    const beat = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - last);
      last = performance.now();
    }, 5);
    const { outcome } = await runHostile("run-endless-tiny", {
      limits: { timeoutMs: 1000, cpuMs: null, memoryMb: 128 },
    });
    await outcome;
    clearInterval(beat);
    expect(process.memoryUsage().rss - before).toBeLessThan(200e6);
    expect(longestMs).toBeLessThan(500);
  });
});
