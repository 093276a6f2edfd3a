/** Runs in processes that are forked from one: what they share with each other and with it, and what becomes of them. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { PassThrough } from "node:stream";
import { afterEach, describe, expect, test } from "vitest";
import { createProcessEnvironment } from "#modules/typescript-process/environment.ts";
import { planProcessLaunch } from "#runner/isolation/process-launch.ts";
import { openWall } from "#runner/isolation/wall.ts";
import type { Attack, StepArgument } from "#runner/jail/attack.ts";
import {
  CLONE_PARENT,
  EACCES,
  EINVAL,
  ENOSYS,
  EPERM,
  MADV_DONTFORK,
  PR_SET_PDEATHSIG,
  SIGCHLD,
} from "#runner/jail/kernel/kernel-headers.ts";
import { type SyscallName, syscallNumber } from "#runner/jail/seccomp/syscall-numbers.ts";
import { DIST } from "#runner/paths.ts";
import { type ChildLaunch, spawnChild } from "#runner/pool/spawn.ts";
import { keepZygotes } from "#runner/pool/zygote.ts";
import { readOwnBytes } from "#runner/process/monitor.ts";
import { findNodeBinary } from "#runner/process/node-binary.ts";
import { openEmptyFolder } from "#runner/process/temporary.ts";
import type { BootedParams } from "#runner/wire/protocol.ts";
import { type Bench, type EnvironmentUnderTest, openBench } from "../contract/bench.ts";
import { findZygote, listForks, listProcesses, listZygotes } from "./host-realm/forks.ts";

const ENOTSOCK = 88;
const MADV_DOFORK = 11;
const AT_FDCWD = -100;

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const bench of opened.splice(0)) await bench[Symbol.asyncDispose]();
});

async function open(more: Partial<EnvironmentUnderTest> = {}): Promise<Bench> {
  const config = { warmPool: { min: 2, max: 2 } };
  const bench = await openBench({
    instantiate: () => createProcessEnvironment(),
    config,
    zygote: true,
    ...more,
  });
  opened.push(bench);
  return bench;
}

const zygoteOf = (bench: Bench) => bench.module.status?.().zygote;

/** Where the kernel has put what it puts at random. The program is not among it: Node is built for one address. */
const RANDOM_PARTS = { libc: /libc\.so[^/]*$/, stack: /\[stack\]$/, heap: /\[heap\]$/ };
function readLayout(pid: number): [part: string, at: string | undefined][] {
  const lines = readFileSync(`/proc/${pid}/maps`, "latin1").split("\n");
  return Object.entries(RANDOM_PARTS).map(([part, end]) => [
    part,
    lines.find((line) => end.test(line))?.split("-", 1)[0],
  ]);
}

/** What a zygote and its forks have open together. */
function listShared(): string[] {
  const held = [findZygote(), ...listForks().map(({ pid }) => pid)].map((pid) => new Set(listOpenFiles(pid)));
  for (const files of held) expect(files.size).toBeGreaterThan(3);
  return held.flatMap((files, at) =>
    held.slice(at + 1).flatMap((other) => [...files].filter((file) => other.has(file))),
  );
}

/** What a process has open, as what the kernel calls the same in every process that has it open too. */
function listOpenFiles(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    const target = readlinkSync(`/proc/${pid}/fd/${fd}`);
    if (!target.startsWith("anon_inode:")) return [target];
    const id = /^eventfd-id:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, "latin1"))?.[1];
    return id === undefined ? [] : [`eventfd ${id}`];
  });
}

/**
 * What is asked of the kernel in a fork before its lock and after it, beside what the self-test asks. `others`: a zygote and a fork of
 * the same server. What ends the process at once is tried in escape-host-realm.test.ts.
 */
