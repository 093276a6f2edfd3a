/**
 * The protocol of one run over a channel: sends `start`, checks every message of the child, answers its calls, hands
 * out its output, and says how it ended. Knows no process and no clock. Whatever the child sends, nothing is thrown:
 * a breach of the protocol is an end like any other.
 */
import type { z } from "zod";
import type { Channel, ChannelClose } from "../wire/channel.ts";
import type { Frame } from "../wire/frames.ts";
import type {
  CallMethod,
  ChildMessage,
  EndParams,
  HostMessage,
  Journal,
  SessionLimits,
  StartParams,
} from "../wire/protocol.ts";
import type { callParamsSchemas } from "../wire/protocol-schemas.ts";
import { checkMessage, type Violation, violation } from "../wire/protocol-schemas.ts";
import { type CallLog, createCallLog } from "./call-log.ts";
import { encodeReply, toErrorReply } from "./replies.ts";

/** How far a well-behaved child's count of its calls may run ahead of ours. */
const CALL_SLACK = 8;

/** What the host does for each call. A rejection reaches the script as name, message, code and status. */
export type CallHandlers = {
  [M in CallMethod]: (
    params: z.infer<(typeof callParamsSchemas)[M]>,
    signal: AbortSignal,
    /** Which of the run's calls it is, from 1. */
    seq: number,
  ) => Promise<unknown>;
};

export interface SessionEvents {
  stdout(data: Buffer): void;
  stderr(data: Buffer): void;
  output(value: Record<string, unknown>): void;
}

export type SessionEnd = { toolCalls: number } & (
  | { kind: "end"; end: EndParams }
  | Violation
  /** The channel closed before `end`; `hasReceived` says whether anything came before. */
  | { kind: "closed"; close: ChannelClose; hasReceived: boolean }
  /** A repeated run does something else than before; `what` completes "the script …". */
  | { kind: "diverged"; what: string }
  /** The signal aborted; what the child had written until the channel closed was delivered. */
  | { kind: "aborted" }
  /** One of `events` threw: a fault of the host. */
  | { kind: "host_error"; error: unknown }
);

/** Freezes and unfreezes the script of a session. */
export interface SessionPause {
  /** Answers once the script is frozen; null: it cannot be repeated. Rejects when the session ends before. */
  pause(): Promise<Journal | null>;
  /** Lets the script go on and hands it the replies that were held back. */
  resume(): void;
}

export interface SessionInput {
  channel: Channel;
  start: StartParams;
  calls: CallHandlers;
  events: SessionEvents;
  limits: SessionLimits;
  /**
   * Ends the session from outside. Calls are aborted at once and no new one is made; output already on its way is
   * still delivered, so whoever aborts must also make the channel close (by killing the peer) within a bounded time.
   */
  signal: AbortSignal;
  /** Default: an empty one. */
  log?: CallLog;
  /** Given the means to pause the script, once it has been started. */
  onStart?: (pause: SessionPause) => void;
  /** Told when a repeated run has come to where it was; not without `start.journal`. */
  onLive?: () => void;
}

type SessionEndKind = SessionEnd extends infer E ? (E extends unknown ? Omit<E, "toolCalls"> : never) : never;
type CallMessage = Extract<ChildMessage, { id: number }>;

