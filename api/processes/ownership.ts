/**
 * Whether this server's claims are still its own. One that was silent for too long has lost them: its runs were ended, or
 * went to others, so it ends its children. Also where a kill is noticed whose notice was lost.
 */

import type { Db } from "#api/db/pool.ts";
import type { ModuleLogger } from "#sdk";
import type { RunRegistry } from "./live/registry.ts";
import type { LiveRun } from "./live/run.ts";
import { INTERRUPTED } from "./model/records.ts";
import { readClaims } from "./store/changes.ts";
import { recoverPausedRuns } from "./store/pauses.ts";
import { endAbandonedRuns, isAbandoned, type Judging, returnClaims } from "./store/queue.ts";

export interface HeldClaimsOptions {
  db: Db;
  registry: RunRegistry;
  /** Asks the environment to end a run that is marked killed. */
  requestEnd(live: LiveRun): void;
  log: ModuleLogger;
}

export interface HeldClaims {
  /** `wasSilent`: the others may have given this server up, so there is nothing to wait for. Rejects when the database does. */
  check(wasSilent: boolean): Promise<void>;
  /** Of these only, if they are held here: somebody has asked for their end. */
  checkKilled(ids: readonly number[]): Promise<void>;
}

export function createHeldClaims({ db, registry, requestEnd, log }: HeldClaimsOptions): HeldClaims {
  /** Runs whose claim was another's at the last look: one that is on its way out is another's for a moment. */
  let suspected = new Set<LiveRun>();

  function endKilled(live: LiveRun): void {
    if (live.isOver || live.state === "terminating") return;
    live.markKilled();
    requestEnd(live);
  }

  return {
    async check(wasSilent) {
      const runs = registry.all().map(({ live }) => live);
      if (runs.length === 0) return;
      const claims = await readClaims(
        db,
        runs.map(({ id }) => id),
      );
      const next = new Set<LiveRun>();
      for (const live of runs) {
        if (live.isOver || registry.get(live.id) !== live) continue;
        const stored = claims.get(live.id);
        if (stored?.claim === live.claim && stored.state === "terminating") endKilled(live);
        else if (stored?.claim !== live.claim || stored.state === "idle" || stored.state === "queued") {
          if (wasSilent || suspected.has(live)) {
            log.warn({ processId: live.id }, "a run is no longer this server's: its child is ended");
            live.decide(INTERRUPTED);
          } else next.add(live);
        }
      }
      suspected = next;
    },
    async checkKilled(ids) {
      const runs = ids.map((id) => registry.get(id)).filter((live) => live !== undefined);
      if (runs.length === 0) return;
      const claims = await readClaims(db, ids);
      for (const live of runs) {
        const stored = claims.get(live.id);
        if (stored?.claim === live.claim && stored.state === "terminating") endKilled(live);
      }
    },
  };
}

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
