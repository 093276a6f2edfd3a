/** What a queued process is told: how many are before it, and about how long that takes. */
import type { Db } from "../../db/pool.ts";
import { findPositions } from "./store.ts";

export interface QueuePlace {
  /** 1: the next. */
  position: number;
  /** Null while no run has ended here yet. */
  estimatedMs: number | null;
}

export interface QueueEstimates {
  /** A run has ended; milliseconds. */
  noteEnded(wallMs: number): void;
  /** Places of those that are queued, by process id. */
  find(ids: readonly number[]): Promise<Map<number, QueuePlace>>;
}

/** How much the last run counts in the mean. */
const WEIGHT = 0.1;

/** `countSlots`: runs at once, over all servers; null where that is not known. */
export function createQueueEstimates(db: Db, countSlots: () => number | null): QueueEstimates {
  let meanMs: number | null = null;
  return {
    noteEnded(wallMs) {
      meanMs = meanMs === null ? wallMs : meanMs + (wallMs - meanMs) * WEIGHT;
    },
    async find(ids) {
      const positions = await findPositions(db, ids);
      const slots = Math.max(1, countSlots() ?? 1);
      return new Map(
        [...positions].map(([id, position]) => [
          id,
          {
            position,
            // It is next when one of the slots has become free for each of those before it, and for itself.
            estimatedMs: meanMs === null ? null : Math.round((meanMs * position) / slots),
          },
        ]),
      );
    },
  };
}