function planForkAttacks(others: readonly number[]): {
  birth: (Attack & Expected)[];
  locked: (Attack & Expected)[];
} {
  const one = (
    name: SyscallName,
    args: StepArgument[],
    answers: readonly number[],
    more: Partial<Attack> = {},
  ) => {
    const call = syscallNumber(name, process.arch === "arm64" ? "aarch64" : "x86_64") ?? -1;
    return { name: `${name} ${JSON.stringify(args)}`, answers, steps: [{ call, args }], ...more };
  };
  const message = { bytes: Array<number>(56).fill(0) };
  const open = (pid: number, file: string) =>
    one("openat", [AT_FDCWD, { text: `/proc/${pid}/${file}` }, 0, 0], [-EPERM, -EACCES]);
  const always = [
    one("recvmsg", [3, message, 0], [-EPERM]),
    one("kill", [0, 0], [-EPERM]),
    one("kill", [-1, 0], [-EPERM]),
    one("sendmsg", [0, message, 0], [-EPERM]),
    one("madvise", [0, 0, MADV_DONTFORK], [-EINVAL, -EPERM]),
    one("process_madvise", [-1, 0, 0, MADV_DOFORK, 0], [-EPERM, -ENOSYS]),
    one("pidfd_getfd", [-1, 0, 0], [-EPERM]),
    ...others.flatMap((pid) => [
      one("kill", [pid, 0], [-EPERM]),
      one("tkill", [pid, 0], [-EPERM]),
      one("rt_sigqueueinfo", [pid, 0, { bytes: Array<number>(128).fill(0xff) }], [-EPERM]),
      one("pidfd_open", [pid, 0], [-EPERM]),
      one("prlimit64", [pid, 7, 0, { bytes: Array<number>(16).fill(0) }], [-EPERM]),
      ...["mem", "maps", "environ", "cwd"].map((file) => open(pid, file)),
    ]),
  ];
  return {
    // The orders to the zygote are not there: standard input is a pipe of the fork's own.
    birth: [...always, one("recvmsg", [0, message, 0], [-ENOTSOCK])],
    locked: [
      ...always,
      one("recvmsg", [0, message, 0], [-EPERM]),
      one("madvise", [0, 0, MADV_DOFORK], [-EPERM]),
      one("clone", [CLONE_PARENT | SIGCHLD, 0, 0, 0, 0], [-EPERM], { isFork: true }),
      one("prctl", [PR_SET_PDEATHSIG, 0], [-EPERM]),
      one("setpgid", [0, 0], [-EPERM]),
      // What a fork could still do before its lock, when only our code runs.
      ...others.flatMap((pid) => [one("tgkill", [pid, pid, 0], [-EPERM]), open(pid, "fd/0")]),
      // Nothing of the zygote is left open: three pipes, and what the event loop opened anew.
      ...Array.from({ length: 61 }, (_, at) => at + 3).map((fd) => one("dup3", [fd, 63, 0], [-EPERM])),
    ],
  };
}
interface Expected {
  name: string;
  answers: readonly number[];
}