/** Runs one script over `channel`, which must have no listener, from `start` to its end. Never rejects. */
export function runSession(input: SessionInput): Promise<SessionEnd> {
  const { channel, calls, events, limits, signal, log = createCallLog() } = input;
  const streams = {
    stdout: { left: limits.maxStdoutBytes + 1, emit: events.stdout },
    stderr: { left: limits.maxStderrBytes + 1, emit: events.stderr },
  };
  let totalBytes = 0;
  let lastId = 0;
  let callCount = 0;
  let toolCalls = 0;
  let outstanding = 0;
  let over = false;
  /** Made with the first call: most runs make none. */
  let aborter: AbortController | null = null;
  let detach = () => {};
  let replies: Promise<void> = Promise.resolve();
  let isLive = false;
  let pausing: PromiseWithResolvers<Journal | null> | null = null;
  /** Set while the script is frozen: resolves when it goes on. */
  let frozen: PromiseWithResolvers<void> | null = null;

  return new Promise((resolve) => {
    function finish(end: SessionEndKind): void {
      if (over) return;
      over = true;
      signal.removeEventListener("abort", onAbort);
      detach();
      abortCalls();
      pausing?.reject(new Error("The run ended before it was paused."));
      frozen?.resolve();
      resolve({ ...end, toolCalls });
    }

    function abortCalls(): void {
      if (aborter?.signal.aborted === false) aborter.abort(new Error("The run has ended."));
    }

    function onAbort(): void {
      abortCalls();
      if (channel.isClosed) finish({ kind: "aborted" });
    }

    function receive(frame: Frame): void {
      if (over) return;
      try {
        totalBytes += frame.bytes;
        const checked = checkMessage(frame, totalBytes, limits);
        const end = "kind" in checked ? checked : handle(checked.message);
        if (end !== null) finish(end);
      } catch (error) {
        finish({ kind: "host_error", error });
      }
    }

    function handle(message: ChildMessage): SessionEndKind | null {
      switch (message.method) {
        case "stdout":
        case "stderr":
          emitText(streams[message.method], message.params.text);
          return null;
        case "output":
          events.output(message.params.value);
          return null;
        case "end":
          return handleEnd(message.params);
        case "booted":
        case "ready":
          return violation(`the child said it was ${message.method} a second time`);
        case "paused":
          return becomeFrozen(message.params.journal);
        case "live":
          return handleLive();
        case "diverged":
          return handleDivergence(message.params.what);
        default:
          return handleCall(message);
      }
    }

    function handleEnd(end: EndParams): SessionEndKind | null {
      if (signal.aborted) return null;
      if (channel.bufferedBytes > 0) return violation("the child sent something after the end");
      return { kind: "end", end };
    }

    function becomeFrozen(journal: Journal | null): Violation | null {
      if (pausing === null) return violation("the child said it was paused without having been asked");
      frozen = Promise.withResolvers();
      const asked = pausing;
      pausing = null;
      asked.resolve(journal);
      return null;
    }

    function handleDivergence(what: string): SessionEndKind {
      return input.start.journal === undefined
        ? violation("the child said it did something else than before, and there was no before")
        : { kind: "diverged", what };
    }

    function handleLive(): Violation | null {
      if (input.start.journal === undefined || isLive)
        return violation("the child said it was live out of turn");
      isLive = true;
      input.onLive?.();
      return null;
    }

    const pause: SessionPause = {
      pause() {
        if (over) return Promise.reject(new Error("The run has ended."));
        if (frozen !== null) return Promise.reject(new Error("The run is paused already."));
        if (pausing === null) {
          const asked = Promise.withResolvers<Journal | null>();
          pausing = asked;
          asked.promise.catch(() => {});
          void whenAnswered().then(() => {
            if (!over && pausing === asked) send({ jsonrpc: "2.0", method: "pause" });
          });
        }
        return pausing.promise;
      },
      resume() {
        const ended = frozen;
        if (over || ended === null) return;
        frozen = null;
        send({ jsonrpc: "2.0", method: "resume" });
        ended.resolve();
      },
    };

    /** What the host has answered by now has been sent. */
    async function whenAnswered(): Promise<void> {
      await new Promise(setImmediate);
      await replies;
    }

    function send(message: HostMessage): void {
      if (!channel.send(JSON.stringify(message)) && !channel.isClosed) channel.close();
    }

    function handleCall(message: CallMessage): SessionEndKind | null {
      if (signal.aborted) return null;
      if (message.id <= lastId) return violation(`call id ${message.id} does not follow ${lastId}`);
      lastId = message.id;
      if (++callCount > limits.maxCalls) return violation(`more than ${limits.maxCalls} calls were made`);
      if (outstanding >= limits.maxConcurrentCalls + CALL_SLACK) {
        return violation(`more than ${limits.maxConcurrentCalls} calls were in flight`);
      }
      if (frozen !== null) return violation("the child made a call while it was paused");
      outstanding++;
      if (message.method === "invoke") toolCalls++;
      const answer = log.begin(message.method, message.params);
      if (answer.kind === "diverged") return answer;
      if (answer.kind === "logged") {
        const { seq, reply } = answer;
        log.end(seq, reply);
        sendReply(message.id, () => reply);
        return null;
      }
      // The union of methods is one type to the compiler; each handler gets the params its own schema made.
      const handler = calls[message.method] as (
        params: unknown,
        signal: AbortSignal,
        seq: number,
      ) => Promise<unknown>;
      aborter ??= new AbortController();
      const { signal: callSignal } = aborter;
      // Begun at once: what ends the run may stand in the same chunk, and after the end no call may begin.
      new Promise((begun) => begun(handler(message.params, callSignal, answer.seq))).then(
        (result) => answerCall(message.id, answer.seq, { result: result ?? null }),
        (error: unknown) => answerCall(message.id, answer.seq, toErrorReply(error)),
      );
      return null;
    }

    /** Kept from now on, whenever the child gets it: the call must not be made again. Without a log only then encoded. */
    function answerCall(id: number, seq: number, body: { result: unknown } | { error: unknown }): void {
      const members = log.isFull ? null : encodeReply(body);
      if (members !== null) log.end(seq, members);
      sendReply(id, () => members ?? encodeReply(body));
    }

    /** One reply after another, each only once the child has read enough of those before. */
    function sendReply(id: number, encode: () => string): void {
      replies = replies.then(async () => {
        await channel.writable();
        // The end of the session thaws it too, for good: it is not frozen anew.
        while (frozen !== null && !over) await frozen.promise;
        if (over || signal.aborted) return;
        outstanding--;
        if (!channel.send(`{"jsonrpc":"2.0","id":${id},${encode()}}`) && !channel.isClosed) channel.close();
      });
    }

    detach = channel.attach({
      message: receive,
      closed(close) {
        if (signal.aborted) finish({ kind: "aborted" });
        else if (close.kind === "violation") {
          const reason = close.cause.kind === "size" ? "output_limit" : "sandbox_violation";
          finish({ kind: "violation", reason, message: close.cause.message });
        } else finish({ kind: "closed", close, hasReceived: totalBytes > 0 });
      },
    });
    if (over) return;
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) return onAbort();
    const isSent = channel.send(
      JSON.stringify({ jsonrpc: "2.0", method: "start", params: input.start } satisfies HostMessage),
    );
    if (!isSent) channel.close();
    input.onStart?.(pause);
  });
}

function emitText(stream: { left: number; emit: (data: Buffer) => void }, text: string): void {
  if (stream.left <= 0 || text === "") return;
  const data = Buffer.from(text);
  const kept = data.length > stream.left ? data.subarray(0, stream.left) : data;
  stream.left -= kept.length;
  stream.emit(kept);
}
