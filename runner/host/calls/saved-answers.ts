/**
 * Restores answers that became files when a run is replayed. Each file is restored at its position among the run's
 * calls; everything the script reads, writes or sends after that waits for it.
 */
import type { CallMethod } from "../../wire/protocol.ts";

export interface LoggedCall {
  seq: number;
  method: CallMethod;
  /** SHA-256 of its parameters and attachment, in hexadecimal. */
  digest: string;
  /**
   * Members of the reply as JSON text, without its id. Null for a call without a reply, and for file calls, which a
   * replay repeats.
   */
  reply: string | null;
  /**
   * Set if the answer became a file, which must be restored before the reply is replayed. True if the position is
   * unknown.
   */
  saved?: SavedAt | true | undefined;
}

/** Position at which an answer became a file. Later reads and writes of the script depend on it. */
export interface SavedAt {
  after: number;
  order: number;
}

export interface SavedAnswers {
  /** Resolves when the file of this call is restored. Returns undefined if it has none. */
  of(seq: number): Promise<void> | undefined;
  /** Runs `work` now or, if files are being restored, after them. */
  begin<T>(work: () => Promise<T>): Promise<T>;
  /** Restores the files that follow this call. Call it when the call has begun. */
  advance(seq: number): void;
  /** Returns what an answer that becomes a file after `seq` calls must wait for, or null. */
  waitFor(seq: number): Promise<void> | null;
  next(after: number): SavedAt;
  /** Stops all waiting, because the run is over. */
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
  /** `done` resolves when the last file is restored, `over` once the calls that waited have begun. */
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
