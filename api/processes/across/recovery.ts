/** What becomes of runs that nobody holds any more: repeated where that is possible, else ended as interrupted. */
import type { Db } from "#api/db/pool.ts";
import { INTERRUPTED } from "../live/ending.ts";
import { recoverPausedRuns } from "../pausing/store.ts";
import { endAbandonedRuns, isAbandoned, type Judging } from "../store-sweeps.ts";

/** Any number of servers may do so at once. Answers ids of processes. */
export async function recoverRuns(
  db: Db,
  judging: Judging,
): Promise<{ repeated: number[]; ended: number[] }> {
  // First: what can be repeated is not interrupted.
  const repeated = await recoverPausedRuns(db, isAbandoned(db, judging));
  const ended = await endAbandonedRuns(db, INTERRUPTED.error, judging);
  return { repeated, ended };
}
