/**
 * Protocol of one run over a channel: sends `start`, validates every message of the child, passes on its calls and
 * output, and reports how it ended. Knows no process and no clock. Nothing that a child sends makes it throw: a
 * protocol violation ends the run like any other cause.
 */
import { setTimeout } from "node:timers/promises";
import { type ExecutionOutcome, MAX_WARNINGS, type PrintLevel, type RunWarning } from "#sdk";
import type { Channel, ChannelClose } from "../wire/channel.ts";
import type { Frame } from "../wire/frames.ts";
import type {
  ChildMessage,
  EndParams,
  HostMessage,
  Journal,
  SessionLimits,
  StartParams,
  WaitingParams,
} from "../wire/protocol.ts";
import { type CallHandlers, type Divergence, RunCalls } from "./calls/calls.ts";
import type { LoggedCall } from "./calls/saved-answers.ts";
import { describeWaiting } from "./calls/waiting.ts";
import { checkMessage, type Violation, violation } from "./outcome.ts";

/** A child that waits for calls replies within a millisecond; one that is computing does not reply. */
const MAX_REPLY_MS = 200;

export interface SessionEvents {
  stdout(data: Buffer, level?: PrintLevel): void;
  stderr(data: Buffer, level?: PrintLevel): void;
  output(value: Record<string, unknown>): void;
  /** Required for a run that was started to create a code cache. */
  codeCache?(digest: string, data: Buffer): void;
}

type SessionEndKind =
  | { kind: "end"; end: EndParams }
  | Violation
  /** The channel closed before `end`. `hasReceived` is true if any message had arrived. */
  | { kind: "closed"; close: ChannelClose; hasReceived: boolean }
  | Divergence
  /** The signal aborted. Output written before the channel closed was delivered. */
  | { kind: "aborted" }
  /** One of `events` threw, which is the host's fault. */
  | { kind: "host_error"; error: unknown };
/** Empty if there are no warnings. */
export type Warned = Pick<ExecutionOutcome, "warnings" | "droppedWarnings">;
export type SessionEnd = { toolCalls: number; warned: Warned } & SessionEndKind;

/** Data that a later run needs to replay this one up to the point where it was frozen. */
export interface Frozen {
  journal: Journal;
  calls: LoggedCall[];
}

export interface SessionInput {
  channel: Channel;
  start: StartParams;
  packages?: readonly (readonly Buffer[])[] | undefined;
  openCalls(): CallHandlers;
  events: SessionEvents;
  limits: SessionLimits;
  /**
   * Ends the session from outside. Calls are aborted at once and none begins. Output in flight is still delivered, so
   * the channel must close soon, which killing the peer ensures.
   */
  signal: AbortSignal;
  replayed?: readonly LoggedCall[] | undefined;
  restoreAnswer?: ((seq: number) => Promise<void>) | undefined;
  /** Called when a replay has caught up; requires `start.journal`. */
  onLive?: () => void;
}

/** Starts one script over `channel`, which must have no listener. */
export class Session {
  readonly end: Promise<SessionEnd>;
  readonly #input: SessionInput;
  readonly #left: Record<"stdout" | "stderr", number>;
  readonly #resolve: (end: SessionEnd) => void;
  readonly #onAbort = () => this.#abort();
  #calls: RunCalls | null = null;
  #totalBytes = 0;
  #isOver = false;
  #detach = () => {};
  #isLive = false;
  #isFrozen = false;
  #warnings: RunWarning[] | undefined;
  #droppedWarnings = 0;
  #pausing: PromiseWithResolvers<Frozen | null> | null = null;
  #asked: PromiseWithResolvers<WaitingParams["calls"]> | null = null;

