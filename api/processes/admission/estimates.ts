/**
 * What a queued process is told: how many are before it, and about how long that takes. To know it the whole queue is
 * ranked: once for everybody who asks meanwhile, and never for more than a part of the time.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "#api/db/pool.ts";
import type { QueuePlace } from "../model/records.ts";
import { findPositions } from "../store/queue.ts";

export interface QueueEstimates {
  /** A run has ended; milliseconds. */
  noteEnded(wallMs: number): void;
  /** Places of those that are queued, by process id. */
  find(ids: readonly number[]): Promise<Map<number, QueuePlace>>;
}

/** How much the last run counts in the mean. */
const WEIGHT = 0.1;
/** Between two rankings, in multiples of the time that the first took. */
const PAUSE = 4;
const MAX_PAUSE_MS = 1000;

/** `countSlots`: runs at once, over all servers; null where that is not known. */
export function createQueueEstimates(db: Db, countSlots: () => number | null): QueueEstimates {
  let meanMs: number | null = null;
  /** Resolves when the queue may be ranked again. */
  let pause: Promise<unknown> = Promise.resolve();
  let next: { ids: Set<number>; positions: Promise<Map<number, number>> } | null = null;

  /** By a ranking that begins after this call, together with others. */
  function rank(ids: readonly number[]): Promise<Map<number, number>> {
    if (next === null) {
      const asked = new Set<number>();
      next = { ids: asked, positions: pause.then(() => rankNow(asked)) };
    }
    for (const id of ids) next.ids.add(id);
    return next.positions;
  }

  async function rankNow(ids: ReadonlySet<number>): Promise<Map<number, number>> {
    next = null;
    const over = Promise.withResolvers<void>();
    pause = over.promise;
    const startMs = performance.now();
    try {
      return await findPositions(db, [...ids]);
    } finally {
      const pauseMs = Math.min((performance.now() - startMs) * PAUSE, MAX_PAUSE_MS);
      pause = sleep(pauseMs, undefined, { ref: false });
      void pause.then(() => over.resolve());
    }
  }

  return {
    noteEnded(wallMs) {
      meanMs = meanMs === null ? wallMs : meanMs + (wallMs - meanMs) * WEIGHT;
    },
    async find(ids) {
      if (ids.length === 0) return new Map();
      const positions = await rank(ids);
      const slots = Math.max(1, countSlots() ?? 1);
      return new Map(
        ids.flatMap((id) => {
          const position = positions.get(id);
          if (position === undefined) return [];
          // It is next when one of the slots has become free for each of those before it, and for itself.
          const estimatedMs = meanMs === null ? null : Math.round((meanMs * position) / slots);
          return [[id, { position, estimatedMs }]];
        }),
      );
    },
  };
}
