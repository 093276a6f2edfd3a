/**
 * The protocol of one run over a channel: sends `start`, checks every message of the child, answers its calls, hands
 * out its output, and says how it ended. Knows no process and no clock. Whatever the child sends, nothing is thrown:
 * a breach of the protocol is an end like any other.
 */
import type { z } from "zod";
import { type Channel, type ChannelClose, ENVELOPE_DEPTH } from "./channel.ts";
import type { Frame } from "./frames.ts";
import {
  type CallMethod,
  type ChildMessage,
  type callParamsSchemas,
  childMessageSchema,
  type EndParams,
  type HostMessage,
  PROTOCOL_LIMITS,
  type StartParams,
} from "./protocol.ts";
import { toWireError } from "./wire-error.ts";

/** Replies larger than this become an error the script sees; a child is not made to swallow more. */
const MAX_REPLY_BYTES = 16 * 1024 * 1024;
/** How far a well-behaved child's count of its calls may run ahead of ours. */
const CALL_SLACK = 8;

/** What the host does for each call. A rejection reaches the script as name, message, code and status. */
export type CallHandlers = {
  [M in CallMethod]: (
    params: z.infer<(typeof callParamsSchemas)[M]>,
    signal: AbortSignal,
  ) => Promise<unknown>;
};

export interface SessionEvents {
  stdout(data: Buffer): void;
  stderr(data: Buffer): void;
  output(value: Record<string, unknown>): void;
}

export interface SessionLimits {
  maxConcurrentCalls: number;
  maxCalls: number;
  maxMessageBytes: number;
  maxEndBytes: number;
  maxTotalBytes: number;
  /** Bytes handed to `events` of each stream; what goes beyond is dropped after its first byte. */
  maxStdoutBytes: number;
  maxStderrBytes: number;
}

export type SessionEnd = { toolCalls: number } & (
  | { kind: "end"; end: EndParams }
  /** The child broke the protocol or a size limit; `message` says which, for the log and the run's error. */
  | { kind: "violation"; reason: "sandbox_violation" | "output_limit"; message: string }
  /** The channel closed before `end`; `hasReceived` says whether anything came before. */
  | { kind: "closed"; close: ChannelClose; hasReceived: boolean }
  /** The signal aborted; what the child had written until the channel closed was delivered. */
  | { kind: "aborted" }
  /** One of `events` threw: a fault of the host. */
  | { kind: "host_error"; error: unknown }
);

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
}

type SessionEndKind = SessionEnd extends infer E ? (E extends unknown ? Omit<E, "toolCalls"> : never) : never;
type Violation = Extract<SessionEndKind, { kind: "violation" }>;
type CallMessage = Extract<ChildMessage, { id: number }>;

