/**
 * The calls of one run: passes each to its handler, sends the replies in order, and logs both so that the run can be
 * replayed. Created with the run's first call. Knows no process and no clock.
 */
import { createHash, hash } from "node:crypto";
import type { z } from "zod";
import { WORKSPACE_LIMIT_ERROR } from "#kernel/file-names.ts";
import type { OpenStream, SavedAnswer, SaveTurn } from "#sdk";
import type { Channel } from "../../wire/channel.ts";
import {
  type CallMethod,
  type ChildMessage,
  type callParamsSchemas,
  FILE_METHODS,
  PROTOCOL_LIMITS,
  type SessionLimits,
} from "../../wire/protocol.ts";
import { exceeding, type Violation, violation } from "../outcome.ts";
import { type Bodies, createBodies } from "./bodies.ts";
import { encodeReply, ReplyQueue, toErrorReply } from "./replies.ts";
import { createSavedAnswers, type LoggedCall, type SavedAnswers, type SavedAt } from "./saved-answers.ts";
import type { OpenCall } from "./waiting.ts";

/** Tolerance for the child's call count, which runs ahead of the host's. */
const CALL_SLACK = 8;
/** Limit for all logged replies of one run, as JSON text in UTF-16 units. A run with more cannot be replayed. */
const MAX_LOG_CHARS = 16 * 1024 * 1024;

const LOST_ANSWER: Divergence = {
  kind: "diverged",
  what: "saved an answer as a file, whose content is not there any more",
};

const canceled = () => new Error("The script has canceled the call.");

type Handler<Params> = (
  params: Params,
  signal: AbortSignal,
  /** Number of the call within the run, from 1. */
  seq: number,
  attachment: Buffer | null,
  /** Returns what to wait for before the answer becomes a file, or null. */
  turn: SaveTurn,
  openStream: OpenStream,
) => Promise<unknown>;

/**
 * The host's handler for each call. Bytes that a file method returns are sent as an attachment. If a handler rejects,
 * the script gets the error's name, message, code, status and the members of its `answer`.
 */
export type CallHandlers = {
  [M in Exclude<CallMethod, "readBody">]: Handler<z.infer<(typeof callParamsSchemas)[M]>>;
};

/** A replayed run behaves differently than before. `what` completes "the script …". */
export interface Divergence {
  kind: "diverged";
  what: string;
}

export interface CallOptions {
  channel: Channel;
  handlers: CallHandlers;
  limits: SessionLimits;
  replayed?: readonly LoggedCall[] | undefined;
  /** Restores the file of a saved answer. Without it, a run that saved an answer cannot be replayed. */
  restoreAnswer?: ((seq: number) => Promise<void>) | undefined;
  /** Ends the run because a call exceeded a limit or cannot be replayed. */
  end(why: Violation | Divergence): void;
}

export type CallMessage = Extract<ChildMessage, { id: number }>;
type Body = { result: unknown } | { error: unknown };

interface CallInFlight extends OpenCall {
  /** Set only for methods that a script can cancel. */
  aborter: AbortController | null;
  isAnswered: boolean;
}

export class RunCalls {
  toolCalls = 0;
  readonly replies: ReplyQueue;
  readonly #options: CallOptions;
  readonly #replayed: readonly LoggedCall[];
  readonly #log: LoggedCall[] = [];
  readonly #aborter = new AbortController();
  readonly #open = new Map<number, CallInFlight>();
  /** Created for a replay, or with the first answer that becomes a file. */
  #saved: SavedAnswers | null = null;
  #bodies: Bodies | null = null;
  /** False once the log was dropped. */
  #isReplayable = true;
  #logChars = 0;
  #lastId = 0;
  #canceledId = 0;
  #fileCalls = 0;
  #outstanding = 0;

