/**
 * The calls of one run: hands each to its handler, sends the replies in order, and keeps both so that the run can be
 * repeated. Made with the run's first call. Knows no process and no clock.
 */
import { createHash, hash } from "node:crypto";
import type { z } from "zod";
import { WORKSPACE_LIMIT_ERROR } from "#kernel/file-names.ts";
import { type OpenStream, type SavedAnswer, type SaveTurn, writeExactJson } from "#sdk";
import type { Channel } from "../wire/channel.ts";
import { exceeding, type Violation, violation } from "../wire/check-message.ts";
import {
  type CallMethod,
  type ChildMessage,
  type callParamsSchemas,
  FILE_METHODS,
  PROTOCOL_LIMITS,
  type SessionLimits,
  type WireError,
} from "../wire/protocol.ts";
import { type Bodies, createBodies } from "./bodies.ts";
import { createRestores, type LoggedCall, type SavedPlace } from "./restores.ts";
import type { OpenCall } from "./waiting.ts";

/** How far a well-behaved child's count of its calls may run ahead of ours. */
const CALL_SLACK = 8;
/** JSON text of all replies of one run, in UTF-16 units; a run with more cannot be repeated. */
const MAX_LOG_CHARS = 16 * 1024 * 1024;
/** Larger replies become an error that the script sees. */
const MAX_REPLY_CHARS = 16 * 1024 * 1024;
const MAX_NAME_CHARS = 200;
const MAX_MESSAGE_CHARS = 10_000;
const MAX_CODE_CHARS = 200;
/** JSON text of what an error carries besides its message. */
const MAX_ERROR_DATA_CHARS = 64 * 1024;

const LOST_ANSWER: Divergence = {
  kind: "diverged",
  what: "saved an answer as a file, whose content is not there any more",
};

const canceled = () => new Error("The script has canceled the call.");

/** What the host does for each call; bytes that a call of a file answers are attached. A rejection reaches the script as its name, message, code, status and the members of its `answer`. */
export type CallHandlers = {
  [M in Exclude<CallMethod, "readBody">]: (
    params: z.infer<(typeof callParamsSchemas)[M]>,
    signal: AbortSignal,
    /** Which of the run's calls it is, from 1. */
    seq: number,
    /** What came with it. */
    attachment: Buffer | null,
    /** When its answer may become a file. */
    turn: SaveTurn,
    openStream: OpenStream,
  ) => Promise<unknown>;
};

/** A repeated run does something else than before; `what` completes "the script …". */
export interface Divergence {
  kind: "diverged";
  what: string;
}

export interface CallOptions {
  channel: Channel;
  handlers: CallHandlers;
  limits: SessionLimits;
  /** The calls of the run that is repeated. */
  before?: readonly LoggedCall[] | undefined;
  /** Puts the file of a saved answer back; absent: a run that has saved one cannot be repeated. */
  restoreAnswer?: ((seq: number) => Promise<void>) | undefined;
  /** Ends the run: a call went beyond what a run may do, or a repeated one cannot be answered. */
  end(why: Violation | Divergence): void;
}

export type CallMessage = Extract<ChildMessage, { id: number }>;

export interface Calls {
  /** Tool calls so far. */
  readonly toolCalls: number;
  /** Begins a call, or says why the run is over. */
  begin(message: CallMessage, attachment: Buffer | null): Violation | Divergence | null;
  /** Calls without a reply, oldest first. */
  listOpen(): OpenCall[];
  /** Aborts one call, whose reply says so: also the next one, before it begins. A call that has its reply already is left as it is. */
  cancel(id: number): Violation | null;
  /** Holds replies back until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Aborts calls under way and sends nothing more. Idempotent. */
  abort(): void;
  /** Resolves when every reply that can be sent by now has been. */
  sent(): Promise<void>;
  /** A copy of the log; null: there was more than is kept, or an answer was saved as a file that cannot be put back. */
  copyLog(): LoggedCall[] | null;
}

