/**
 * Decides which process runs when: admission limits, slots, and queue estimates. Counts are kept in memory, so that
 * rejecting a run needs no database query. Runs that got a slot are handled by run.ts.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Environments } from "#api/components/modules/environments.ts";
import type { Db } from "#api/db/pool.ts";
import { AppError } from "#api/errors.ts";
import { findRefusal, KEPT_DIVISOR } from "#runner/shared-room.ts";
import type { ModuleLogger } from "#sdk";
import type { ProcessFeed, RunRegistry } from "../live/registry.ts";
import type { Peers } from "../model/peers.ts";
import type { Placement, QueuePlace, RunObserver, StoredRun } from "../model/records.ts";
import { findPositions } from "../store/queue.ts";
import { QueueClaims, type Slot, Slots } from "./queue.ts";

const RETRY_AFTER_SECONDS = 1;
const SHUTDOWN_RETRY_AFTER_SECONDS = 5;

export interface AdmissionOptions {
  db: Db;
  environments: Environments;
  registry: RunRegistry;
  feed: ProcessFeed;
  log: ModuleLogger;
  peers: Peers;
  maxActiveProcesses: number;
  /** Limit on simultaneous runs per caller, across all servers, or null for no limit. */
  maxRunningPerCaller: number | null;
  start(slot: Slot, stored: StoredRun): void;
}

export class Admission implements Disposable {
  readonly #options: AdmissionOptions;
  readonly #slots: Slots;
  readonly #queue: QueueClaims;
  readonly #open = new DisposableStack();
  readonly #asked = new Set<string>();
  #isLeaving = false;
  #isStopped = false;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#slots = new Slots(options.environments, () => this.#queue.claim());
    this.#queue = new QueueClaims({
      ...options,
      slots: this.#slots,
      isLeft: () => this.isHandingOver || options.peers.isOutdated,
    });
  }

  /** Number of queued, running and terminating processes. Paused processes count again once they resume. */
  get active(): number {
    return this.#queue.length + this.#asked.size + this.#options.registry.active;
  }

  get queued(): number {
    return this.#queue.length;
  }

  get slotsTaken(): number {
    return this.#slots.taken;
  }

  get claimWaitMs(): number {
    return this.#queue.claimWaitMs;
  }

  /**
   * True while the insertion of this claim is in progress. This server starts the run as soon as the database
   * confirms it.
   */
  isAsked(claim: string): boolean {
    return this.#asked.has(claim);
  }

  /** Initializes the queue counts with the numbers of queued runs in the database, by key. */
  open(queuedInDatabase: ReadonlyMap<string, number>): void {
    for (const [key, count] of queuedInDatabase) this.#queue.change(count, key);
    const { environments, peers } = this.#options;
    this.#open.defer(environments.onChange(() => this.#queue.claim()));
    this.#open.defer(peers.onEvent((news, ids) => this.#queue.onEvent(news, ids)));
    this.#queue.claim();
  }

  /**
   * Admits and stores one run. A run with a placement starts at once; a run without one is queued. If `store` returns
   * `stored: null`, nothing was stored. Throws shutting_down, no_environment or too_many_processes.
   */
  async submit<T extends { stored: StoredRun | null }>(
    key: string,
    store: (placement: Placement | null) => Promise<T>,
  ): Promise<T> {
    this.#admit(key);
    const { maxRunningPerCaller } = this.#options;
    // With a limit per caller, only the queue can decide: it knows the runs on other servers.
    const isOurs = !this.isHandingOver && !this.#options.peers.isOutdated && !this.#queue.isResting;
    const mayStart = this.#queue.length === 0 && maxRunningPerCaller === null && isOurs;
    const slot = mayStart ? this.#slots.take() : null;
    return slot === null ? this.#storeQueued(key, store) : this.#storeRunning(slot, store);
  }

  async #storeRunning<T extends { stored: StoredRun | null }>(
    slot: Slot,
    store: (placement: Placement) => Promise<T>,
  ): Promise<T> {
    const claim = randomUUID();
    this.#asked.add(claim);
    let stored: StoredRun | null = null;
    try {
      const outcome = await store({ environment: slot.lease.id, claim, replica: this.#options.peers.id });
      stored = outcome.stored;
      return outcome;
    } finally {
      this.#asked.delete(claim);
      if (stored === null) slot.release();
      else this.#options.start(slot, stored);
    }
  }

  #storeQueued<T extends { stored: StoredRun | null }>(
    key: string,
    store: (placement: null) => Promise<T>,
  ): Promise<T> {
    return this.#queue.countWhile(key, async () => {
      const outcome = await store(null);
      if (outcome.stored) this.#options.peers.publish("queued", [outcome.stored.row.id]);
      return outcome;
    });
  }

  /**
   * Records that a process was queued again in the database, after a decision or because its claimed run never
   * started.
   */
  recordRequeued(id: number): void {
    this.#queue.change(1);
    this.#options.feed.notify(id, "state");
    this.#options.peers.publish("queued", [id]);
    this.#queue.claim();
  }

  rest(ms: number): void {
    this.#queue.rest(ms);
  }

  forgetQueued(id: number): void {
    this.#queue.change(-1);
    this.#options.peers.publish("left", [id]);
  }

  /** Resolves when the claim in progress has started its runs here, or its reply was lost. Never rejects. */
  get settled(): Promise<unknown> {
    return this.#queue.settled;
  }

  compare(): Promise<void> {
    return this.#queue.compare();
  }

  /** From now on, leaves queued and newly submitted runs to other servers, as long as there are any. */
  leave(): void {
    this.#isLeaving = true;
  }

  get isHandingOver(): boolean {
    return this.#isLeaving && this.#options.peers.canTake;
  }

  /** Stops taking runs. Queued processes stay queued for other servers or for the next start. */
  stop(): void {
    this.#isLeaving = true;
    this.#isStopped = true;
    this.#queue.stop();
  }

  [Symbol.dispose](): void {
    this.#open.dispose();
  }

  #admit(key: string): void {
    if (this.#isStopped && !this.isHandingOver) {
      throw new AppError("shutting_down", "The server is shutting down. Send the request again shortly.", {
        retryAfterSeconds: SHUTDOWN_RETRY_AFTER_SECONDS,
      });
    }
    const { environments, maxActiveProcesses: max } = this.#options;
    if (!environments.active()) {
      const refusal = environments.refusal();
      throw new AppError(
        "no_environment",
        `No environment is active, so nothing can run. ${refusal === null ? "" : `${refusal} `}See "error" in GET /modules?type=environment, or enable one: POST /modules/:id/enabled.`,
      );
    }
    const { active } = this;
    const kept = Math.floor(max / KEPT_DIVISOR);
    if (active < max - kept) return;
    const refusal = findRefusal({ key, max, kept, used: active, held: this.#countHeld(key) }, 1);
    if (refusal !== null) {
      const why = refusal === "all" ? "" : `, and the last ${kept} are kept for keys that have few`;
      throw new AppError(
        "too_many_processes",
        `${active} processes are queued or running; at most ${max} may be (CYRNEL_MAX_ACTIVE_PROCESSES)${why}. Try again when some have ended.`,
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      );
    }
  }

  /**
   * Counts the running and queued processes of a key. Exact on one server; with several servers, queued runs that
   * others have claimed still count for a few seconds.
   */
  #countHeld(key: string): number {
    const running = this.#options.registry.all().filter(({ row }) => row.submittedBy === key);
    return this.#queue.countOf(key) + running.length;
  }
}

