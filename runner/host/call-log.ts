/**
 * What a run asked of its host and what it was told, in the order it asked: kept so that the run can be repeated, and
 * what a repeated run is answered from. Knows no channel. Bounded: a run that outgrows it cannot be repeated.
 */
import { hash } from "node:crypto";
import type { CallMethod } from "../wire/protocol.ts";

/** JSON text of all replies of one run, in UTF-16 units. */
const MAX_LOG_CHARS = 16 * 1024 * 1024;

export interface LoggedCall {
  /** Which of the run's calls it was, from 1. */
  seq: number;
  method: CallMethod;
  /** SHA-256 of its parameters, hexadecimal. */
  digest: string;
  /** What the child was told: the members of the reply as JSON text, without its id. Null: nothing yet. */
  reply: string | null;
}

/** How a call is to be answered. */
export type CallAnswer =
  /** By the host, as ever. */
  | { kind: "live" }
  /** With what it was answered before. */
  | { kind: "logged"; reply: string }
  /** The repeated run does something else; `what` completes "the script …". */
  | { kind: "diverged"; what: string };

export interface CallLog {
  /** The next call of the run. */
  begin(method: CallMethod, params: unknown): CallAnswer & { seq: number };
  /** What the child is told now. */
  end(seq: number, reply: string): void;
  /** Null when there was more to keep than is kept. */
  calls(): LoggedCall[] | null;
  /** There was more to keep than is kept: nothing is, any more. */
  readonly isFull: boolean;
}

/** `before`: the calls of the run that is repeated. */
export function createCallLog(before: readonly LoggedCall[] = []): CallLog {
  const calls: LoggedCall[] = [];
  let chars = 0;

  return {
    begin(method, params) {
      const seq = calls.length + 1;
      const digest = hash("sha256", JSON.stringify(params));
      const logged = before[seq - 1];
      const call: LoggedCall = { seq, method, digest, reply: null };
      calls.push(call);
      if (logged === undefined) return { kind: "live", seq };
      if (logged.method !== method) {
        return {
          kind: "diverged",
          seq,
          what: `made call ${seq} as ${method}; before, it was ${logged.method}`,
        };
      }
      if (logged.digest !== digest) {
        return {
          kind: "diverged",
          seq,
          what: `made call ${seq}, ${method}, with other parameters than before`,
        };
      }
      return logged.reply === null ? { kind: "live", seq } : { kind: "logged", seq, reply: logged.reply };
    },
    end(seq, reply) {
      const call = calls[seq - 1];
      if (call === undefined || call.reply !== null) return;
      if (chars > MAX_LOG_CHARS) return;
      chars += reply.length;
      call.reply = reply;
      // No repetition any more: nothing is kept for one.
      if (chars > MAX_LOG_CHARS) for (const kept of calls) kept.reply = null;
    },
    get isFull() {
      return chars > MAX_LOG_CHARS;
    },
    calls: () => (chars > MAX_LOG_CHARS ? null : calls.map((call) => ({ ...call }))),
  };
}
