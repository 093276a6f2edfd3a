/** Removes finished processes that are too old or too many, and idempotency keys past their time: in small batches. */
import type { Db } from "#api/db/pool.ts";
import { takeTurn } from "#api/db/turns.ts";
import type { ModuleLogger } from "#sdk";
import {
  countFinishedBetween,
  countFinishedUpTo,
  deleteFinishedBefore,
  deleteFinishedUpTo,
  deleteOldIdempotencyKeys,
  type FinishedPosition,
  findNewestFinished,
  noteFinishedCount,
  readFinishedCount,
  stepBack,
} from "./store/retention.ts";

const SWEEP_INTERVAL_MS = 10 * 60_000;
/** A little less than the interval: a server that has swept looks again just before its turn is over. */
const TURN_MS = SWEEP_INTERVAL_MS * 0.9;
const BATCH_ROWS = 500;

export interface RetentionOptions {
  /** Null: kept for ever. */
  retentionDays: number | null;
  /** Null: no maximum. One in a hundred more may stay for a while. */
  retentionMax: number | null;
  keyTtlMs: number;
}

/** One sweep. Returns how many processes it removed. Stops early when the signal aborts. */
export async function sweepFinished(
  db: Db,
  options: RetentionOptions,
  signal?: AbortSignal,
): Promise<number> {
  const { retentionDays, retentionMax, keyTtlMs } = options;
  let removed = 0;
  if (retentionDays !== null) {
    removed += await repeat((batch) => deleteFinishedBefore(db, retentionDays, batch), signal);
  }
  if (retentionMax !== null) removed += await removeBeyond(db, retentionMax, BATCH_ROWS, signal);
  await repeat((batch) => deleteOldIdempotencyKeys(db, keyTtlMs, batch), signal);
  return removed;
}

async function repeat(
  removeBatch: (batch: number) => Promise<number>,
  signal?: AbortSignal,
): Promise<number> {
  let removed = 0;
  for (;;) {
    const batch = await removeBatch(BATCH_ROWS);
    removed += batch;
    if (batch < BATCH_ROWS || signal?.aborted) return removed;
  }
}

/**
 * Sweeps now and then, every ten minutes, over all servers: one sweep at a time, until disposed; disposing waits for the
 * batch at hand.
 */
export function startRetention(db: Db, options: RetentionOptions, log: ModuleLogger): AsyncDisposable {
  const stopped = new AbortController();
  let current: Promise<void> | null = null;
  let isFirst = true;
  const sweep = async () => {
    try {
      const isDue = (await takeTurn(db, "retention", TURN_MS)) || isFirst;
      isFirst = false;
      if (!isDue) {
        current = null;
        return;
      }
      const removed = await sweepFinished(db, options, stopped.signal);
      if (removed > 0) log.info({ removed }, "finished processes were removed by retention");
    } catch (error) {
      log.warn({ err: error }, "the retention sweep failed; it is tried again later");
    }
    current = null;
  };
  const begin = () => {
    current ??= sweep();
  };
  begin();
  const timer = setInterval(begin, SWEEP_INTERVAL_MS).unref();
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      stopped.abort();
      await current;
    },
  };
}

/** So that no statement is long. */
const MAX_STEP_ROWS = 10_000;

/** One sweep: removes all but the `max` that ended last. Returns how many. Stops early when the signal aborts. */
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
      await noteFinishedCount(db, known, { ...newest, counted: known.counted + fresh });
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
  await noteFinishedCount(db, known, { ...newest, counted });
  return removed;
}

/** `oldestKept` null: there are no more than `max`. */
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
    // The one it stands at is counted already.
    if (next === null) {
      return { oldestKept: null, counted: counted - 1 + (await countFinishedUpTo(db, at)) };
    }
    at = next;
    counted += rows;
  }
  return { oldestKept: at, counted };
}
