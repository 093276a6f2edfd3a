/** When a zygote gives way to another, and what is done where none can be had. The processes are made up, the clock is set. */
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ZygoteProcess } from "#runner/jail/spawner/spawner.ts";
import type { ChildLaunch } from "#runner/pool/spawn.ts";
import { keepZygotes } from "#runner/pool/zygote.ts";
import type { ProcessExit, Program, StartedProcess } from "#runner/process/start-process.ts";
import { encodeFrameText } from "#runner/wire/frames.ts";
import { PROTOCOL_VERSION } from "#runner/wire/protocol.ts";

const HOUR_MS = 3_600_000;
const program: Program = { path: "/node", args: [], cwd: "/" };
const launch: ChildLaunch = {
  nodePath: "/node",
  nodeVersion: "v1.2.3",
  args: [],
  cwd: "/",
  bootTimeoutMs: 10_000,
  ownLayers: [0],
};

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** A process that has no pid of this machine. */
let lastPid = 2 ** 30;
function makeProcess() {
  const exited = Promise.withResolvers<ProcessExit>();
  const pipes = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  lastPid += 1;
  return {
    ...pipes,
    pid: lastPid,
    exited: exited.promise,
    kill() {
      exited.resolve({ code: null, signal: "SIGKILL" });
      pipes.stdout.end();
    },
  };
}

type Answer = "forked" | "failed" | "nonsense" | "silence";
interface Machine {
  /** Next result of startZygote. */
  canStart: boolean;
  answer: Answer;
  /** Each zygote that was started. */
  zygotes: { forks: number; isAlive: boolean }[];
  asked: number;
  booted: number;
  troubles: string[];
}

function setUp() {
  const machine: Machine = {
    canStart: true,
    answer: "forked",
    zygotes: [],
    asked: 0,
    booted: 0,
    troubles: [],
  };
  async function startZygote(): Promise<ZygoteProcess> {
    machine.asked += 1;
    if (!machine.canStart) throw new Error("there is no room");
    const process = makeProcess();
    const seen = { forks: 0, isAlive: true };
    machine.zygotes.push(seen);
    void process.exited.then(() => {
      seen.isAlive = false;
    });
    const say = (method: string, params: unknown) =>
      process.stdout.write(encodeFrameText(JSON.stringify({ jsonrpc: "2.0", method, params })));
    say("booted", { protocol: PROTOCOL_VERSION, node: launch.nodeVersion });
    say("ready", { layers: [0], codeCache: true });
    return {
      ...process,
      exited: process.exited.then((exit) => ({ ...exit, cpuMs: 0 })),
      async fork(_group, readPid) {
        const { answer } = machine;
        const child = makeProcess();
        const read = readPid();
        if (answer === "forked") say("forked", { pid: child.pid });
        else if (answer === "failed") say("failed", { reason: "clone failed with errno 11" });
        else if (answer === "nonsense") say("forked", { pid: -1 });
        expect(await read).toBe(child.pid);
        seen.forks += 1;
        return { ...child, exited: child.exited.then((exit) => ({ ...exit, cpuMs: 0 })) };
      },
    };
  }
  const zygotes = keepZygotes({
    launch,
    startZygote,
    async boot(): Promise<StartedProcess> {
      machine.booted += 1;
      return makeProcess();
    },
    onError: (error) => void machine.troubles.push(error.message),
  });
  return { machine, zygotes };
}

test("a zygote is replaced after an hour, not before", async () => {
  const { machine, zygotes } = setUp();
  await zygotes.start(program);
  vi.advanceTimersByTime(HOUR_MS - 1000);
  await zygotes.start(program);
  expect(machine.zygotes).toEqual([{ forks: 2, isAlive: true }]);
  expect(zygotes.status()).toEqual({ ageMs: HOUR_MS - 1000, forks: 2, renewals: 0, failures: 0 });
  vi.advanceTimersByTime(1001);
  await zygotes.start(program);
  expect(machine.zygotes).toEqual([
    { forks: 2, isAlive: false },
    { forks: 1, isAlive: true },
  ]);
  expect(zygotes.status()).toEqual({ ageMs: 0, forks: 1, renewals: 1, failures: 0 });
});

test("a zygote is replaced after 10,000 forks", async () => {
  const { machine, zygotes } = setUp();
  for (let fork = 0; fork < 10_001; fork++) await zygotes.start(program);
  expect(machine.zygotes).toEqual([
    { forks: 10_000, isAlive: false },
    { forks: 1, isAlive: true },
  ]);
});

