/**
 * Whether claims and runs fit each other. What the database says this server runs and it does not is queued again, or
 * ended; runs here whose claim is another server's now are ended; and so is what was killed while the notice was lost.
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

/** Looks at the claims for each look at all paused runs. */
const LOOKS_PER_DECIDED = 5;

export interface OwnershipOptions {
  db: Db;
  registry: RunRegistry;
  peers: Peers;
  log: ModuleLogger;
  /** Whether a claim of this server runs here, or is about to. */
  holds(claim: Claim): boolean;
  /** Resolves when what is being claimed now has begun here. */
  settled(): Promise<unknown>;
  /** How often claims are compared with runs. */
  reconcileIntervalMs: number;
  /** Brings the length of the queue in line with the database. */
  compareQueue(): Promise<void>;
  /** Told of each process that was queued again, and of each that was ended. */
  onQueued(id: number): void;
  onEnded(id: number): void;
}

export interface Ownership extends Disposable {
  /** At the start: takes over what an earlier server left. Answers how many it queued again and how many it ended. */
  recover(): Promise<{ queued: number; ended: number }>;
  /** Looks at this server's claims. Also runs by itself, every `reconcileIntervalMs`; never rejects. */
  reconcile(): Promise<void>;
}

export function createOwnership(options: OwnershipOptions): Ownership {
  const { db, registry, peers, log, holds } = options;
  const open = new DisposableStack();
  let looks = 0;
  let comparing: Promise<void> | null = null;
  let storingSoFar: Promise<void> | null = null;
  /** Runs whose claim did not match once. Two mismatches mean lost: a run that its child leaves mismatches for a moment. */
  let mismatched = new Set<LiveRun>();

  async function compare(): Promise<void> {
    const claims = await listClaims(db, peers.id);
    // Each of them was asked for by now: once the queue is answered, it runs here, or never will.
    await options.settled();
    // Runs are let go of now, to be repeated by the next server.
    if (open.disposed) return;
    const unheld = claims.filter((claim) => !holds(claim));
    for (const { id, claim, state } of claims) {
      const live = registry.get(id);
      // Killed before the answer to its claim had come.
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
    // One that is under way may have looked already. One at a time: a slow database would soon have every connection wait.
    await comparing;
    comparing ??= compare()
      .catch((error) => log.debug({ err: error }, "the claims could not be compared with the database"))
      .finally(() => {
        comparing = null;
      });
    await comparing;
  }

  /** `wasSilent`: the others may have given this server up, so one mismatch is enough. */
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

  /** One at a time, and as long as no run is old enough nothing. */
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

/** What becomes of claims that no server runs: queued again where nothing is lost by it, else ended as interrupted. */
async function recoverRuns(
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