export function createCalls(options: CallOptions): Calls {
  const { channel, handlers, limits, before = [], restoreAnswer, end } = options;
  const log: LoggedCall[] = [];
  const openRestores = () => createRestores(before, restoreAnswer, () => end(LOST_ANSWER));
  /** Of a run that is repeated, and from the first answer on that becomes a file. */
  let restores = before.length === 0 ? null : openRestores();
  const aborter = new AbortController();
  /** Calls under way, by id; those that the script can abort have a controller. */
  const open = new Map<number, OpenCall & { aborter: AbortController | null; isAnswered: boolean }>();
  /** Made with the first body that streams. */
  let bodies: Bodies | null = null;
  let logChars = 0;
  let hasLost = false;
  let lastId = 0;
  let canceledId = 0;
  let toolCalls = 0;
  let fileCalls = 0;
  let outstanding = 0;
  let replies: Promise<void> = Promise.resolve();
  let frozen: PromiseWithResolvers<void> | null = null;

  const isGivenUp = () => hasLost || logChars > MAX_LOG_CHARS;

  function keepReply(call: LoggedCall, reply: string): void {
    logChars += reply.length;
    call.reply = reply;
    if (isGivenUp()) dropReplies();
  }

  /** The run cannot be repeated any more: the memory is given back. */
  function dropReplies(): void {
    for (const kept of log) kept.reply = null;
  }

  function noteSaved(call: LoggedCall, result: unknown, place: SavedPlace | null): void {
    if ((result as Partial<SavedAnswer> | null)?.size === null) return;
    restores ??= openRestores();
    call.saved = place ?? restores.nextPlace(log.length);
    if (restoreAnswer !== undefined) return;
    hasLost = true;
    dropReplies();
  }

  /** The reply of an earlier child, after the file that it tells of: what is answered meanwhile does not wait for it. */
  function repeatReply(id: number, { seq, reply }: LoggedCall & { reply: string }): void {
    const restored = restores?.of(seq);
    if (restored === undefined) sendReply(id, () => reply);
    else void restored.then(() => sendReply(id, () => reply));
  }

  async function readBody({ call }: { call: number }) {
    bodies ??= createBodies();
    return bodies.read(call);
  }

  /** Kept before it is sent: the call must not be made again. Without a log it is encoded only when it can be sent. */
  function answer(id: number, call: LoggedCall, body: { result: unknown } | { error: unknown }): void {
    const members = isGivenUp() ? null : encodeReply(body);
    if (members !== null) keepReply(call, members);
    sendReply(id, () => members ?? encodeReply(body));
  }

  /** One reply after another, each only once the child has read enough of those before. */
  function sendReply(id: number, encode: () => string, attachment?: Uint8Array): void {
    replies = replies.then(async () => {
      await channel.writable();
      while (frozen !== null && !aborter.signal.aborted) await frozen.promise;
      if (aborter.signal.aborted) return;
      outstanding--;
      const text = `{"jsonrpc":"2.0","id":${id},${encode()}}`;
      if (!channel.send(text, attachment) && !channel.isClosed) channel.close();
    });
  }

  return {
    get toolCalls() {
      return toolCalls;
    },
    begin({ id, method, params }, attachment) {
      if (id <= lastId) return violation(`call id ${id} does not follow ${lastId}`);
      lastId = id;
      const isOfFile = FILE_METHODS.has(method);
      if (isOfFile || method === "readBody") fileCalls++;
      if (fileCalls > PROTOCOL_LIMITS.maxFileCalls || log.length - fileCalls >= limits.maxCalls) {
        return violation(
          `more than ${limits.maxCalls} calls were made, or ${PROTOCOL_LIMITS.maxFileCalls} of files`,
        );
      }
      if (outstanding >= limits.maxConcurrentCalls + CALL_SLACK) {
        return violation(`more than ${limits.maxConcurrentCalls} calls were in flight`);
      }
      outstanding++;
      if (method === "invoke") toolCalls++;
      const seq = log.length + 1;
      const call: LoggedCall = {
        seq,
        method,
        digest: digestOf(params, attachment),
        reply: null,
      };
      log.push(call);
      const logged = before[seq - 1];
      if (logged !== undefined && logged.method !== method) {
        return { kind: "diverged", what: `made call ${seq} as ${method}; before, it was ${logged.method}` };
      }
      if (logged !== undefined && logged.digest !== call.digest) {
        return {
          kind: "diverged",
          what: `made call ${seq}, ${method}, with other parameters than before`,
        };
      }
      if (logged?.reply != null) {
        const { reply, saved } = logged;
        if (saved !== undefined) call.saved = saved;
        if (!isGivenUp()) keepReply(call, reply);
        repeatReply(id, { ...logged, reply });
        restores?.advance(seq);
        return null;
      }
      let place: SavedPlace | null = null;
      const turn: SaveTurn = () => {
        restores ??= openRestores();
        const wait = restores.waitFor(log.length);
        if (wait === null) place = restores.nextPlace(log.length);
        return wait;
      };
      const openStream: OpenStream = () => {
        bodies ??= createBodies();
        const { open: openBody, take } = bodies;
        if (!openBody(id)) return null;
        return (result, bytes) => {
          entry.isAnswered = true;
          answer(id, call, { result });
          return take(id, bytes);
        };
      };
      // The union of methods is one type to the compiler; each handler gets the parameters its own schema made.
      const handler = (method === "readBody" ? readBody : handlers[method]) as (
        params: unknown,
        signal: AbortSignal,
        seq: number,
        attachment: Buffer | null,
        turn: SaveTurn,
        openStream: OpenStream,
      ) => Promise<unknown>;
      const own = method === "invoke" || method === "ask" ? new AbortController() : null;
      if (id === canceledId) own?.abort(canceled());
      const entry = { id, method, params, aborter: own, isAnswered: false };
      open.set(id, entry);
      const signal = own?.signal ?? aborter.signal;
      // Begun at once: what ends the run may stand in the same chunk, and after the end no call may begin.
      const work = async () => {
        aborter.signal.throwIfAborted();
        return handler(params, signal, seq, attachment, turn, openStream);
      };
      const begun = restores === null ? work() : restores.begin(work);
      restores?.advance(seq);
      begun.then(
        (result) => {
          open.delete(id);
          bodies?.end(id, {});
          if (entry.isAnswered) return;
          bodies?.close(id);
          if (method === "invoke" && params.saveAs !== undefined) noteSaved(call, result, place);
          if (isOfFile && result instanceof Uint8Array) {
            sendReply(id, () => encodeReply({ result: { bytes: result.length } }), result);
          } else if (isOfFile) sendReply(id, () => encodeReply({ result: result ?? null }));
          else answer(id, call, { result: result ?? null });
        },
        (error: unknown) => {
          open.delete(id);
          bodies?.end(id, { error });
          if (entry.isAnswered) return;
          bodies?.close(id);
          if (error instanceof Error && error.name === WORKSPACE_LIMIT_ERROR) end(exceeding(error.message));
          else if (isOfFile) sendReply(id, () => encodeReply(toErrorReply(error)));
          else answer(id, call, toErrorReply(error));
        },
      );
      return null;
    },
    cancel(id) {
      if (id > lastId + 1) return violation(`call ${id} was canceled before call ${lastId + 1} was made`);
      canceledId = id;
      bodies?.close(id);
      open.get(id)?.aborter?.abort(canceled());
      return null;
    },
    listOpen: () =>
      [...open.values()].filter((call) => !call.isAnswered && call.aborter?.signal.aborted !== true),
    freeze() {
      frozen = Promise.withResolvers();
    },
    thaw() {
      frozen?.resolve();
      frozen = null;
    },
    abort() {
      if (aborter.signal.aborted) return;
      const ended = new Error("The run has ended.");
      aborter.abort(ended);
      restores?.end();
      for (const { id, aborter: own } of open.values()) {
        bodies?.close(id);
        own?.abort(ended);
      }
      frozen?.resolve();
    },
    sent: () => replies,
    copyLog: () => (isGivenUp() ? null : log.map((call) => ({ ...call }))),
  };
}

