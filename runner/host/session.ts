/**
 * The protocol of one run over a channel: sends `start`, checks every message of the child, passes on its calls and its
 * output, and says how it ended. Knows no process and no clock. Nothing the child sends makes it throw: a breach of
 * the protocol is an end like any other.
 */
import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import {
  type ExecutionInput,
  type ExecutionOutcome,
  MAX_WARNINGS,
  type PrintLevel,
  type RunWarning,
  writeExactJson,
} from "#sdk";
import type { PreparedSource } from "../preparer/prepare.ts";
import type { Channel, ChannelClose } from "../wire/channel.ts";
import { checkMessage, type Violation, violation } from "../wire/check-message.ts";
import type { Frame } from "../wire/frames.ts";
import {
  type ChildMessage,
  type EndParams,
  type HostMessage,
  type Journal,
  PROTOCOL_LIMITS,
  type SessionLimits,
  type StartParams,
  type WaitingParams,
} from "../wire/protocol.ts";
import { type CallHandlers, type Calls, createCalls, type Divergence } from "./calls.ts";
import type { Checkpoint } from "./checkpoint.ts";
import type { LoggedCall } from "./restores.ts";
import { describeWaiting } from "./waiting.ts";

/** A child that waits for calls answers within a millisecond; one that computes does not answer. */
const MAX_TELLING_MS = 200;

export interface SessionEvents {
  stdout(data: Buffer, level?: PrintLevel): void;
  stderr(data: Buffer, level?: PrintLevel): void;
  output(value: Record<string, unknown>): void;
  /** Only of what was started to make one. */
  codeCache?(digest: string, data: Buffer): void;
}

type SessionEndKind =
  | { kind: "end"; end: EndParams }
  | Violation
  /** The channel closed before `end`; `hasReceived` says whether anything came before. */
  | { kind: "closed"; close: ChannelClose; hasReceived: boolean }
  | Divergence
  /** The signal aborted; what the child had written until the channel closed was delivered. */
  | { kind: "aborted" }
  /** One of `events` threw: a fault of the host. */
  | { kind: "host_error"; error: unknown };
/** The warnings of a run so far; without any, no member is there. */
export type Warned = Pick<ExecutionOutcome, "warnings" | "droppedWarnings">;
export type SessionEnd = { toolCalls: number; warned: Warned } & SessionEndKind;

/** What a later run needs to repeat this one up to where it was frozen. */
export interface Frozen {
  journal: Journal;
  calls: LoggedCall[];
}

export interface Session {
  /** Never rejects. */
  readonly end: Promise<SessionEnd>;
  /** Answers once the script is frozen; null: it cannot be repeated. Rejects when the session ends before. */
  pause(): Promise<Frozen | null>;
  /** Lets the script go on and sends it the replies that were held back. */
  resume(): void;
  /** What the script waits for, in words; without lines where the child does not tell them in time. Null: for nothing. Never rejects. */
  describeWaiting(): Promise<string | null>;
}

export interface SessionInput {
  channel: Channel;
  start: StartParams;
  /** Frames of `start.packages`, in pieces. */
  packages?: readonly (readonly Buffer[])[] | undefined;
  calls: CallHandlers;
  events: SessionEvents;
  limits: SessionLimits;
  /**
   * Ends the session from outside. Calls are aborted at once and no new one is made; output already on its way is
   * still delivered, so the channel must close within a bounded time, which killing the peer does.
   */
  signal: AbortSignal;
  /** The calls of the run that is repeated. */
  before?: readonly LoggedCall[] | undefined;
  /** Puts the file of a saved answer back, before its reply is repeated. */
  restoreAnswer?: ((seq: number) => Promise<void>) | undefined;
  /** Called when a repeated run has come to where it was; not without `start.journal`. */
  onLive?: () => void;
}