describe.runIf(process.platform === "linux")("the zygote", () => {
  test("a fork is refused what a child is, before its lock and after it", async () => {
    const bench = await open({
      instantiate: () => createProcessEnvironment(undefined, { test: "in each child" }),
    });
    expect(zygoteOf(bench)?.forks).toBeGreaterThan(0);
    expect(await bench.run("return 1")).toMatchObject({ result: 1 });
    expect(bench.module.status?.().isolation.level).toBe("strict");
  });

  test("a fork cannot fork, reach the zygote or its siblings, or undo what keeps it apart", async () => {
    await using stack = new AsyncDisposableStack();
    const { path: cwd } = stack.use(await openEmptyFolder("run"));
    const node = findNodeBinary();
    const options = { level: "strict", nodePath: node.path, readable: [DIST], cwd, paranoid: false } as const;
    const wall = stack.use(await openWall(options));
    const settings = { allowEval: false, allowWasm: false, paranoid: false };
    const troubles: Error[] = [];
    const keep = (launch: ChildLaunch) =>
      keepZygotes({
        launch,
        startZygote: wall.startZygote as NonNullable<typeof wall.startZygote>,
        boot: wall.start,
        onError: (error) => troubles.push(error),
      });
    const planOther = planProcessLaunch(node, wall, settings, cwd);
    const others = stack.use(keep(planOther(64, "zygote")));
    const sibling = await spawnChild(planOther(64), undefined, others.start);
    const attacks = planForkAttacks([findZygote(), sibling.pid]);
    const given = ({ steps, isFork }: Attack): Attack => ({ steps, ...(isFork && { isFork }) });
    const own = { birth: attacks.birth.map(given), locked: attacks.locked.map(given) };
    const plan = planProcessLaunch(node, { ...wall, attacks: own }, settings, cwd);
    const zygotes = stack.use(keep(plan(64, "zygote")));
    let seen: BootedParams["answers"];
    const inspect = (_: number, booted: BootedParams) => {
      seen = booted.answers;
      return null;
    };
    const child = await spawnChild({ ...plan(64), inspect }, undefined, zygotes.start);
    expect(sibling.exit).toBeNull();
    for (const one of [child, sibling]) one.kill();
    expect(troubles).toEqual([]);
    expect(zygotes.status()?.forks).toBe(1);
    for (const when of ["birth", "locked"] as const) {
      expect(seen?.[when]).toHaveLength(attacks[when].length);
      for (const [at, { name, answers }] of attacks[when].entries()) {
        expect({ when, name, answer: seen?.[when][at] }).toEqual({
          when,
          name,
          answer: answers.find((answer) => answer === seen?.[when][at]),
        });
      }
    }
  });

  test("that is killed between a fork and its report costs no run, and leaves no process", async () => {
    await using stack = new AsyncDisposableStack();
    const { path: cwd } = stack.use(await openEmptyFolder("run"));
    const node = findNodeBinary();
    const options = { level: "strict", nodePath: node.path, readable: [DIST], cwd, paranoid: false } as const;
    const wall = stack.use(await openWall(options));
    const plan = planProcessLaunch(node, wall, { allowEval: false, allowWasm: false, paranoid: false }, cwd);
    const startZygote = wall.startZygote as NonNullable<typeof wall.startZygote>;
    const troubles: Error[] = [];
    /** What the first zygote says, until the test keeps it to itself. */
    let keepQuiet = () => {};
    let isFirst = true;
    const zygotes = stack.use(
      keepZygotes({
        launch: plan(64, "zygote"),
        async startZygote(program) {
          const zygote = await startZygote(program);
          if (!isFirst) return zygote;
          isFirst = false;
          const told = new PassThrough();
          zygote.stdout.on("data", (data) => told.write(data)).on("end", () => told.end());
          keepQuiet = () => zygote.stdout.removeAllListeners("data");
          return { ...zygote, stdout: told };
        },
        boot: wall.start,
        onError: (error) => troubles.push(error),
      }),
    );
    const first = await spawnChild(plan(64), undefined, zygotes.start);
    const zygote = findZygote();
    keepQuiet();
    const starting = spawnChild(plan(64), undefined, zygotes.start);
    const listUnknown = () => listForks().filter(({ pid }) => pid !== first.pid);
    await expect.poll(() => listUnknown().length, { timeout: 5000 }).toBe(1);
    const [orphan] = listUnknown();
    process.kill(zygote, "SIGKILL");
    const second = await starting;
    expect(second.pid).not.toBe(orphan?.pid);
    expect(second.ready.isFork).toBe(true);
    expect(zygotes.status()).toMatchObject({ forks: 1, renewals: 1 });
    expect(findZygote()).not.toBe(zygote);
    expect(first.exit).toBeNull();
    await expect
      .poll(() => listProcesses().filter(({ pid }) => pid === orphan?.pid), { timeout: 10_000 })
      .toEqual([]);
    for (const child of [first, second]) child.kill();
    expect(troubles.map(({ message }) => message)).toEqual([
      expect.stringContaining("The zygote is replaced"),
    ]);
  });

  test("forks every child, and each has the server as its parent", async () => {
    const bench = await open();
    const before = zygoteOf(bench)?.forks ?? 0;
    expect(before).toBeGreaterThan(0);
    for (let run = 0; run < 5; run++) expect(await bench.run("return 1")).toMatchObject({ result: 1 });
    expect(zygoteOf(bench)).toMatchObject({ renewals: 0 });
    expect(zygoteOf(bench)?.forks).toBeGreaterThanOrEqual(before + 3);
    expect(listForks().length).toBeGreaterThan(0);
  });

  test("shares no pipe and no event with a fork, nor does one fork with another", async () => {
    const bench = await open();
    const run = bench.start(
      "console.log('up'); await new Promise((resolve) => setTimeout(resolve, 60_000))",
      { timeoutMs: 60_000 },
    );
    await run.printed("up");
    await expect.poll(() => bench.module.status?.().warm).toBeGreaterThan(0);
    await expect.poll(() => listForks().length).toBeGreaterThan(1);
    // One that is just being made closes what it inherited before it is ready.
    await expect.poll(listShared, { timeout: 10_000 }).toEqual([]);
    await run.kill();
  });

  test("is counted in the memory of the environment, and what it shares with its forks once", async () => {
    const bench = await open();
    await expect.poll(() => listForks().length).toBe(2);
    const own = [findZygote(), ...listForks().map(({ pid }) => pid)].map(readOwnBytes);
    const all = bench.module.status?.().memoryBytes ?? 0;
    expect(all).toBeGreaterThan(5_000_000);
    // Nearly all of what each has of its own, by the kernel's count, is the same pages.
    expect(all).toBeLessThan(own.reduce((sum, bytes) => sum + bytes, 0));
  });

  test("gives no two runs the same random numbers, and none an old clock", async () => {
    const bench = await open();
    const code = `const bytes = crypto.getRandomValues(new Uint8Array(8)).join();
      const before = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 30));
      return { random: Math.random(), bytes, id: crypto.randomUUID(), now: Date.now(), waited: performance.now() - before }`;
    const seen: { random: number; bytes: string; id: string; now: number; waited: number }[] = [];
    for (let run = 0; run < 6; run++) {
      const from = Date.now();
      const { result } = await bench.run(code);
      expect(result.now).toBeGreaterThanOrEqual(from);
      expect(result.now).toBeLessThanOrEqual(Date.now());
      // A timer that is armed against a clock of the time of the fork would fire at once.
      expect(result.waited).toBeGreaterThanOrEqual(28);
      seen.push(result);
    }
    for (const key of ["random", "bytes", "id"] as const) {
      expect(new Set(seen.map((one) => one[key])).size).toBe(seen.length);
    }
  });

  test("passes nothing of one run to the next", async () => {
    const bench = await open();
    const leave = `globalThis.left = 1; Array.prototype.left = 2; Object.prototype.left = 3; console.left = 4; return 1`;
    await bench.run(leave);
    const look = "return [globalThis.left, [].left, {}.left, console.left].every((one) => one === undefined)";
    for (let run = 0; run < 4; run++) expect((await bench.run(look)).result).toBe(true);
  });

  test("lets a script find nothing of the warm-up of its process", async () => {
    const look = `const names = (value) => value === null || value === undefined ? [] : Reflect.ownKeys(value).map(String);
      const built = [globalThis, console, cyrnel, Object.prototype, Function.prototype, Error, Error.prototype, Promise, Array.prototype];
      return { names: built.map(names), gc: typeof gc, timer: typeof setTimeout(() => {}, 0), stack: new Error("x").stack, regExp: [RegExp.lastMatch, RegExp.input, RegExp.$1] }`;
    const forked = await open({ config: { warmPool: { min: 1, max: 1 } } });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const warmedUp = await forked.run(look);
    const booted = await open({ zygote: false });
    expect(warmedUp.result).toEqual((await booted.run(look)).result);
    expect(warmedUp.result.gc).toBe("undefined");
  });

  test("costs no run that has begun when it is killed; the next have another", async () => {
    const bench = await open();
    const run = bench.start(
      "console.log('up'); await new Promise((resolve) => setTimeout(resolve, 400)); return (await tools.test.echo({ a: 1 }))",
    );
    await run.printed("up");
    process.kill(findZygote(), "SIGKILL");
    expect(await run.done).toMatchObject({ state: "success" });
    for (let more = 0; more < 5; more++) expect(await bench.run("return 1")).toMatchObject({ result: 1 });
    expect(zygoteOf(bench)).toMatchObject({ renewals: 1 });
  });

  test.each(["SIGSEGV", "SIGSYS", "SIGILL"] as const)(
    "is replaced at once after a fork that ended by %s, with the children that wait",
    async (signal) => {
      const bench = await open({ config: { warmPool: { min: 1, max: 1 } } });
      const [taken, ...more] = listForks();
      expect(more).toEqual([]);
      const run = bench.start(
        "console.log('up'); await new Promise((resolve) => setTimeout(resolve, 60_000))",
        { timeoutMs: 60_000 },
      );
      await run.printed("up");
      await expect.poll(() => listForks().length).toBe(2);
      const waiting = listForks().find(({ pid }) => pid !== taken?.pid)?.pid;
      const zygote = findZygote();
      const layout = readLayout(zygote);
      // It is that of its forks, so it is what a run can learn.
      expect(readLayout(waiting as number)).toEqual(layout);
      process.kill(taken?.pid as number, signal);
      expect(await run.done).toMatchObject({ state: "failed" });
      expect(await bench.run("return 1")).toMatchObject({ result: 1 });
      expect(zygoteOf(bench)?.renewals).toBeGreaterThanOrEqual(1);
      expect(findZygote()).not.toBe(zygote);
      expect(listForks().filter(({ pid }) => pid === waiting)).toEqual([]);
      // Addresses that a crash has told are worth nothing any more.
      const next = readLayout(findZygote());
      for (const [at, part] of layout.entries()) {
        expect(part[1]).toBeDefined();
        expect(next[at]).not.toEqual(part);
      }
    },
  );

  test("can be switched off: every run has a process that was booted for it", async () => {
    const bench = await open({ zygote: false });
    expect(zygoteOf(bench)).toBeNull();
    expect(await bench.run("return 1")).toMatchObject({ result: 1 });
    expect(listForks()).toEqual([]);
  });

  test("has one beside it for another memory limit once that was asked for, which holds in its forks", async () => {
    const bench = await open();
    const forks = () => zygoteOf(bench)?.forks ?? 0;
    await expect.poll(() => bench.module.status?.().warm).toBe(2);
    const before = forks();
    expect(await bench.run("return 1", { memoryMb: 64 })).toMatchObject({ result: 1 });
    expect(forks()).toBe(before);
    await expect.poll(() => listZygotes().length, { timeout: 5000 }).toBe(2);
    await expect
      .poll(
        async () => {
          expect(await bench.run("return 1", { memoryMb: 64 })).toMatchObject({ result: 1 });
          return forks();
        },
        { timeout: 5000 },
      )
      .toBeGreaterThan(before);
    const filled = forks();
    const grow = "const kept = []; for (;;) kept.push(new Array(100_000).fill(kept.length))";
    const limited = await bench.run(grow, { memoryMb: 64 });
    expect(limited.error).toMatchObject({
      reason: "memory_limit",
      message: expect.stringContaining("64"),
    });
    expect(forks()).toBe(filled + 1);
    // Below the usual limit and above its own.
    const fits =
      "const kept = []; for (let i = 0; i < 100; i++) kept.push(new Array(100_000).fill(i)); return kept.length";
    expect((await bench.run(fits, { memoryMb: 64 })).error).toMatchObject({ reason: "memory_limit" });
    expect(await bench.run(fits)).toMatchObject({ result: 100 });
    const renewals = zygoteOf(bench)?.renewals ?? 0;
    for (const { pid } of listZygotes()) process.kill(pid, "SIGKILL");
    await expect.poll(() => listZygotes().length).toBe(0);
    expect(await bench.run("return 1", { memoryMb: 64 })).toMatchObject({ result: 1 });
    expect(await bench.run("return 1")).toMatchObject({ result: 1 });
    await expect.poll(() => zygoteOf(bench)?.renewals).toBe(renewals + 2);
  });

  test("keeps at most four beside the usual one", async () => {
    const bench = await open();
    for (const memoryMb of [40, 48, 56, 64, 72]) {
      await bench.run("return 1", { memoryMb });
      await expect.poll(() => listZygotes().length, { timeout: 5000 }).toBeGreaterThan(1);
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    await expect.poll(() => listZygotes().length, { timeout: 5000 }).toBe(5);
  });

  test("is not used where WebAssembly needs threads", async () => {
    const bench = await open();
    await bench.withConfig({ allowWasm: true }, async (other) => {
      expect(zygoteOf(other)).toBeNull();
      expect(await other.run("return 1")).toMatchObject({ result: 1 });
    });
  });
});