test("a suspicion ends the zygote; nothing is forked from it any more, and without one it does nothing", async () => {
  const { machine, zygotes } = setUp();
  zygotes.replaceSuspected();
  expect(machine.asked).toBe(0);
  await zygotes.start(program);
  zygotes.replaceSuspected();
  zygotes.replaceSuspected();
  await vi.waitFor(() => expect(machine.zygotes[0]?.isAlive).toBe(false));
  expect(zygotes.status()).toBeNull();
  await zygotes.start(program);
  expect(machine.zygotes).toEqual([
    { forks: 1, isAlive: false },
    { forks: 1, isAlive: true },
  ]);
  expect(zygotes.status()?.renewals).toBe(1);
});

test.each<[Answer, string]>([
  ["nonsense", "the zygote said something unexpected"],
  ["failed", "clone failed with errno 11"],
])(
  "a zygote that answers an order with what is no pid (%s) gives way to another, once",
  async (answer, why) => {
    const { machine, zygotes } = setUp();
    await zygotes.start(program);
    machine.answer = answer;
    await zygotes.start(program);
    // The second was no better: the child has booted.
    expect(machine).toMatchObject({ asked: 2, booted: 1 });
    const replaced = `The zygote is replaced: ${why}`;
    expect(machine.troubles).toEqual([
      replaced,
      replaced,
      `Children boot for 10 s, as there is no zygote: ${why}`,
    ]);
    await vi.waitFor(() => expect(machine.zygotes.map(({ isAlive }) => isAlive)).toEqual([false, false]));
    machine.answer = "forked";
    vi.advanceTimersByTime(10_000);
    // Another one starts without a run that asks for it.
    await vi.waitFor(() => expect(zygotes.status()).not.toBeNull());
    await zygotes.start(program);
    expect(machine).toMatchObject({ asked: 3, booted: 1 });
  },
);

test("a zygote that does not answer within ten seconds is ended, and the child comes from another", async () => {
  const { machine, zygotes } = setUp();
  await zygotes.start(program);
  machine.answer = "silence";
  const started = zygotes.start(program);
  await new Promise(setImmediate);
  machine.answer = "forked";
  vi.advanceTimersByTime(9_999);
  await new Promise(setImmediate);
  expect(machine.zygotes[0]?.isAlive).toBe(true);
  vi.advanceTimersByTime(1);
  await started;
  expect(machine.zygotes).toEqual([
    { forks: 1, isAlive: false },
    { forks: 1, isAlive: true },
  ]);
  expect(machine.booted).toBe(0);
  expect(machine.troubles).toEqual(["The zygote is replaced: the zygote did not answer within 10000 ms"]);
  expect(zygotes.status()).toMatchObject({ renewals: 1, failures: 1 });
});

test("where none can be started children boot, and it is tried again after 10 s, 20 s and so on up to an hour", async () => {
  const { machine, zygotes } = setUp();
  machine.canStart = false;
  const waits = [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600];
  for (const [tries, seconds] of waits.entries()) {
    await zygotes.start(program);
    expect(machine).toMatchObject({ asked: tries + 1, booted: 2 * tries + 1 });
    expect(machine.troubles.at(-1)).toContain(`Children boot for ${seconds} s`);
    expect(machine.troubles.at(-1)).toContain("there is no room");
    vi.advanceTimersByTime(seconds * 1000 - 1);
    await zygotes.start(program);
    expect(machine).toMatchObject({ asked: tries + 1, booted: 2 * tries + 2 });
    expect(zygotes.status()).toBeNull();
    vi.advanceTimersByTime(1);
  }
  machine.canStart = true;
  await zygotes.start(program);
  expect(machine).toMatchObject({ asked: waits.length + 1, booted: 2 * waits.length });
  // One that has forked is as good as any: its loss is the first.
  machine.canStart = false;
  zygotes.replaceSuspected();
  await zygotes.start(program);
  expect(machine.troubles.at(-1)).toContain("Children boot for 10 s");
});

test("closing ends the zygote, and no other is started", async () => {
  const { machine, zygotes } = setUp();
  await zygotes.start(program);
  await zygotes[Symbol.asyncDispose]();
  expect(machine.zygotes).toEqual([{ forks: 1, isAlive: false }]);
  expect(machine.troubles).toEqual([]);
});
