/** What becomes of claims that no server runs: queued again where nothing is lost by it, else ended as interrupted. */
import type { Db } from "#api/db/pool.ts";
import { INTERRUPTED } from "../live/ending.ts";
import { recoverPausedRuns } from "../pausing/store.ts";
import { returnClaims } from "../queue/store.ts";
import { endAbandonedRuns, isAbandoned, type Judging } from "../store-sweeps.ts";

/**
 * Any number of servers may do so at once. `withDecided`: see `recoverPausedRuns`. Answers ids of processes: `queued`, which
 * had not begun or can be repeated, and `ended`.
 */
export async function recoverRuns(
  db: Db,
  judging: Judging,
  withDecided: boolean,
): Promise<{ queued: number[]; ended: number[] }> {
  // First: what has not begun, or can be repeated, is not interrupted.
  const returned = await returnClaims(db, judging.unheld ?? []);
  const repeated = await recoverPausedRuns(db, isAbandoned(db, judging), withDecided);
  const ended = await endAbandonedRuns(db, INTERRUPTED.error, judging);
  return { queued: [...returned, ...repeated], ended };
}
