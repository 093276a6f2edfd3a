/**
 * Answers that became files, when a run is repeated: each is put back where it was among the calls of the run, and what the
 * script reads, writes or sends after that waits until it is there.
 */
import type { CallMethod } from "../wire/protocol.ts";

export interface LoggedCall {
  /** Which of the run's calls it was, from 1. */
  seq: number;
  method: CallMethod;
  /** SHA-256 of its parameters and what is attached, hexadecimal. */
  digest: string;
  /**
   * What the child was told: the members of the reply as JSON text, without its id. Null: not answered yet, or a call of a file,
   * which is made again when the run is repeated.
   */
  reply: string | null;
  /** Its answer became a file of the workspace, which has to be there again before the reply is repeated. True: it is not known when. */
  saved?: SavedPlace | true | undefined;
}

/** When an answer became a file: what the script reads and writes depends on it. */
export interface SavedPlace {
  /** After this call was begun, and before the next one. */
  after: number;
  /** Among all such answers of the run. */
  order: number;
}

export interface Restores {
  /** Resolves when the file of this call is there again; undefined: there is none to be put back. */
  of(seq: number): Promise<void> | undefined;
  /** Does `work` at once, or after what is being put back. */
  begin<T>(work: () => Promise<T>): Promise<T>;
  /** A call was begun: puts back what came after it. */
  advance(seq: number): void;
  /** What an answer has to wait for that is to become a file after `seq` calls; null: nothing. */
  waitFor(seq: number): Promise<void> | null;
  nextPlace(after: number): SavedPlace;
  /** The run is over: nothing waits any more. */
  end(): void;
}

export function createRestores(
  before: readonly LoggedCall[],
  restoreAnswer: ((seq: number) => Promise<void>) | undefined,
  onLost: () => void,
): Restores {
  const pending = before
    .filter(({ saved, reply }) => saved !== undefined && reply !== null)
    .map(({ seq, saved }) => ({
      seq,
      ...(saved === true || saved === undefined ? { after: seq, order: 0 } : saved),
      done: Promise.withResolvers<void>(),
    }))
    .sort((a, b) => a.after - b.after || a.order - b.order);
  const bySeq = new Map(pending.map(({ seq, done }) => [seq, done.promise]));
  /** Resolves when the calls of the earlier child have been begun again. */
  const repeated = Promise.withResolvers<void>();
  let lastOrder = pending.reduce((most, { order }) => Math.max(most, order), 0);
  let isOver = false;
  /** `done`: the last one is there. `over`: what waited for it has begun as well. */
  let restoring: { done: Promise<void>; over: Promise<void> } | null = null;

  async function restore(seq: number, done: () => void): Promise<void> {
    try {
      if (restoreAnswer === undefined) throw new Error("Answers are not kept here.");
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
      if (seq >= before.length) repeated.resolve();
    },
    waitFor: (seq) => (isOver ? null : seq < before.length ? repeated.promise : (restoring?.over ?? null)),
    nextPlace: (after) => ({ after, order: ++lastOrder }),
    end() {
      isOver = true;
      repeated.resolve();
    },
  };
}