  constructor(options: CallOptions) {
    this.#options = options;
    this.replies = new ReplyQueue(options.channel, () => this.#outstanding--);
    this.#replayed = options.replayed ?? [];
    if (this.#replayed.length > 0) this.#openSaved();
  }

  begin(message: CallMessage, attachment: Buffer | null): Violation | Divergence | null {
    const excess = this.#count(message);
    if (excess !== null) return excess;
    const { id, method, params } = message;
    const seq = this.#log.length + 1;
    const call: LoggedCall = { seq, method, digest: digestOf(params, attachment), reply: null };
    this.#log.push(call);
    const logged = this.#replayed[seq - 1];
    if (logged === undefined) this.#perform(message, call, attachment);
    else if (logged.method !== method) {
      return { kind: "diverged", what: `made call ${seq} as ${method}; before, it was ${logged.method}` };
    } else if (logged.digest !== call.digest) {
      return { kind: "diverged", what: `made call ${seq}, ${method}, with other parameters than before` };
    } else if (logged.reply === null) this.#perform(message, call, attachment);
    else this.#replay(id, call, logged.reply, logged.saved);
    return null;
  }

  /** Returns the calls without a reply, oldest first. */
  listOpen(): OpenCall[] {
    return [...this.#open.values()].filter(
      (call) => !call.isAnswered && call.aborter?.signal.aborted !== true,
    );
  }

  /**
   * Aborts the call with this id, or the next call when it begins. Its reply says so. Does nothing to a call that has
   * its reply.
   */
  cancel(id: number): Violation | null {
    const next = this.#lastId + 1;
    if (id > next) return violation(`call ${id} was canceled before call ${next} was made`);
    this.#canceledId = id;
    this.#bodies?.close(id);
    this.#open.get(id)?.aborter?.abort(canceled());
    return null;
  }

  /** Aborts calls in flight and sends nothing more. Idempotent. */
  abort(): void {
    if (this.#aborter.signal.aborted) return;
    const ended = new Error("The run has ended.");
    this.#aborter.abort(ended);
    this.#saved?.end();
    for (const { id, aborter } of this.#open.values()) {
      this.#bodies?.close(id);
      aborter?.abort(ended);
    }
    this.replies.end();
  }

  /** Returns a copy of the log, or null if the run cannot be replayed. */
  copyLog(): LoggedCall[] | null {
    return this.#isReplayable ? this.#log.map((call) => ({ ...call })) : null;
  }

  #count({ id, method }: CallMessage): Violation | null {
    const { maxCalls, maxConcurrentCalls } = this.#options.limits;
    if (id <= this.#lastId) return violation(`call id ${id} does not follow ${this.#lastId}`);
    this.#lastId = id;
    if (FILE_METHODS.has(method) || method === "readBody") this.#fileCalls++;
    const { maxFileCalls } = PROTOCOL_LIMITS;
    if (this.#fileCalls > maxFileCalls || this.#log.length - this.#fileCalls >= maxCalls) {
      return violation(`more than ${maxCalls} calls were made, or ${maxFileCalls} of files`);
    }
    if (this.#outstanding >= maxConcurrentCalls + CALL_SLACK) {
      return violation(`more than ${maxConcurrentCalls} calls were in flight`);
    }
    this.#outstanding++;
    if (method === "invoke") this.toolCalls++;
    return null;
  }

  /** Sends the logged reply once its file is restored. Replies to other calls do not wait for that. */
  #replay(id: number, call: LoggedCall, reply: string, saved: LoggedCall["saved"]): void {
    if (saved !== undefined) call.saved = saved;
    this.#keep(call, reply);
    const restored = this.#saved?.of(call.seq);
    if (restored === undefined) this.replies.send(id, () => reply);
    else void restored.then(() => this.replies.send(id, () => reply));
    this.#saved?.advance(call.seq);
  }

  #perform({ id, method, params }: CallMessage, call: LoggedCall, attachment: Buffer | null): void {
    const canAbort = method === "invoke" || method === "ask";
    const entry = { id, method, params, aborter: canAbort ? new AbortController() : null, isAnswered: false };
    if (id === this.#canceledId) entry.aborter?.abort(canceled());
    this.#open.set(id, entry);
    const signal = entry.aborter?.signal ?? this.#aborter.signal;
    let savedAt: SavedAt | null = null;
    const turn: SaveTurn = () => {
      const saved = this.#openSaved();
      const wait = saved.waitFor(this.#log.length);
      if (wait === null) savedAt = saved.next(this.#log.length);
      return wait;
    };
    const openStream = () => this.#openStream(entry, call);
    // Begins in the same turn: the same chunk may contain the message that ends the run, and no call may begin after
    // the end.
    const work = async () => {
      this.#aborter.signal.throwIfAborted();
      if (method === "readBody") return this.#openBodies().read(params.call);
      // TypeScript sees the methods as one union. Each handler gets the parameters of its own schema.
      const handlers = this.#options.handlers as unknown as Record<CallMethod, Handler<unknown>>;
      return handlers[method](params, signal, call.seq, attachment, turn, openStream);
    };
    const begun = this.#saved === null ? work() : this.#saved.begin(work);
    this.#saved?.advance(call.seq);
    const saves = method === "invoke" && params.saveAs !== undefined;
    begun.then(
      (result) => {
        if (this.#close(entry, {})) return;
        if (saves) this.#recordSaved(call, result, savedAt);
        if (FILE_METHODS.has(method)) this.#sendOfFile(id, result);
        else this.#answer(id, call, { result: result ?? null });
      },
      (error: unknown) => {
        if (this.#close(entry, { error })) return;
        const isLimit = error instanceof Error && error.name === WORKSPACE_LIMIT_ERROR;
        if (isLimit) this.#options.end(exceeding(error.message));
        else if (FILE_METHODS.has(method)) this.replies.send(id, () => encodeReply(toErrorReply(error)));
        else this.#answer(id, call, toErrorReply(error));
      },
    );
  }

  /** Returns whether the call already has its reply and only its body is streaming. */
  #close(entry: CallInFlight, end: { error?: unknown }): boolean {
    this.#open.delete(entry.id);
    this.#bodies?.end(entry.id, end);
    if (!entry.isAnswered) this.#bodies?.close(entry.id);
    return entry.isAnswered;
  }

  #openStream(entry: CallInFlight, call: LoggedCall): ReturnType<OpenStream> {
    const bodies = this.#openBodies();
    if (!bodies.open(entry.id)) return null;
    return (result, bytes) => {
      entry.isAnswered = true;
      this.#answer(entry.id, call, { result });
      return bodies.take(entry.id, bytes);
    };
  }

  #openBodies(): Bodies {
    this.#bodies ??= createBodies();
    return this.#bodies;
  }

  #openSaved(): SavedAnswers {
    const { restoreAnswer, end } = this.#options;
    this.#saved ??= createSavedAnswers(this.#replayed, restoreAnswer, () => end(LOST_ANSWER));
    return this.#saved;
  }

  #recordSaved(call: LoggedCall, result: unknown, savedAt: SavedAt | null): void {
    if ((result as Partial<SavedAnswer> | null)?.size === null) return;
    call.saved = savedAt ?? this.#openSaved().next(this.#log.length);
    if (this.#options.restoreAnswer === undefined) this.#dropLog();
  }

  #dropLog(): void {
    this.#isReplayable = false;
    for (const kept of this.#log) kept.reply = null;
  }

  #keep(call: LoggedCall, reply: string): void {
    if (!this.#isReplayable) return;
    this.#logChars += reply.length;
    call.reply = reply;
    if (this.#logChars > MAX_LOG_CHARS) this.#dropLog();
  }

  /**
   * Logs the reply before it is sent, because the call must not be repeated. Without a log, the reply is encoded when
   * it can be sent.
   */
  #answer(id: number, call: LoggedCall, body: Body): void {
    const members = this.#isReplayable ? encodeReply(body) : null;
    if (members !== null) this.#keep(call, members);
    this.replies.send(id, () => members ?? encodeReply(body));
  }

  #sendOfFile(id: number, result: unknown): void {
    if (result instanceof Uint8Array) {
      this.replies.send(id, () => encodeReply({ result: { bytes: result.length } }), result);
    } else this.replies.send(id, () => encodeReply({ result: result ?? null }));
  }
}

function digestOf(params: object, attachment: Buffer | null): string {
  const text = JSON.stringify(params);
  if (attachment === null) return hash("sha256", text);
  return createHash("sha256").update(text).update(attachment).digest("hex");
}
