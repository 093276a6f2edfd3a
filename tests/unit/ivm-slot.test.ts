/** A slot process that lies: the server's half (slot-run.ts, pool.ts, session.ts) against hand-written messages over a real channel. */
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { beginSlotRun, type SlotRun } from "#modules/typescript-ivm/slot-run.ts";
import { type RunOutcome, superviseRun } from "#runner/host/supervisor.ts";
import { Pool } from "#runner/pool/pool.ts";
import type { Child } from "#runner/pool/spawn.ts";
import { createMonitor } from "#runner/process/monitor.ts";
import type { ProcessExit } from "#runner/process/start-process.ts";
import { createChannel } from "#runner/wire/channel.ts";
import { createFrameReader, encodeFrame } from "#runner/wire/frames.ts";
import { DEFAULT_SESSION_LIMITS } from "#runner/wire/protocol.ts";

const DONE = { method: "done", params: { cpuMs: 1, peakMemoryBytes: 1, cause: null } };
const IDLE = { method: "idle" };
const END = { jsonrpc: "2.0", method: "end", params: { ok: true, result: "own" } };
const BEGIN = { memoryMb: 64, backstopMs: 1000 };

interface Peer {
  slot: Child;
  pool: Pool;
  say(...messages: unknown[]): void;
  heard(): unknown[];
  /** How often a run left it fit for the next one. */
  idles: number;
  /** Why it was killed, by its runs and by the pool; null: by the server's own will. */
  deaths: (string | null)[];
  stdout: string[];
  /** Opens a run on the slot, which must be idle, and gives the slot back to the pool after it. */
  begin(): Promise<SlotRun>;
  /** Starts a run on the slot, as the environment does. */
  run(): Promise<{ outcome: Promise<RunOutcome>; finish(): Promise<unknown>; release(): void }>;
  /** `busy`: it is neither dead nor can it be given a run. */
  state(): "idle" | "busy" | "dead";
}

const monitor = createMonitor();
let peer: Peer;

async function openPeer(): Promise<Peer> {
  const toHost = new PassThrough();
  const fromHost = new PassThrough();
  const reader = createFrameReader(1024 * 1024);
  const heard: unknown[] = [];
  fromHost.on("data", (chunk: Buffer) => {
    reader.push(chunk);
    for (let frame = reader.next(); frame !== null; frame = reader.next())
      heard.push(JSON.parse(frame.toString()));
  });
  const exited = Promise.withResolvers<ProcessExit>();
  let exit: ProcessExit | null = null;
  const slot: Child = {
    pid: process.pid,
    channel: createChannel(toHost, fromHost),
    ready: { layers: [0, 1], codeCache: true },
    check: { kind: "verified" },
    bootMs: 1,
    get exit() {
      return exit;
    },
    exited: exited.promise,
    engineText: async () => "",
    groupName: null,
    ranOutOfMemory: async () => false,
    kill() {
      exit ??= { code: null, signal: "SIGKILL" };
      exited.resolve(exit);
      toHost.end();
    },
  };
  const deaths: (string | null)[] = [];
  const pool = new Pool({
    start: async () => slot,
    isReused: true,
    min: 0,
    max: 1,
    quietMs: 60_000,
    onError: ({ error }) => void deaths.push(error.message),
  });
  await pool.warmUp();
  const made: Peer = {
    slot,
    pool,
    say: (...messages) => void toHost.write(Buffer.concat(messages.map(encodeFrame))),
    heard: () => heard,
    idles: 0,
    deaths,
    stdout: [],
    async begin() {
      // The run before has left the slot by then.
      await settle();
      const taken = await pool.take(new AbortController().signal);
      const run = beginSlotRun(taken as Child, BEGIN);
      void run.left.then((how) => {
        if (how !== "idle") return deaths.push(how === "killed" ? null : how.fault);
        made.idles++;
        pool.giveBack(slot);
      });
      return run;
    },
    async run() {
      const { child: childOfRun, finish, release } = await made.begin();
      const { outcome } = superviseRun({
        child: childOfRun,
        monitor,
        start: {
          code: "",
          mappings: "",
          process: { id: 1, ref: null },
          seed: "",
          randomSeed: [1, 2, 3, 4],
          readsWideClocks: false,
          limits: { ...DEFAULT_SESSION_LIMITS, maxOutputBytes: 1000, maxResultBytes: 1000 },
        },
        openCalls: () => ({ invoke: async () => 1 }) as never,
        events: {
          stdout: (data) => void peer.stdout.push(data.toString()),
          stderr: () => {},
          output: () => {},
        },
        sessionLimits: DEFAULT_SESSION_LIMITS,
        limits: { timeoutMs: 10_000, cpuMs: null, memoryMb: 64 },
        killSignal: new AbortController().signal,
        afterEnd: "keep",
      });
      return { outcome, finish, release };
    },
    state() {
      if (slot.exit !== null) return "dead";
      return pool.status().warm === 1 ? "idle" : "busy";
    },
  };
  return made;
}