  constructor(input: SessionInput) {
    const { channel, limits, signal, start, packages = [] } = input;
    this.#input = input;
    this.#left = { stdout: limits.maxStdoutBytes + 1, stderr: limits.maxStderrBytes + 1 };
    const { promise, resolve } = Promise.withResolvers<SessionEnd>();
    this.end = promise;
    this.#resolve = resolve;
    this.#detach = channel.attach({
      message: (frame) => this.#receive(frame),
      closed: (close) => this.#close(close),
    });
    if (this.#isOver) return;
    signal.addEventListener("abort", this.#onAbort, { once: true });
    if (signal.aborted) {
      this.#abort();
      return;
    }
    this.#send({ jsonrpc: "2.0", method: "start", params: start });
    for (const pieces of packages) {
      if (!channel.sendFrame(pieces) && !channel.isClosed) channel.close();
    }
  }

  /** Resolves once the script is frozen, with null if it cannot be replayed. Rejects if the session ends first. */
  async pause(): Promise<Frozen | null> {
    if (this.#isOver) throw new Error("The run has ended.");
    if (this.#isFrozen) throw new Error("The run is paused already.");
    if (this.#pausing === null) {
      this.#pausing = Promise.withResolvers();
      void this.#askToPause(this.#pausing);
    }
    return this.#pausing.promise;
  }

  /** Lets the script continue and sends it the replies that were held back. */
  resume(): void {
    if (this.#isOver || !this.#isFrozen) return;
    this.#isFrozen = false;
    this.#send({ jsonrpc: "2.0", method: "resume" });
    this.#calls?.replies.thaw();
  }

  /**
   * Describes what the script waits for, or returns null. Omits lines if the child does not report them in time.
   * Never rejects.
   */
  async describeWaiting(): Promise<string | null> {
    if (this.#isOver || this.#calls === null) return null;
    this.#asked ??= Promise.withResolvers();
    this.#send({ jsonrpc: "2.0", method: "waiting" });
    const places = await Promise.race([this.#asked.promise, setTimeout(MAX_REPLY_MS, [])]);
    return describeWaiting(this.#calls.listOpen(), places);
  }

  #finish(end: SessionEndKind): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#input.signal.removeEventListener("abort", this.#onAbort);
    this.#detach();
    this.#calls?.abort();
    this.#pausing?.reject(new Error("The run ended before it was paused."));
    const warnings = this.#warnings;
    const droppedWarnings = this.#droppedWarnings;
    const warned = { ...(warnings && { warnings }), ...(droppedWarnings > 0 && { droppedWarnings }) };
    this.#resolve({ ...end, toolCalls: this.#calls?.toolCalls ?? 0, warned });
  }

  #abort(): void {
    this.#calls?.abort();
    if (this.#input.channel.isClosed) this.#finish({ kind: "aborted" });
  }

  #receive(frame: Frame): void {
    if (this.#isOver) return;
    try {
      // File pieces have their own limits.
      if ((frame.value as { method?: unknown } | null)?.method !== "writeFile")
        this.#totalBytes += frame.bytes;
      const checked = checkMessage(frame, this.#totalBytes, this.#input.limits);
      const end = "kind" in checked ? checked : this.#handle(checked.message, frame.attachment);
      if (end !== null) this.#finish(end);
    } catch (error) {
      this.#finish({ kind: "host_error", error });
    }
  }

  #handle(message: ChildMessage, attachment: Buffer | null): SessionEndKind | null {
    const { start, events, signal, channel } = this.#input;
    switch (message.method) {
      case "stdout":
      case "stderr":
        this.#emitText(message.method, message.params.text, message.params.level);
        return null;
      case "output":
        events.output(message.params.value);
        return null;
      case "warning":
        this.#warnings ??= [];
        if (this.#warnings.length < MAX_WARNINGS) this.#warnings.push(message.params);
        else this.#droppedWarnings += 1;
        return null;
      case "warningsDropped":
        this.#droppedWarnings += message.params.count;
        return null;
      case "codeCache":
        if (start.makesCodeCache !== true)
          return violation("the child sent a code cache without being asked");
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
        return this.#becomeFrozen(message.params.journal);
      case "live":
        if (start.journal === undefined || this.#isLive)
          return violation("the child said it was live out of turn");
        this.#isLive = true;
        this.#input.onLive?.();
        return null;
      case "waiting":
        if (this.#asked === null) return violation("the child said what it waits for without being asked");
        this.#asked.resolve(message.params.calls);
        this.#asked = null;
        return null;
      case "diverged":
        return start.journal === undefined
          ? violation("the child said that it diverged, but the run is not a replay")
          : { kind: "diverged", what: message.params.what };
      case "cancel":
        if (signal.aborted) return null;
        if (this.#isFrozen) return violation("the child canceled a call while it was paused");
        return this.#calls?.cancel(message.params.id) ?? null;
      default:
        if (signal.aborted) return null;
        if (this.#isFrozen) return violation("the child made a call while it was paused");
        this.#calls ??= this.#openCalls();
        return this.#calls.begin(message, attachment);
    }
  }

  #openCalls(): RunCalls {
    const { channel, limits, replayed, restoreAnswer } = this.#input;
    const end = (why: SessionEndKind) => this.#finish(why);
    return new RunCalls({
      ...{ channel, limits, replayed, restoreAnswer, end },
      handlers: this.#input.openCalls(),
    });
  }

  #emitText(stream: "stdout" | "stderr", text: string, level?: PrintLevel): void {
    const left = this.#left[stream];
    if (left <= 0 || text === "") return;
    const data = Buffer.from(text);
    const kept = data.length > left ? data.subarray(0, left) : data;
    this.#left[stream] -= kept.length;
    this.#input.events[stream](kept, level);
  }

  #becomeFrozen(journal: Journal | null): Violation | null {
    if (this.#pausing === null) return violation("the child said it was paused without being asked");
    this.#isFrozen = true;
    this.#calls?.replies.freeze();
    const calls = this.#calls === null ? [] : this.#calls.copyLog();
    this.#pausing.resolve(journal === null || calls === null ? null : { journal, calls });
    this.#pausing = null;
    return null;
  }

  /** Asks once all replies that are ready were sent. */
  async #askToPause(asked: PromiseWithResolvers<Frozen | null>): Promise<void> {
    await new Promise(setImmediate);
    await this.#calls?.replies.sent();
    if (!this.#isOver && this.#pausing === asked) this.#send({ jsonrpc: "2.0", method: "pause" });
  }

  #send(message: HostMessage): void {
    const { channel } = this.#input;
    if (!channel.send(JSON.stringify(message)) && !channel.isClosed) channel.close();
  }

  #close(close: ChannelClose): void {
    if (this.#input.signal.aborted) this.#finish({ kind: "aborted" });
    else if (close.kind === "violation") {
      const reason = close.cause.kind === "size" ? "output_limit" : "sandbox_violation";
      this.#finish({ kind: "violation", reason, message: close.cause.message });
    } else this.#finish({ kind: "closed", close, hasReceived: this.#totalBytes > 0 });
  }
}
