/**
 * Reconciles claims in the database with runs in memory. Claims of this server without a run are requeued or ended.
 * Runs whose claim now belongs to another server, and runs whose kill notification was lost, are ended.
 */
import type { Db } from "#api/db/pool.ts";
import type { ModuleLogger } from "#sdk";
import type { RunRegistry } from "./live/registry.ts";
import type { LiveRun } from "./live/run.ts";
import type { Peers } from "./model/peers.ts";
import { type Claim, INTERRUPTED } from "./model/records.ts";
import { PROGRESS_INTERVAL_MS, storeProgress } from "./progress.ts";
import { readClaims } from "./store/changes.ts";
import { recoverPausedRuns } from "./store/pauses.ts";
import { endAbandonedRuns, isAbandoned, type Judging, listClaims, returnClaims } from "./store/queue.ts";

const LOOKS_PER_DECIDED = 5;

export interface OwnershipOptions {
  db: Db;
  registry: RunRegistry;
  peers: Peers;
  log: ModuleLogger;
  /** True if the claim's run is in memory or about to start. */
  holds(claim: Claim): boolean;
  settled(): Promise<unknown>;
  reconcileIntervalMs: number;
  compareQueue(): Promise<void>;
  /** `onQueued` is called for each requeued process, `onEnded` for each ended one. */
  onQueued(id: number): void;
  onEnded(id: number): void;
}

export interface Ownership extends Disposable {
  /** At startup, takes over the runs of an earlier server. Returns how many were requeued and how many were ended. */
  recover(): Promise<{ queued: number; ended: number }>;
  /** Checks this server's claims. Also runs every `reconcileIntervalMs`. Never rejects. */
  reconcile(): Promise<void>;
}

export function createOwnership(options: OwnershipOptions): Ownership {
  const { db, registry, peers, log, holds } = options;
  const open = new DisposableStack();
  let looks = 0;
  let comparing: Promise<void> | null = null;
  let storingSoFar: Promise<void> | null = null;
  /**
   * Runs whose claim did not match at the last check. Only a second mismatch counts as lost, because a run being
   * detached mismatches for a moment.
   */
  let mismatched = new Set<LiveRun>();

  async function compare(): Promise<void> {
    const claims = await listClaims(db, peers.id);
    // All these claims were requested earlier. Once the claim in progress is answered, their runs are here or never
    // will be.
    await options.settled();
    // Runs are being detached for replay by the next server.
    if (open.disposed) return;
    const unheld = claims.filter((claim) => !holds(claim));
    for (const { id, claim, state } of claims) {
      const live = registry.get(id);
      // The run was killed before the reply to its claim arrived.
      if (state === "terminating" && live?.claim === claim && !live.isOver) live.kill();
    }
    looks += 1;
    const judging = { replica: peers.id, unheld, maxSilentMs: peers.maxSilentMs };
    const { queued, ended } = await recoverRuns(db, judging, looks % LOOKS_PER_DECIDED === 1);
    if (queued.length > 0) log.warn({ processes: queued }, "processes that no server ran are queued again");
    if (ended.length > 0) log.warn({ processes: ended }, "runs that no server held any more were ended");
    for (const id of ended) options.onEnded(id);
    for (const id of queued) options.onQueued(id);
    await options.compareQueue();
  }

  async function reconcile(): Promise<void> {
    // A check in progress may already have passed these claims, so wait for it and start another. Only one runs at a
    // time: on a slow database, several would take up every connection.
    await comparing;
    comparing ??= compare()
      .catch((error) => log.debug({ err: error }, "the claims could not be compared with the database"))
      .finally(() => {
        comparing = null;
      });
    await comparing;
  }

  /** `wasSilent`: others may have given up this server, so a single mismatch is enough. */
  async function checkHeld(wasSilent: boolean): Promise<void> {
    const runs = registry.all();
    if (runs.length === 0) return;
    const claims = await readClaims(
      db,
      runs.map(({ id }) => id),
    );
    const next = new Set<LiveRun>();
    for (const live of runs) {
      if (live.isOver || registry.get(live.id) !== live) continue;
      const stored = claims.get(live.id);
      if (stored?.claim === live.claim && stored.state === "terminating") live.kill();
      else if (stored?.claim !== live.claim || stored.state === "idle" || stored.state === "queued") {
        if (wasSilent || mismatched.has(live)) {
          log.warn({ processId: live.id }, "a run is no longer this server's: its child is ended");
          live.decide(INTERRUPTED);
        } else next.add(live);
      }
    }
    mismatched = next;
  }

  async function checkKilled(ids: readonly number[]): Promise<void> {
    const runs = ids.map((id) => registry.get(id)).filter((live) => live !== undefined);
    if (runs.length === 0) return;
    const claims = await readClaims(db, ids);
    for (const live of runs) {
      const stored = claims.get(live.id);
      if (stored?.claim === live.claim && stored.state === "terminating" && !live.isOver) live.kill();
    }
  }

  /** Runs one statement at a time, and none until some run is old enough. */
  function storeSoFar(): void {
    if (storingSoFar !== null || !registry.hasOlderThan(PROGRESS_INTERVAL_MS)) return;
    storingSoFar = storeProgress(db, registry, log).finally(() => {
      storingSoFar = null;
    });
  }

  return {
    async recover() {
      const judging = { replica: peers.id, unheld: null, maxSilentMs: peers.maxSilentMs };
      const { queued, ended } = await recoverRuns(db, judging, true);
      open.defer(
        peers.onEvent((news, ids) => {
          if (news === "kill") checkKilled(ids).catch(() => {});
        }),
      );
      open.defer(peers.onBeat(() => checkHeld(peers.consumeSilence())));
      const timer = setInterval(() => void reconcile(), options.reconcileIntervalMs).unref();
      open.defer(() => clearInterval(timer));
      const storing = setInterval(storeSoFar, PROGRESS_INTERVAL_MS).unref();
      open.defer(() => clearInterval(storing));
      return { queued: queued.length, ended: ended.length };
    },
    reconcile,
    [Symbol.dispose]: () => open.dispose(),
  };
}

/** Recovers claims that no server runs: requeues them if nothing is lost, otherwise ends them as interrupted. */
async function recoverRuns(
  db: Db,
  judging: Judging,
  withDecided: boolean,
): Promise<{ queued: number[]; ended: number[] }> {
  // Requeue first: runs that have not started or can be replayed are not interrupted.
  const returned = await returnClaims(db, judging.unheld ?? []);
  const repeated = await recoverPausedRuns(db, isAbandoned(db, judging), withDecided);
  const ended = await endAbandonedRuns(db, INTERRUPTED.error, judging);
  return { queued: [...returned, ...repeated], ended };
}