/** Lets everything that is under way in memory be delivered. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
}

beforeEach(async () => {
  peer = await openPeer();
});
afterEach(() => peer.pool[Symbol.asyncDispose]());

describe("a slot process that keeps to the rules", () => {
  test("serves runs one after another, each with its own begin", async () => {
    for (const result of ["first", "second"]) {
      const { outcome, finish, release } = await peer.run();
      peer.say({ ...END, params: { ok: true, result } }, DONE);
      expect(await outcome).toMatchObject({ state: "success", result: { value: result } });
      expect(await finish()).toEqual(DONE.params);
      release();
      expect(peer.state()).toBe("busy");
      peer.say(IDLE);
      await settle();
      expect(peer.state()).toBe("idle");
    }
    expect(peer.heard()).toHaveLength(2);
    expect(peer.heard()[0]).toMatchObject({ method: "begin", params: BEGIN, start: { method: "start" } });
    expect(peer.idles).toBe(2);
    expect(peer.deaths).toEqual([]);
  });

  test("a reply that comes after the run does not reach the next run", async () => {
    const { child, release } = await peer.begin();
    const first = child.channel;
    first.attach({ message: () => {}, closed: () => {} });
    first.send('{"jsonrpc":"2.0","method":"start"}');
    peer.say(DONE, IDLE);
    await settle();
    release();
    const second = (await peer.begin()).child.channel;
    second.send('{"jsonrpc":"2.0","method":"start"}');
    expect(first.send('{"jsonrpc":"2.0","id":1,"result":"late"}')).toBe(false);
    await settle();
    expect(JSON.stringify(peer.heard())).not.toContain("late");
    expect(peer.heard()).toHaveLength(2);
  });
});

describe("a slot is handed on", () => {
  const STOPPED = { ...DONE, params: { ...DONE.params, cause: "memory_limit" } };

  test("only when the run before it was judged, however early the process says that it is idle", async () => {
    const { outcome, finish, release } = await peer.run();
    peer.say(END, DONE, IDLE);
    expect(await outcome).toMatchObject({ state: "success" });
    await finish();
    await settle();
    expect([peer.state(), peer.idles]).toEqual(["busy", 0]);
    expect(() => beginSlotRun(peer.slot, BEGIN)).toThrow(/one listener/);
    release();
    await settle();
    expect([peer.state(), peer.idles]).toEqual(["idle", 1]);
  });

  test.each([
    ["whose isolate was stopped", [STOPPED, IDLE]],
    ["that broke the protocol", [{ jsonrpc: "2.0", method: "ready", params: {} }, DONE, IDLE]],
  ])("never after a run %s, with all that the process says in one read", async (_, said) => {
    const { outcome, finish, release } = await peer.run();
    peer.say(...said);
    expect(await outcome).toMatchObject({ state: "failed" });
    await finish();
    release();
    await settle();
    expect(peer.state()).toBe("dead");
    expect(peer.idles).toBe(0);
    expect(peer.deaths).toHaveLength(1);
  });

  test("to a run that an earlier one can no longer end", async () => {
    const first = await peer.begin();
    first.child.channel.attach({ message: () => {}, closed: () => {} });
    first.child.channel.send('{"jsonrpc":"2.0","method":"start"}');
    peer.say(DONE, IDLE);
    await settle();
    first.release();
    const second = await peer.run();
    first.child.kill();
    first.release();
    peer.say(END, DONE);
    expect(await second.outcome).toMatchObject({ state: "success" });
  });

  test("not when it is released in the middle of a run: it is ended", async () => {
    const { release } = await peer.begin();
    release();
    await settle();
    expect([peer.state(), peer.idles]).toEqual(["dead", 0]);
  });
});

describe("a slot process that speaks out of turn is killed", () => {
  const messages: [string, unknown[]][] = [
    ["output while nothing runs", [{ jsonrpc: "2.0", method: "stdout", params: { text: "x" } }]],
    ["an end while nothing runs", [END]],
    ["done while nothing runs", [DONE]],
    ["idle while idle", [IDLE]],
    ["an unknown control message", [{ method: "grant" }]],
    ["no object at all", [7]],
  ];
  test.each(messages)("%s", async (_, said) => {
    peer.say(...said);
    await settle();
    expect(peer.state()).toBe("dead");
    expect(peer.deaths).toHaveLength(1);
    expect(peer.deaths[0]).toContain("spoke before it was given a run");
  });

  test("output between done and idle belongs to no run: neither this one's nor the next one's", async () => {
    const { outcome, finish } = await peer.run();
    peer.say(END, DONE, { jsonrpc: "2.0", method: "stdout", params: { text: "late" } }, IDLE);
    expect(await outcome).toMatchObject({ state: "success" });
    await finish();
    await settle();
    expect(peer.state()).toBe("dead");
    expect(peer.stdout).toEqual([]);
    expect(peer.idles).toBe(0);
  });

  test("output after the end of a run, before done", async () => {
    const { outcome, finish } = await peer.run();
    peer.say(END, { jsonrpc: "2.0", method: "stdout", params: { text: "late" } });
    expect(await outcome).toMatchObject({ state: "success" });
    expect(await finish()).toBeNull();
    expect(peer.stdout).toEqual([]);
    expect(peer.state()).toBe("dead");
  });

  test("idle in the middle of a run ends that run as crashed", async () => {
    const { outcome, finish } = await peer.run();
    peer.say(IDLE);
    expect(await outcome).toMatchObject({ state: "failed", reason: "crashed" });
    expect(await finish()).toBeNull();
  });

  test("a malformed done ends the run as crashed", async () => {
    const { outcome } = await peer.run();
    peer.say({ method: "done", params: { cpuMs: -1, peakMemoryBytes: "all", cause: null } });
    expect(await outcome).toMatchObject({ state: "failed", reason: "crashed" });
    expect(peer.state()).toBe("dead");
  });

  test("a message of a run that breaks the protocol ends it as a violation", async () => {
    const { outcome } = await peer.run();
    peer.say({ jsonrpc: "2.0", method: "stdout", params: { text: "x", eid: 2 } });
    expect(await outcome).toMatchObject({ state: "failed", reason: "sandbox_violation" });
    expect(peer.state()).toBe("dead");
  });
});