function digestOf(params: object, attachment: Buffer | null): string {
  const text = JSON.stringify(params);
  if (attachment === null) return hash("sha256", text);
  return createHash("sha256").update(text).update(attachment).digest("hex");
}

function toErrorReply(error: unknown): { error: unknown } {
  const data = toWireError(error);
  return { error: { code: -32000, message: data.message, data } };
}

/** The members of a reply after its id, as JSON text. What is no JSON, or too large, becomes an error. */
function encodeReply(body: { result: unknown } | { error: unknown }): string {
  let text = "";
  try {
    text = encodeMembers(body);
  } catch {
    // A cycle, a toJSON that throws: the same as a value of which nothing is left.
  }
  if (text === "") text = encodeMembers(toErrorReply(new Error("The result is not JSON data.")));
  if (text.length <= MAX_REPLY_CHARS) return text;
  const error = Object.assign(
    new Error(
      `The result is ${text.length} characters of JSON; at most ${MAX_REPLY_CHARS} are passed to a script.`,
    ),
    { code: "result_too_large" },
  );
  return encodeMembers(toErrorReply(error));
}

function encodeMembers(body: object): string {
  const { text = "", isExact } = writeExactJson(body);
  return `${text.slice(1, -1)}${isExact ? ',"exact":true' : ""}`;
}

/** What a script may see of anything thrown: name, message, code, status, the members of `answer`; never a stack or a cause. Never throws. */
function toWireError(error: unknown): WireError {
  try {
    if (typeof error !== "object" || error === null) {
      return { name: "Error", message: String(error).slice(0, MAX_MESSAGE_CHARS) };
    }
    const { name, message, code, status, answer } = error as Record<string, unknown>;
    return {
      name: typeof name === "string" && name !== "" ? name.slice(0, MAX_NAME_CHARS) : "Error",
      message:
        typeof message === "string" ? message.slice(0, MAX_MESSAGE_CHARS) : "The host gave no message.",
      ...(typeof code === "string" && { code: code.slice(0, MAX_CODE_CHARS) }),
      ...(typeof status === "number" && Number.isInteger(status) && { status }),
      ...(typeof answer === "object" && answer !== null && { data: boundData(answer) }),
    };
  } catch {
    return { name: "Error", message: "The host failed in a way it could not describe." };
  }
}

/** JSON data. A member for which there is no room becomes the beginning of its text, and says so. */
function boundData(answer: object): Record<string, unknown> {
  let left = MAX_ERROR_DATA_CHARS;
  const bounded: [string, unknown][] = [];
  for (const [key, value] of Object.entries(answer)) {
    const text = JSON.stringify(value);
    if (text === undefined || key.length >= left) continue;
    left -= key.length;
    if (text.length <= left) {
      bounded.push([key, value]);
      left -= text.length;
      continue;
    }
    const whole = typeof value === "string" ? value : text;
    // Half of the room: JSON may write a character as two.
    bounded.push([
      key,
      `${whole.slice(0, left / 2).toWellFormed()}… [${whole.length} characters, truncated]`,
    ]);
    left = 0;
  }
  return Object.fromEntries(bounded);
}
