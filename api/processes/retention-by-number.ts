/**
 * Keeps at most so many finished processes. Nothing counts them all for nothing: a sweep counts those that have ended since
 * the one before, and only when there may be too many it walks from the newest to the oldest that stays, in steps. That is
 * put off until one in a hundred more than are kept have come, so a removed process costs the same however many are kept.
 */
import type { Db } from "#api/db/pool.ts";
import {
  countFinishedBetween,
  countFinishedUpTo,
  deleteFinishedUpTo,
  type FinishedPosition,
  findNewestFinished,
  noteFinishedCount,
  readFinishedCount,
  stepBack,
} from "./store-retention.ts";

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
