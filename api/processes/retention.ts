/** Deletes finished processes that are too old or too many, and expired idempotency keys, in small batches. */
import type { Db } from "#api/db/pool.ts";
import { removeInBatches, startSweeps } from "#api/db/sweeps.ts";
import type { ModuleLogger } from "#sdk";
import {
  countFinishedBetween,
  countFinishedUpTo,
  deleteFinishedBefore,
  deleteFinishedUpTo,
  deleteOldIdempotencyKeys,
  type FinishedPosition,
  findNewestFinished,
  readFinishedCount,
  recordFinishedCount,
  stepBack,
} from "./store/retention.ts";

const SWEEP_INTERVAL_MS = 10 * 60_000;
const BATCH_ROWS = 500;

export interface RetentionOptions {
  /** Null means no age limit. */
  retentionDays: number | null;
  /** Null means no maximum. Up to one percent more may remain for a while. */
  retentionMax: number | null;
  keyTtlMs: number;
}

/** Runs one sweep and returns the number of processes it removed. Stops early when the signal aborts. */
export async function sweepFinished(
  db: Db,
  options: RetentionOptions,
  signal?: AbortSignal,
): Promise<number> {
  const { retentionDays, retentionMax, keyTtlMs } = options;
  let removed = 0;
  if (retentionDays !== null) {
    const removeOld = (maxRows: number) => deleteFinishedBefore(db, retentionDays, maxRows);
    removed += await removeInBatches(removeOld, BATCH_ROWS, signal);
  }
  if (retentionMax !== null) removed += await removeBeyond(db, retentionMax, BATCH_ROWS, signal);
  await removeInBatches((maxRows) => deleteOldIdempotencyKeys(db, keyTtlMs, maxRows), BATCH_ROWS, signal);
  return removed;
}

export function startRetention(db: Db, options: RetentionOptions, log: ModuleLogger): AsyncDisposable {
  return startSweeps(db, {
    name: "retention",
    everyMs: SWEEP_INTERVAL_MS,
    what: "finished processes",
    log,
    remove: (signal) => sweepFinished(db, options, signal),
  });
}

const MAX_STEP_ROWS = 10_000;

/**
 * Removes all but the `max` processes that ended last and returns their number. Stops early when the signal aborts.
 */
export async function removeBeyond(
  db: Db,
  max: number,
  batchRows: number,
  signal?: AbortSignal,
): Promise<number> {
  const known = await readFinishedCount(db);
  const newest = await findNewestFinished(db);
  if (newest === null) return 0;
  if (known !== null) {
    const room = max + Math.floor(max / 100) - known.counted;
    const fresh = room < 0 ? 0 : await countFinishedBetween(db, known, newest, room + 1);
    if (fresh <= room) {
      await recordFinishedCount(db, known, { ...newest, counted: known.counted + fresh });
      return 0;
    }
  }
  const { oldestKept, counted } = await walkBack(db, newest, max);
  let removed = 0;
  while (oldestKept !== null) {
    const batch = await deleteFinishedUpTo(db, oldestKept, batchRows);
    removed += batch;
    if (signal?.aborted) return removed;
    if (batch === 0) break;
  }
  await recordFinishedCount(db, known, { ...newest, counted });
  return removed;
}

/** `oldestKept` is null if there are no more than `max`. */
async function walkBack(
  db: Db,
  newest: FinishedPosition,
  max: number,
): Promise<{ oldestKept: FinishedPosition | null; counted: number }> {
  let at = newest;
  let counted = 1;
  while (counted < max) {
    const rows = Math.min(MAX_STEP_ROWS, max - counted);
    const next = await stepBack(db, at, rows);
    if (next === null) {
      return { oldestKept: null, counted: counted - 1 + (await countFinishedUpTo(db, at)) };
    }
    at = next;
    counted += rows;
  }
  return { oldestKept: at, counted };
}
