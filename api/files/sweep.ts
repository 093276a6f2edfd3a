/**
 * Removes unused uploads, unreferenced contents, and remains of failed uploads, in small batches, on one replica at a
 * time.
 */
import type { Db, Pool } from "#api/db/pool.ts";
import { removeInBatches, startSweeps } from "#api/db/sweeps.ts";
import type { ModuleLogger } from "#sdk";
import type { ContentStore } from "./contents/contents.ts";
import {
  type DoomedBlob,
  deleteBlobs,
  deleteUnusedContents,
  doomBlobs,
  lockUnusedBlobs,
  lockUnusedContents,
} from "./contents/store-rows.ts";
import { deleteUnusedFiles } from "./store.ts";

const SWEEP_INTERVAL_MS = 10 * 60_000;
const BATCH_ROWS = 200;
/** Failures per place after which a batch stops: if the place is down, every removal there fails. */
const MAX_FAILURES = 3;
/**
 * Age at which an unfinished blob or unreferenced content counts as abandoned. Writes mark their blob every 30 s, and
 * a new content soon gets its references.
 */
export const ABANDONED_MS = 10 * 60_000;

export interface FileSweep {
  pool: Pool;
  contents: Pick<ContentStore, "placeOf">;
  ttlDays: number;
  log: Pick<ModuleLogger, "info" | "warn">;
  onSwept?: (what: "files" | "contents" | "blobs", count: number) => void;
}

export function startFileSweeps(sweep: FileSweep): AsyncDisposable {
  return startSweeps(sweep.pool, {
    name: "files",
    everyMs: SWEEP_INTERVAL_MS,
    what: "files",
    log: sweep.log,
    remove: (signal) => sweepFiles(sweep, ABANDONED_MS, signal),
  });
}

/** Sweeps once and returns the number of removed files, contents and blobs. Stops early when the signal aborts. */
export async function sweepFiles(
  { pool, contents, ttlDays, log, onSwept = () => {} }: FileSweep,
  abandonedMs: number,
  signal?: AbortSignal,
): Promise<number> {
  const steps = {
    files: (maxRows: number) => deleteUnusedFiles(pool, ttlDays, maxRows),
    contents: (maxRows: number) => pool.begin((db) => removeContents(db, abandonedMs, maxRows)),
    blobs: (maxRows: number) => removeBlobs(pool, contents, abandonedMs, maxRows, log),
  };
  let removed = 0;
  for (const what of ["files", "contents", "blobs"] as const) {
    if (signal?.aborted) break;
    const count = await removeInBatches(steps[what], BATCH_ROWS, signal);
    onSwept(what, count);
    removed += count;
  }
  return removed;
}

async function removeContents(db: Db, unusedMs: number, maxRows: number): Promise<number> {
  const unused = await lockUnusedContents(db, unusedMs, maxRows);
  return unused.length === 0 ? 0 : deleteUnusedContents(db, unused, unusedMs);
}

/** Removes the bytes before their row, so that the next sweep can retry a failed removal. */
async function removeBlobs(
  pool: Pool,
  contents: Pick<ContentStore, "placeOf">,
  untouchedMs: number,
  maxRows: number,
  log: FileSweep["log"],
): Promise<number> {
  const doomed = await pool.begin((db) => giveUpBlobs(db, untouchedMs, maxRows));
  const removed: string[] = [];
  for (const [place, blobs] of Map.groupBy(doomed, (blob) => blob.place)) {
    let failures = 0;
    for (const blob of blobs) {
      try {
        await contents.placeOf(place).remove([blob]);
        removed.push(blob.id);
      } catch (error) {
        failures += 1;
        log.warn(
          { err: error, place, blob: blob.id },
          "an unused content could not be removed from its store",
        );
        if (failures === MAX_FAILURES) break;
      }
    }
  }
  await deleteBlobs(pool, removed);
  return removed.length;
}

async function giveUpBlobs(db: Db, untouchedMs: number, maxRows: number): Promise<DoomedBlob[]> {
  const unused = await lockUnusedBlobs(db, untouchedMs, maxRows);
  return unused.length === 0 ? [] : doomBlobs(db, unused);
}