/** Starts one script over `channel`, which must have no listener. */
export function startSession(input: SessionInput): Session {
  const { channel, events, limits, signal } = input;
  const { promise, resolve } = Promise.withResolvers<SessionEnd>();
  const left = { stdout: limits.maxStdoutBytes + 1, stderr: limits.maxStderrBytes + 1 };
  let totalBytes = 0;
  let calls: Calls | null = null;
  let over = false;
  let detach = () => {};
  let isLive = false;
  let isFrozen = false;
  let warnings: RunWarning[] | undefined;
  let droppedWarnings = 0;
  let pausing: PromiseWithResolvers<Frozen | null> | null = null;
  let asked: PromiseWithResolvers<WaitingParams["calls"]> | null = null;

  function finish(end: SessionEndKind): void {
    if (over) return;
    over = true;
    signal.removeEventListener("abort", onAbort);
    detach();
    calls?.abort();
    pausing?.reject(new Error("The run ended before it was paused."));
    const warned = { ...(warnings && { warnings }), ...(droppedWarnings > 0 && { droppedWarnings }) };
    resolve({ ...end, toolCalls: calls?.toolCalls ?? 0, warned });
  }

  function onAbort(): void {
    calls?.abort();
    if (channel.isClosed) finish({ kind: "aborted" });
  }

  function receive(frame: Frame): void {
    if (over) return;
    try {
      // Pieces of files have bounds of their own.
      if ((frame.value as { method?: unknown } | null)?.method !== "writeFile") totalBytes += frame.bytes;
      const checked = checkMessage(frame, totalBytes, limits);
      const end = "kind" in checked ? checked : handle(checked.message, frame.attachment);
      if (end !== null) finish(end);
    } catch (error) {
      finish({ kind: "host_error", error });
    }
  }

  function handle(message: ChildMessage, attachment: Buffer | null): SessionEndKind | null {
    switch (message.method) {
      case "stdout":
      case "stderr":
        emitText(message.method, message.params.text, message.params.level);
        return null;
      case "output":
        events.output(message.params.value);
        return null;
      case "warning":
        warnings ??= [];
        if (warnings.length < MAX_WARNINGS) warnings.push(message.params);
        else droppedWarnings += 1;
        return null;
      case "warningsDropped":
        droppedWarnings += message.params.count;
        return null;
      case "codeCache":
        if (input.start.makesCodeCache !== true)
          return violation("the child sent a code cache without having been asked");
        events.codeCache?.(message.params.digest, Buffer.from(message.params.data, "base64"));
        return null;
      case "end":
        if (signal.aborted) return null;
        if (channel.bufferedBytes > 0) return violation("the child sent something after the end");
        return { kind: "end", end: message.params };
      case "booted":
      case "ready":
        return violation(`the child said it was ${message.method} a second time`);
      case "paused":
        return becomeFrozen(message.params.journal);
      case "live":
        if (input.start.journal === undefined || isLive)
          return violation("the child said it was live out of turn");
        isLive = true;
        input.onLive?.();
        return null;
      case "waiting":
        if (asked === null) return violation("the child said what it waits for without having been asked");
        asked.resolve(message.params.calls);
        asked = null;
        return null;
      case "diverged":
        return input.start.journal === undefined
          ? violation("the child said it did something else than before, and there was no before")
          : { kind: "diverged", what: message.params.what };
      case "cancel":
        if (signal.aborted) return null;
        if (isFrozen) return violation("the child canceled a call while it was paused");
        return calls?.cancel(message.params.id) ?? null;
      default:
        if (signal.aborted) return null;
        if (isFrozen) return violation("the child made a call while it was paused");
        calls ??= createCalls({
          channel,
          handlers: input.calls,
          limits,
          before: input.before,
          restoreAnswer: input.restoreAnswer,
          end: finish,
        });
        return calls.begin(message, attachment);
    }
  }

  function emitText(stream: "stdout" | "stderr", text: string, level?: PrintLevel): void {
    if (left[stream] <= 0 || text === "") return;
    const data = Buffer.from(text);
    const kept = data.length > left[stream] ? data.subarray(0, left[stream]) : data;
    left[stream] -= kept.length;
    events[stream](kept, level);
  }

  function becomeFrozen(journal: Journal | null): Violation | null {
    if (pausing === null) return violation("the child said it was paused without having been asked");
    isFrozen = true;
    calls?.freeze();
    const log = calls === null ? [] : calls.copyLog();
    pausing.resolve(journal === null || log === null ? null : { journal, calls: log });
    pausing = null;
    return null;
  }

  /** After what the host has answered by now. */
  async function askToPause(asked: typeof pausing): Promise<void> {
    await new Promise(setImmediate);
    await calls?.sent();
    if (!over && pausing === asked) send({ jsonrpc: "2.0", method: "pause" });
  }

  function send(message: HostMessage): void {
    if (!channel.send(JSON.stringify(message)) && !channel.isClosed) channel.close();
  }

  function closed(close: ChannelClose): void {
    if (signal.aborted) finish({ kind: "aborted" });
    else if (close.kind === "violation") {
      const reason = close.cause.kind === "size" ? "output_limit" : "sandbox_violation";
      finish({ kind: "violation", reason, message: close.cause.message });
    } else finish({ kind: "closed", close, hasReceived: totalBytes > 0 });
  }

  detach = channel.attach({ message: receive, closed });
  if (!over) {
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    else {
      send({ jsonrpc: "2.0", method: "start", params: input.start });
      for (const pieces of input.packages ?? []) {
        if (!channel.sendFrame(pieces) && !channel.isClosed) channel.close();
      }
    }
  }

  return {
    end: promise,
    async pause() {
      if (over) throw new Error("The run has ended.");
      if (isFrozen) throw new Error("The run is paused already.");
      if (pausing === null) {
        pausing = Promise.withResolvers();
        void askToPause(pausing);
      }
      return pausing.promise;
    },
    resume() {
      if (over || !isFrozen) return;
      isFrozen = false;
      send({ jsonrpc: "2.0", method: "resume" });
      calls?.thaw();
    },
    async describeWaiting() {
      if (over || calls === null) return null;
      asked ??= Promise.withResolvers();
      send({ jsonrpc: "2.0", method: "waiting" });
      const places = await Promise.race([asked.promise, setTimeout(MAX_TELLING_MS, [])]);
      return describeWaiting(calls.listOpen(), places);
    },
  };
}

