/**
 * Answers that became files, when a run is replayed: each file is restored at its place among the calls of the run, and what the
 * script reads, writes or sends after that waits for it.
 */
import type { CallMethod } from "../../wire/protocol.ts";

export interface LoggedCall {
  /** The call's number within the run, from 1. */
  seq: number;
  method: CallMethod;
  /** SHA-256 of its parameters and attachment, hexadecimal. */
  digest: string;
  /** The reply's members as JSON text, without its id. Null for a call without a reply, and for file calls, which a replay makes again. */
  reply: string | null;
  /** Set if the answer became a file, which must be restored before the reply is replayed. True if it is unknown when. */
  saved?: SavedAt | true | undefined;
}

/** When an answer became a file: what the script reads and writes depends on it. */
export interface SavedAt {
  /** Number of the last call that had begun. */
  after: number;
  /** Number among all saved answers of the run. */
  order: number;
}

export interface SavedAnswers {
  /** Resolves when the file of this call is restored; undefined if it has none. */
  of(seq: number): Promise<void> | undefined;
  /** Does `work` at once, or after the files being restored. */
  begin<T>(work: () => Promise<T>): Promise<T>;
  /** Call when a call has begun: restores the files that follow it. */
  advance(seq: number): void;
  /** Returns what an answer that becomes a file after `seq` calls has to wait for, or null. */
  waitFor(seq: number): Promise<void> | null;
  next(after: number): SavedAt;
  /** Nothing waits once the run is over. */
  end(): void;
}

export function createSavedAnswers(
  replayed: readonly LoggedCall[],
  restoreAnswer: ((seq: number) => Promise<void>) | undefined,
  onLost: () => void,
): SavedAnswers {
  const pending = replayed
    .filter(({ saved, reply }) => saved !== undefined && reply !== null)
    .map(({ seq, saved }) => ({
      seq,
      ...(saved === true || saved === undefined ? { after: seq, order: 0 } : saved),
      done: Promise.withResolvers<void>(),
    }))
    .sort((a, b) => a.after - b.after || a.order - b.order);
  const bySeq = new Map(pending.map(({ seq, done }) => [seq, done.promise]));
  /** Resolves when every logged call has begun again. */
  const caughtUp = Promise.withResolvers<void>();
  let lastOrder = pending.reduce((most, { order }) => Math.max(most, order), 0);
  let isOver = false;
  /** `done` resolves with the last file; `over` once the calls that waited for it have begun. */
  let restoring: { done: Promise<void>; over: Promise<void> } | null = null;

  async function restore(seq: number, done: () => void): Promise<void> {
    try {
      if (restoreAnswer === undefined) throw new Error("This server does not keep answers.");
      await restoreAnswer(seq);
      done();
    } catch {
      onLost();
    }
  }

  return {
    of: (seq) => bySeq.get(seq),
    begin: (work) => (restoring === null ? new Promise((begun) => begun(work())) : restoring.done.then(work)),
    advance(seq) {
      while (pending[0] !== undefined && pending[0].after <= seq) {
        const { seq: saved, done } = pending.shift() as (typeof pending)[0];
        const last = (restoring?.done ?? Promise.resolve()).then(() => restore(saved, done.resolve));
        const over = last.then(async () => {
          await new Promise(setImmediate);
          if (restoring?.done === last) restoring = null;
        });
        restoring = { done: last, over };
      }
      if (seq >= replayed.length) caughtUp.resolve();
    },
    waitFor: (seq) => (isOver ? null : seq < replayed.length ? caughtUp.promise : (restoring?.over ?? null)),
    next: (after) => ({ after, order: ++lastOrder }),
    end() {
      isOver = true;
      caughtUp.resolve();
    },
  };
}
