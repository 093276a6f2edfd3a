import { PassThrough } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import type { CallHandlers } from "#runner/host/calls/calls.ts";
import { Session } from "#runner/host/session.ts";
import { createChannel } from "#runner/wire/channel.ts";
import { createFrameReader, encodeFrame, encodeFrameText } from "#runner/wire/frames.ts";
import type { StartParams } from "#runner/wire/protocol.ts";
import { DEFAULT_SESSION_LIMITS, type SessionLimits } from "#runner/wire/protocol.ts";
import { CALL_METHODS_FOR_TESTS } from "./session-calls.ts";

const START: StartParams = {
  code: "async()=>1",
  mappings: "",
  process: { id: 7, ref: null },
  seed: "",
  randomSeed: [1, 2, 3, 4],
  readsWideClocks: false,
  limits: {
    maxConcurrentCalls: 2,
    maxCalls: 5,
    maxMessageBytes: 2000,
    maxStdoutBytes: 10,
    maxStderrBytes: 10,
    maxOutputBytes: 100,
    maxResultBytes: 100,
  },
};

/** A session against a peer the test plays. */
function play(options: { limits?: Partial<SessionLimits>; calls?: Partial<CallHandlers> } = {}) {
  const toHost = new PassThrough();
  const fromHost = new PassThrough();
  const channel = createChannel(toHost, fromHost);
  const reader = createFrameReader(64 * 1024 * 1024);
  const heard: Record<string, unknown>[] = [];
  fromHost.on("data", (chunk) => {
    reader.push(chunk);
    for (let p = reader.next(); p !== null; p = reader.next()) heard.push(JSON.parse(p.toString()));
  });
  const events: [string, unknown][] = [];
  const stop = new AbortController();
  const { end: session } = new Session({
    channel,
    start: START,
    openCalls: () => ({ ...CALL_METHODS_FOR_TESTS, ...options.calls }),
    events: {
      stdout: (data) => events.push(["stdout", data.toString()]),
      stderr: (data) => events.push(["stderr", data.toString()]),
      output: (value) => events.push(["output", value]),
    },
    limits: { ...DEFAULT_SESSION_LIMITS, maxConcurrentCalls: 2, maxCalls: 20, ...options.limits },
    signal: stop.signal,
  });
  const say = (message: object) => toHost.write(encodeFrame({ jsonrpc: "2.0", ...message }));
  const replies = () => heard.filter((message) => "id" in message);
  const repliesById = () => replies().sort((a, b) => Number(a.id) - Number(b.id));
  return { toHost, channel, heard, replies, repliesById, events, stop, session, say };
}

const invoke = (id: unknown, parameters: object = {}) => ({
  id,
  method: "invoke",
  params: { serviceId: "s", toolId: "t", parameters },
});
const end = (params: object = { ok: true, result: 1 }) => ({ method: "end", params });