export interface QueueEstimates extends Required<Pick<RunObserver, "runEnded">> {
  find(ids: readonly number[]): Promise<Map<number, QueuePlace>>;
}

const ESTIMATE_WEIGHT = 0.1;
/** Pause between two rankings, as a multiple of the time the previous ranking took. */
const RANKING_PAUSE = 4;
const MAX_RANKING_PAUSE_MS = 1000;

/**
 * Estimates for queued processes: how many runs are ahead, and about how long they take. Each estimate ranks the
 * complete queue, so concurrent requests share one ranking, and rankings take up only a fraction of the time.
 * `countSlots` returns the number of slots across all servers, or null if it is unknown.
 */
export function createQueueEstimates(db: Db, countSlots: () => number | null): QueueEstimates {
  let meanMs: number | null = null;
  let pause: Promise<unknown> = Promise.resolve();
  let next: { ids: Set<number>; positions: Promise<Map<number, number>> } | null = null;

  /** Waits for a ranking that starts after this call and is shared with concurrent callers. */
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
      const pauseMs = Math.min((performance.now() - startMs) * RANKING_PAUSE, MAX_RANKING_PAUSE_MS);
      pause = sleep(pauseMs, undefined, { ref: false });
      void pause.then(() => over.resolve());
    }
  }

  return {
    runEnded({ usage: { wallMs } }) {
      meanMs = meanMs === null ? wallMs : meanMs + (wallMs - meanMs) * ESTIMATE_WEIGHT;
    },
    async find(ids) {
      if (ids.length === 0) return new Map();
      const positions = await rank(ids);
      const slots = Math.max(1, countSlots() ?? 1);
      return new Map(
        ids.flatMap((id) => {
          const position = positions.get(id);
          if (position === undefined) return [];
          // The run is next once a slot has become free for each run ahead of it and for itself.
          const estimatedMs = meanMs === null ? null : Math.round((meanMs * position) / slots);
          return [[id, { position, estimatedMs }]];
        }),
      );
    },
  };
}