/** Names of clocks that only a script which names them pays for. */
const WIDE_CLOCKS = /Temporal|DateTimeFormat/;

/** The `start` message of a run; `before`: of the run that it repeats. */
export function makeStart(
  { eid, ref, input, files }: ExecutionInput,
  { code, mappings, sources, packages }: Extract<PreparedSource, { ok: true }>,
  limits: SessionLimits,
  before: Checkpoint | null,
): StartParams {
  const { maxConcurrentCalls, maxCalls, maxMessageBytes, maxStdoutBytes, maxStderrBytes } = limits;
  const { maxOutputBytes, maxResultBytes } = PROTOCOL_LIMITS;
  const { seed, randomSeed } = before ?? makeSeeds();
  return {
    code,
    mappings,
    ...(sources !== undefined && { sources }),
    ...(packages !== undefined && { packages: [...new Set(packages.map(({ digest }) => digest))] }),
    process: { id: eid, ref: ref ?? null },
    ...(input !== undefined && describeInput(input)),
    seed,
    randomSeed,
    ...(before !== null && { journal: before.journal }),
    readsWideClocks: WIDE_CLOCKS.test(code),
    ...(files !== undefined && files.length > 0 && { files: [...files] }),
    limits: {
      maxConcurrentCalls,
      maxCalls,
      maxMessageBytes,
      maxStdoutBytes,
      maxStderrBytes,
      maxOutputBytes,
      maxResultBytes,
    },
  };
}

function describeInput(input: unknown): Pick<StartParams, "input" | "exactInput"> {
  const { text = "", isExact } = writeExactJson(input);
  return isExact ? { exactInput: text } : { input };
}

const SEED_BYTES = 48;
/** Made for many runs at once: a call of the generator costs the same for 48 bytes and for 3000. */
let seeds = Buffer.alloc(0);

function makeSeeds(): Pick<StartParams, "seed" | "randomSeed"> {
  if (seeds.length === 0) seeds = randomBytes(SEED_BYTES * 64);
  const bytes = seeds.subarray(0, SEED_BYTES);
  seeds = seeds.subarray(SEED_BYTES);
  const randomSeed = [
    bytes.readUInt32LE(32),
    bytes.readUInt32LE(36),
    bytes.readUInt32LE(40),
    bytes.readUInt32LE(44),
  ];
  // All zero is the one state that the generator never leaves.
  if (Math.max(...randomSeed) === 0) randomSeed[0] = 1;
  return { seed: bytes.toString("base64", 0, 32), randomSeed };
}
