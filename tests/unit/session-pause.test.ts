/** A session whose script is frozen: what is held back, what is still handed over, and how it ends meanwhile. */
import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import type { CallHandlers } from "#runner/host/calls/calls.ts";
import { Session } from "#runner/host/session.ts";
import { createChannel } from "#runner/wire/channel.ts";
import { createFrameReader, encodeFrame } from "#runner/wire/frames.ts";
import { DEFAULT_SESSION_LIMITS } from "#runner/wire/protocol.ts";
import { CALL_METHODS_FOR_TESTS } from "./session-calls.ts";

const JOURNAL = { events: [], readings: [] };

/** A session against a peer that the test plays; it has been started. */
function play(invoke: CallHandlers["invoke"]) {
  const toHost = new PassThrough();
  const fromHost = new PassThrough();
  const reader = createFrameReader(64 * 1024 * 1024);
  const heard: { id?: number; method?: string; result?: unknown }[] = [];
  fromHost.on("data", (chunk) => {
    reader.push(chunk);
    for (let frame = reader.next(); frame !== null; frame = reader.next()) {
      heard.push(JSON.parse(frame.toString()));
    }
  });
  const stop = new AbortController();
  const control = new Session({
    channel: createChannel(toHost, fromHost),
    start: {
      code: "async()=>1",
      mappings: "",
      process: { id: 7, ref: null },
      seed: "",
      randomSeed: [1, 2, 3, 4],
      readsWideClocks: false,
      limits: {
        maxConcurrentCalls: 4,
        maxCalls: 10,
        maxMessageBytes: 2000,
        maxStdoutBytes: 10,
        maxStderrBytes: 10,
        maxOutputBytes: 100,
        maxResultBytes: 100,
      },
    },
    openCalls: () => ({ ...CALL_METHODS_FOR_TESTS, invoke }),
    events: { stdout() {}, stderr() {}, output() {} },
    limits: DEFAULT_SESSION_LIMITS,
    signal: stop.signal,
  });
  const say = (message: object) => toHost.write(encodeFrame({ jsonrpc: "2.0", ...message }));
  const call = (id: number) =>
    say({ id, method: "invoke", params: { serviceId: "s", toolId: "t", parameters: { id } } });
  const methods = () => heard.map(({ method, id }) => method ?? `reply ${id}`);
  return { session: control.end, say, call, stop, toHost, methods, control };
}

/** A session that is frozen while the reply to its call waits. */
async function playFrozen() {
  const answer = Promise.withResolvers<unknown>();
  const played = play(() => answer.promise);
  played.call(1);
  const paused = played.control.pause();
  await vi.waitFor(() => expect(played.methods()).toContain("pause"));
  played.say({ method: "paused", params: { journal: JOURNAL } });
  expect(await paused).toMatchObject({
    journal: JOURNAL,
    calls: [{ seq: 1, method: "invoke", reply: null }],
  });
  answer.resolve("late");
  await new Promise(setImmediate);
  expect(played.methods()).toEqual(["start", "pause"]);
  return played;
}

test("a reply waits for the script to go on", async () => {
  const { control, methods, session, say } = await playFrozen();
  control.resume();
  await vi.waitFor(() => expect(methods()).toEqual(["start", "pause", "resume", "reply 1"]));
  say({ method: "end", params: { ok: true, result: 1 } });
  expect((await session).kind).toBe("end");
});

test.each([
  [
    "is killed",
    ({ stop, toHost }: Awaited<ReturnType<typeof playFrozen>>) => {
      stop.abort();
      toHost.end();
    },
    "aborted",
  ],
  ["dies", ({ toHost }: Awaited<ReturnType<typeof playFrozen>>) => toHost.end(), "closed"],
  [
    "says that it has ended",
    ({ say }: Awaited<ReturnType<typeof playFrozen>>) =>
      say({ method: "end", params: { ok: true, result: 1 } }),
    "end",
  ],
  ["makes a call", ({ call }: Awaited<ReturnType<typeof playFrozen>>) => call(2), "violation"],
])(
  "a frozen child that %s while a reply waits ends the session, and the reply goes nowhere",
  async (_what, act, kind) => {
    const played = await playFrozen();
    act(played);
    expect((await played.session).kind).toBe(kind);
    // A loop that waited for the thaw of a session that is over would never let the next turn come.
    await new Promise(setImmediate);
    expect(played.methods()).toEqual(["start", "pause"]);
    played.control.resume();
    await expect(played.control.pause()).rejects.toThrow("ended");
  },
);

test("what was answered before the script is to halt reaches it before it halts", async () => {
  const answers = [1, 2, 3].map(() => Promise.withResolvers<unknown>());
  const { control, call, methods, say, session } = play(
    (_params, _signal, seq) => (answers[seq - 1] as PromiseWithResolvers<unknown>).promise,
  );
  for (const id of [1, 2, 3]) call(id);
  await new Promise(setImmediate);
  for (const { resolve } of answers) resolve("now");
  void control.pause().catch(() => {});
  await vi.waitFor(() => expect(methods()).toContain("pause"));
  expect(methods()).toEqual(["start", "reply 1", "reply 2", "reply 3", "pause"]);
  say({ method: "end", params: { ok: true, result: 1 } });
  await session;
});

test("a child that ends on its way to the halt rejects who asked for it", async () => {
  const { control, say, session, methods } = play(async () => 1);
  const paused = control.pause();
  say({ method: "end", params: { ok: true, result: 1 } });
  await expect(paused).rejects.toThrow("ended before it was paused");
  expect((await session).kind).toBe("end");
  expect(methods()).not.toContain("resume");
});