/** Runs one script over `channel`, which must have no listener, from `start` to its end. Never rejects. */
export function runSession(input: SessionInput): Promise<SessionEnd> {
  const { channel, calls, events, limits, signal } = input;
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

  return new Promise((resolve) => {
    function finish(end: SessionEndKind): void {
      if (over) return;
      over = true;
      signal.removeEventListener("abort", onAbort);
      detach();
      abortCalls();
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
        case "ready":
          return violation("the child said it was ready a second time");
        default:
          return handleCall(message);
      }
    }

    function handleEnd(end: EndParams): SessionEndKind | null {
      if (signal.aborted) return null;
      if (channel.bufferedBytes > 0) return violation("the child sent something after the end");
      return { kind: "end", end };
    }

    function handleCall(message: CallMessage): Violation | null {
      if (signal.aborted) return null;
      if (message.id <= lastId) return violation(`call id ${message.id} does not follow ${lastId}`);
      lastId = message.id;
      if (++callCount > limits.maxCalls) return violation(`more than ${limits.maxCalls} calls were made`);
      if (outstanding >= limits.maxConcurrentCalls + CALL_SLACK) {
        return violation(`more than ${limits.maxConcurrentCalls} calls were in flight`);
      }
      outstanding++;
      if (message.method === "invoke") toolCalls++;
      // The union of methods is one type to the compiler; each handler gets the params its own schema made.
      const handler = calls[message.method] as (params: unknown, signal: AbortSignal) => Promise<unknown>;
      aborter ??= new AbortController();
      const { signal: callSignal } = aborter;
      // Begun at once: what ends the run may stand in the same chunk, and after the end no call may begin.
      new Promise((begun) => begun(handler(message.params, callSignal))).then(
        (result) => reply(message.id, { result: result ?? null }),
        (error: unknown) => reply(message.id, toErrorReply(error)),
      );
      return null;
    }

    /** One reply after another, each only once the child has read enough of those before. */
    function reply(id: number, body: { result: unknown } | { error: unknown }): void {
      replies = replies.then(async () => {
        await channel.writable();
        if (over || signal.aborted) return;
        outstanding--;
        if (!channel.send(encodeReply(id, body)) && !channel.isClosed) channel.close();
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
  });
}

function violation(message: string, reason: Violation["reason"] = "sandbox_violation"): Violation {
  return { kind: "violation", reason, message };
}

/** The message a frame holds, or the limit or rule it breaks. */
function checkMessage(
  frame: Frame,
  totalBytes: number,
  limits: SessionLimits,
): { message: ChildMessage } | Violation {
  if (totalBytes > limits.maxTotalBytes) {
    return violation(`the run sent more than ${limits.maxTotalBytes} bytes`, "output_limit");
  }
  const parsed = childMessageSchema.safeParse(frame.value);
  if (!parsed.success)
    return violation(`a message does not fit the protocol: ${describeIssue(parsed.error)}`);
  const message = parsed.data as ChildMessage;
  const mayBeLarge = message.method === "end" || message.method === "output";
  const maxBytes = mayBeLarge ? limits.maxEndBytes : limits.maxMessageBytes;
  if (frame.bytes > maxBytes) {
    return violation(
      `a ${message.method} message of ${frame.bytes} bytes; at most ${maxBytes} are allowed`,
      "output_limit",
    );
  }
  const maxDepth = message.method === "end" ? PROTOCOL_LIMITS.maxResultDepth : PROTOCOL_LIMITS.maxDepth;
  if (frame.depth > maxDepth + ENVELOPE_DEPTH) {
    return violation(`a ${message.method} message is nested deeper than ${maxDepth} levels`);
  }
  return { message };
}

function describeIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return "unknown";
  return `${issue.path.map(String).join(".") || "message"}: ${issue.message}`.slice(0, 300);
}

function emitText(stream: { left: number; emit: (data: Buffer) => void }, text: string): void {
  if (stream.left <= 0 || text === "") return;
  const data = Buffer.from(text);
  const kept = data.length > stream.left ? data.subarray(0, stream.left) : data;
  stream.left -= kept.length;
  stream.emit(kept);
}

function toErrorReply(error: unknown): { error: unknown } {
  const data = toWireError(error);
  return { error: { code: -32000, message: data.message, data } };
}

function encodeReply(id: number, body: { result: unknown } | { error: unknown }): string {
  let text: string;
  try {
    text = JSON.stringify({ jsonrpc: "2.0", id, ...body });
  } catch {
    text = JSON.stringify({ jsonrpc: "2.0", id, ...toErrorReply(new Error("The result is not JSON data.")) });
  }
  if (text.length <= MAX_REPLY_BYTES) return text;
  const error = Object.assign(
    new Error(
      `The result is ${text.length} characters of JSON; at most ${MAX_REPLY_BYTES} are passed to a script.`,
    ),
    { code: "result_too_large" },
  );
  return JSON.stringify({ jsonrpc: "2.0", id, ...toErrorReply(error) });
}

/** The limits of a session where nothing is configured. */
export const DEFAULT_SESSION_LIMITS: SessionLimits = {
  maxConcurrentCalls: 32,
  maxCalls: 10_000,
  maxMessageBytes: PROTOCOL_LIMITS.maxMessageBytes,
  maxEndBytes: PROTOCOL_LIMITS.maxEndBytes,
  maxTotalBytes: PROTOCOL_LIMITS.maxTotalBytes,
  maxStdoutBytes: 1024 * 1024,
  maxStderrBytes: 1024 * 1024,
};