describe("a session", () => {
  test("starts the run, passes on what it prints and puts out, and ends with its end", async () => {
    const { session, say, events, heard } = play();
    say({ method: "stdout", params: { text: "a" } });
    say({ method: "stderr", params: { text: "é" } });
    say({ method: "output", params: { value: { k: [1] } } });
    say(end({ ok: true, result: { deep: [1, 2] } }));
    expect(await session).toEqual({
      kind: "end",
      end: { ok: true, result: { deep: [1, 2] } },
      toolCalls: 0,
      warned: {},
    });
    expect(events).toEqual([
      ["stdout", "a"],
      ["stderr", "é"],
      ["output", { k: [1] }],
    ]);
    expect(heard).toEqual([{ jsonrpc: "2.0", method: "start", params: START }]);
  });

  test("answers calls as they settle, not in order, and counts tool calls", async () => {
    const slow = Promise.withResolvers<unknown>();
    const { session, say, replies } = play({
      calls: { invoke: ({ parameters }) => ("slow" in parameters ? slow.promise : Promise.resolve("fast")) },
    });
    say(invoke(1, { slow: true }));
    say(invoke(2));
    say({ id: 3, method: "getService", params: { id: "x" } });
    await vi.waitFor(() => expect(replies()).toHaveLength(2));
    slow.resolve(undefined);
    await vi.waitFor(() => expect(replies()).toHaveLength(3));
    expect(replies()).toEqual([
      { jsonrpc: "2.0", id: 2, result: "fast" },
      { jsonrpc: "2.0", id: 3, result: { id: "x" } },
      { jsonrpc: "2.0", id: 1, result: null },
    ]);
    say(end());
    expect(await session).toMatchObject({ kind: "end", toolCalls: 2 });
  });

  test("tells a script name, message, code and status of a failure, and nothing else", async () => {
    const error = Object.assign(new TypeError("no such tool", { cause: "secret" }), {
      code: "not_found",
      status: 404,
      token: "secret",
    });
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const { session, say, replies, repliesById } = play({
      calls: {
        invoke: () => Promise.reject(error),
        getTool: () => {
          throw null;
        },
        getService: async () => cyclic,
      },
    });
    say(invoke(1));
    say({ id: 2, method: "getTool", params: { serviceId: "a", toolId: "b" } });
    say({ id: 3, method: "getService", params: { id: "a" } });
    await vi.waitFor(() => expect(replies()).toHaveLength(3));
    expect(repliesById().map(({ error }) => (error as { data: unknown }).data)).toEqual([
      { name: "TypeError", message: "no such tool", code: "not_found", status: 404 },
      { name: "Error", message: "null" },
      { name: "Error", message: "The result is not JSON data." },
    ]);
    expect(JSON.stringify(replies())).not.toMatch(/secret|stack|\.ts/);
    say(end());
    await session;
  });

  test("marks a reply that holds bigints", async () => {
    const answers = [{ id: 2n ** 64n, size: 2 ** 60 }, { size: 2 ** 60 }, [10n]];
    const { session, say, replies } = play({ calls: { getService: async () => answers.shift() } });
    for (const id of [1, 2, 3]) say({ id, method: "getService", params: { id: "a" } });
    await vi.waitFor(() => expect(replies()).toHaveLength(3));
    const exact = replies().map((reply) => (reply as { exact?: true }).exact);
    expect(exact).toEqual([true, undefined, true]);
    say(end());
    await session;
  });

  test("a result too large for a script becomes an error it sees", async () => {
    const { session, say, replies } = play({ calls: { invoke: async () => "x".repeat(17 * 1024 * 1024) } });
    say(invoke(1));
    await vi.waitFor(() => expect(replies()).toHaveLength(1), 5000);
    expect(replies()[0]).toMatchObject({ error: { data: { code: "result_too_large" } } });
    say(end());
    await session;
  });

  test.each([
    ["an unknown method", { method: "boot", params: {} }],
    ["a second booted", { method: "booted", params: { protocol: 1, node: "v1" } }],
    ["a second ready", { method: "ready", params: { layers: [], codeCache: true } }],
    ["a member too many", { method: "stdout", params: { text: "a", eid: 9 } }],
    ["an execution chosen by the child", { ...invoke(1), eid: 8 }],
    ["a reply", { id: 1, result: 1 }],
    ["a call without parameters", { id: 1, method: "invoke" }],
    ["a negative id", invoke(-1)],
    ["id zero", invoke(0)],
    ["a fractional id", invoke(1.5)],
    ["an id that is text", invoke("1")],
    ["no id", { method: "invoke", params: invoke(1).params }],
    ["an end without outcome", { method: "end", params: {} }],
    ["an end that is both", { method: "end", params: { ok: true, error: {} } }],
    ["text that is no text", { method: "stdout", params: { text: 1 } }],
    ["a warning without a message", { method: "warning", params: { code: "a_code" } }],
    [
      "a warning that is too long",
      { method: "warning", params: { code: "a_code", message: "x".repeat(2001) } },
    ],
    ["fewer than no warnings", { method: "warningsDropped", params: { count: -1 } }],
    ["output that is no object", { method: "output", params: { value: [1] } }],
  ])("%s ends the run as a violation of the sandbox", async (_, message) => {
    const { session, say, channel } = play();
    say(message);
    expect(await session).toMatchObject({ kind: "violation", reason: "sandbox_violation" });
    channel.close();
  });

  test("warnings come with the end: the first 50, and how many more there were", async () => {
    const { session, say } = play();
    for (let line = 1; line <= 52; line++)
      say({ method: "warning", params: { code: "a_code", message: "m", line } });
    say({ method: "warningsDropped", params: { count: 7 } });
    say(end());
    const { warned } = await session;
    expect(warned.warnings?.map(({ line }) => line)).toEqual(
      Array.from({ length: 50 }, (_, index) => index + 1),
    );
    expect(warned.droppedWarnings).toBe(9);

    const none = play();
    none.say(end());
    expect((await none.session).warned).toEqual({});
  });

  test("so do ids that do not grow, too many calls, too many at once and whatever follows the end", async () => {
    const reused = play();
    reused.say(invoke(3));
    reused.say(invoke(3));
    expect(await reused.session).toMatchObject({
      reason: "sandbox_violation",
      message: "call id 3 does not follow 3",
    });

    const many = play({ limits: { maxCalls: 2 } });
    for (const id of [1, 2, 3]) many.say(invoke(id));
    expect(await many.session).toMatchObject({ reason: "sandbox_violation" });

    const never = new Promise(() => {});
    const atOnce = play({ calls: { invoke: () => never } });
    for (let id = 1; id <= 11; id++) atOnce.say(invoke(id));
    expect(await atOnce.session).toMatchObject({ reason: "sandbox_violation", toolCalls: 10 });

    const after = play();
    after.toHost.write(Buffer.concat([end(), end()].map((m) => encodeFrame({ jsonrpc: "2.0", ...m }))));
    expect(await after.session).toMatchObject({
      reason: "sandbox_violation",
      message: expect.stringContaining("after the end"),
    });
  });

  test.each([
    [
      "one message",
      { limits: { maxMessageBytes: 500 } },
      [{ method: "stdout", params: { text: "x".repeat(600) } }],
      false,
    ],
    ["the end", { limits: { maxEndBytes: 500 } }, [end({ ok: true, result: "x".repeat(600) })], false],
    [
      "all together",
      { limits: { maxTotalBytes: 3000 } },
      new Array(10).fill({ method: "stdout", params: { text: "x".repeat(600) } }),
      true,
    ],
  ])("too many bytes in %s end it as over the output limit", async (_, options, messages, mayBeHonest) => {
    const { session, say } = play(options);
    for (const message of messages) say(message);
    const end = await session;
    expect(end).toMatchObject({ kind: "violation", reason: "output_limit" });
    // The realm keeps each message within its limit, and not all of them together.
    expect("mayBeHonest" in end).toBe(mayBeHonest);
  });

  test("a result may nest deeper than a message, and neither without limit", async () => {
    const nest = (depth: number) => JSON.parse("[".repeat(depth) + "]".repeat(depth));
    const good = play();
    good.say(end({ ok: true, result: nest(512) }));
    expect(await good.session).toMatchObject({ kind: "end" });
    const deepResult = play();
    deepResult.say(end({ ok: true, result: nest(513) }));
    expect(await deepResult.session).toMatchObject({ reason: "sandbox_violation" });
    const deepCall = play();
    deepCall.say(invoke(1, { a: nest(64) }));
    expect(await deepCall.session).toMatchObject({ reason: "sandbox_violation" });
    const bomb = play();
    bomb.toHost.write(
      encodeFrameText(`{"jsonrpc":"2.0","method":"end","params":{"ok":true,"result":${"[".repeat(100_000)}`),
    );
    expect(await bomb.session).toMatchObject({ reason: "sandbox_violation" });
  });

  test("hands out at most one byte more of a stream than is kept of it", async () => {
    const { session, say, events } = play({ limits: { maxStdoutBytes: 10 } });
    for (let i = 0; i < 5; i++) say({ method: "stdout", params: { text: "1234567" } });
    say(end());
    await session;
    expect(events.map(([, text]) => text).join("")).toBe("12345671234");
  });

  test("when it ends, the calls that are left are aborted and their answers dropped", async () => {
    const left = Promise.withResolvers<unknown>();
    let signal: AbortSignal | undefined;
    const { session, say, replies } = play({
      calls: {
        invoke: (_, given) => {
          signal = given;
          return left.promise;
        },
      },
    });
    say(invoke(1));
    await vi.waitFor(() => expect(signal?.aborted).toBe(false));
    say(end());
    await session;
    expect(signal?.aborted).toBe(true);
    left.resolve("late");
    await delay(5);
    expect(replies()).toEqual([]);
  });

  test("a call that is canceled is aborted alone, once, and has a reply; others are left as they are", async () => {
    const signals = new Map<unknown, AbortSignal>();
    const { session, say, repliesById } = play({
      calls: {
        invoke: ({ parameters: { n } }, signal) => {
          signals.set(n, signal);
          if (n === 3) return Promise.resolve("quick");
          return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        },
      },
      limits: { maxConcurrentCalls: 5 },
    });
    for (const n of [1, 2, 3]) say(invoke(n, { n }));
    await vi.waitFor(() => expect(repliesById()).toHaveLength(1));
    for (const id of [2, 2, 3]) say({ method: "cancel", params: { id } });
    await vi.waitFor(() => expect(repliesById()).toHaveLength(2));
    expect(repliesById()).toMatchObject([
      { id: 2, error: { message: "The script has canceled the call." } },
      { id: 3, result: "quick" },
    ]);
    expect([1, 2, 3].map((n) => signals.get(n)?.aborted)).toEqual([false, true, false]);
    say(end());
    await session;
    expect(signals.get(1)?.aborted).toBe(true);
  });

  test("the next call may be canceled before it is made: it begins with a signal that has aborted", async () => {
    const aborted: boolean[] = [];
    const { session, say, repliesById } = play({
      calls: {
        async invoke(_, signal) {
          aborted.push(signal.aborted);
          signal.throwIfAborted();
          return "made";
        },
      },
    });
    say(invoke(1));
    say({ method: "cancel", params: { id: 2 } });
    for (const id of [2, 3]) say(invoke(id));
    await vi.waitFor(() => expect(repliesById()).toHaveLength(3));
    expect(aborted).toEqual([false, true, false]);
    expect(repliesById()).toMatchObject([
      { id: 1, result: "made" },
      { id: 2, error: { message: "The script has canceled the call." } },
      { id: 3, result: "made" },
    ]);
    say(end());
    await session;
  });

  test.each([
    ["before the one before it is made", { id: 3 }],
    ["by no number", { id: "1" }],
    ["and something else", { id: 1, all: true }],
  ])("a call that is canceled %s is a violation", async (_, params) => {
    const { session, say } = play({ calls: { invoke: () => new Promise(() => {}) } });
    say(invoke(1));
    say({ method: "cancel", params });
    expect(await session).toMatchObject({ kind: "violation", reason: "sandbox_violation" });
  });

  test("stopped from outside it aborts calls and makes no new ones, but still delivers output until the channel closes", async () => {
    const calls: AbortSignal[] = [];
    const { session, say, stop, events, toHost } = play({
      calls: {
        invoke: (_, signal) => {
          calls.push(signal);
          return new Promise(() => {});
        },
      },
    });
    say(invoke(1));
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    stop.abort();
    expect(calls[0]?.aborted).toBe(true);
    say({ method: "stdout", params: { text: "last words" } });
    say(invoke(2));
    say(end());
    await vi.waitFor(() => expect(events).toEqual([["stdout", "last words"]]));
    toHost.end();
    expect(await session).toEqual({ kind: "aborted", toolCalls: 1, warned: {} });
    expect(calls).toHaveLength(1);
  });

  test("a peer that goes away without an end is told apart from one that never spoke", async () => {
    const mute = play();
    mute.toHost.end();
    expect(await mute.session).toMatchObject({ kind: "closed", hasReceived: false });
    const spoke = play();
    spoke.say({ method: "stdout", params: { text: "a" } });
    spoke.toHost.end();
    expect(await spoke.session).toMatchObject({ kind: "closed", hasReceived: true });
    const gone = play();
    gone.channel.close();
    expect(await gone.session).toMatchObject({ kind: "closed" });
  });

  test("a fault of the host while taking in output ends the run and nothing else", async () => {
    const channel = createChannel(
      new PassThrough().end(encodeFrame({ jsonrpc: "2.0", method: "stdout", params: { text: "a" } })),
      new PassThrough(),
    );
    const fail = () => {
      throw new Error("disk full");
    };
    const { end: ended } = new Session({
      channel,
      start: START,
      openCalls: () => CALL_METHODS_FOR_TESTS,
      events: { stdout: fail, stderr: fail, output: fail },
      limits: DEFAULT_SESSION_LIMITS,
      signal: new AbortController().signal,
    });
    expect(await ended).toMatchObject({ kind: "host_error", error: { message: "disk full" } });
  });

  test("a peer that calls but does not read makes the host hold its answers, not copies of them", async () => {
    const input = new PassThrough();
    const output = new PassThrough({ highWaterMark: 1024 });
    const channel = createChannel(input, output);
    const { end: session } = new Session({
      channel,
      start: START,
      openCalls: () => ({ ...CALL_METHODS_FOR_TESTS, invoke: async () => "x".repeat(4 * 1024 * 1024) }),
      events: { stdout() {}, stderr() {}, output() {} },
      limits: { ...DEFAULT_SESSION_LIMITS, maxConcurrentCalls: 32 },
      signal: new AbortController().signal,
    });
    for (let id = 1; id <= 38; id++) input.write(encodeFrame({ jsonrpc: "2.0", ...invoke(id) }));
    await delay(100);
    expect(channel.queuedBytes).toBeLessThan(9 * 1024 * 1024);
    for (let id = 39; id <= 50; id++) input.write(encodeFrame({ jsonrpc: "2.0", ...invoke(id) }));
    expect(await session).toMatchObject({ kind: "violation" });
  });
});
