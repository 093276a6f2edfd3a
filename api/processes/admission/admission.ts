/**
 * Which process runs when: how many at all, how many at once, and what a queued one is told. Counts in memory, so that a
 * refusal needs no database. What becomes of a run that got a slot is in run.ts.
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
  /** The other servers on the database. */
  peers: Peers;
  maxActiveProcesses: number;
  /** Runs of one caller at once, over all servers. Null: no limit. */
  maxRunningPerCaller: number | null;
  /** Begins a run that was claimed for a slot. */
  start(slot: Slot, stored: StoredRun): void;
}

export class Admission implements Disposable {
  readonly #options: AdmissionOptions;
  readonly #slots: Slots;
  readonly #queue: QueueClaims;
  readonly #open = new DisposableStack();
  /** Claims that the database is being asked to store with a new run. */
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

  /** Admitted processes: queued, running, terminating. A paused one counts again when it goes on. */
  get active(): number {
    return this.#queue.length + this.#asked.size + this.#options.registry.active;
  }

  get queued(): number {
    return this.#queue.length;
  }

  get slotsTaken(): number {
    return this.#slots.taken;
  }

  /** How long what waits in the queue has not been claimed although there was room. */
  get claimWaitMs(): number {
    return this.#queue.claimWaitMs;
  }

  /** Whether the database is being asked for this claim: it begins here as soon as it has answered. */
  isAsked(claim: string): boolean {
    return this.#asked.has(claim);
  }

  /** Begins with the queue that the database holds. */
  open(queuedInDatabase: ReadonlyMap<string, number>): void {
    for (const [key, count] of queuedInDatabase) this.#queue.change(count, key);
    const { environments, peers } = this.#options;
    this.#open.defer(environments.onChange(() => this.#queue.claim()));
    this.#open.defer(peers.onEvent((news, ids) => this.#queue.onEvent(news, ids)));
    this.#queue.claim();
  }

  /**
   * Admits one run and has it stored: with a placement it starts at once, without one it waits in the queue. `store`
   * answering `stored: null` means that nothing was stored. Throws shutting_down, no_environment, too_many_processes.
   */
  async submit<T extends { stored: StoredRun | null }>(
    key: string,
    store: (placement: Placement | null) => Promise<T>,
  ): Promise<T> {
    this.#admit(key);
    const { maxRunningPerCaller } = this.#options;
    // With a limit for each caller the queue decides: it knows what runs on other servers.
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

  /** A process was queued in the database that no server runs: a decision has come, or its claim had not begun. */
  recordRequeued(id: number): void {
    this.#queue.change(1);
    this.#options.feed.notify(id, "state");
    this.#options.peers.publish("queued", [id]);
    this.#queue.claim();
  }

  /** Begins no run for so long. */
  rest(ms: number): void {
    this.#queue.rest(ms);
  }

  /** A queued process was ended in the database. */
  forgetQueued(id: number): void {
    this.#queue.change(-1);
    this.#options.peers.publish("left", [id]);
  }

  /** Resolves when what is being claimed now has begun here, or its answer is lost. Never rejects. */
  get settled(): Promise<unknown> {
    return this.#queue.settled;
  }

  /** Brings the length of the queue in line with the database. */
  compare(): Promise<void> {
    return this.#queue.compare();
  }

  /** Begins to leave the queue and what is submitted from now on to other servers, while there are any. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** Whether other servers run what is submitted here. */
  get isHandingOver(): boolean {
    return this.#isLeaving && this.#options.peers.canTake;
  }

  /** Takes no more runs. Queued processes stay queued for other servers, or the next start. */
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

  /** What the key has here and in the queue. Exact on one server; with several, what others took of it counts for seconds longer. */
  #countHeld(key: string): number {
    const running = this.#options.registry.all().filter(({ row }) => row.submittedBy === key);
    return this.#queue.countOf(key) + running.length;
  }
}

export interface QueueEstimates extends Required<Pick<RunObserver, "runEnded">> {
  /** Places of those that are queued, by process id. */
  find(ids: readonly number[]): Promise<Map<number, QueuePlace>>;
}

/** How much the last run counts in the mean. */
const ESTIMATE_WEIGHT = 0.1;
/** Between two rankings, in multiples of the time that the first took. */
const RANKING_PAUSE = 4;
const MAX_RANKING_PAUSE_MS = 1000;

/**
 * What a queued process is told: how many are before it, and about how long that takes. To know it the whole queue is
 * ranked, once for all who ask meanwhile and never for more than a part of the time. `countSlots`: runs at once, over all
 * servers; null where that is not known.
 */
export function createQueueEstimates(db: Db, countSlots: () => number | null): QueueEstimates {
  let meanMs: number | null = null;
  /** Resolves when the queue may be ranked again. */
  let pause: Promise<unknown> = Promise.resolve();
  let next: { ids: Set<number>; positions: Promise<Map<number, number>> } | null = null;

  /** By a ranking that begins after this call, together with others. */
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
          // It is next when one of the slots has become free for each of those before it, and for itself.
          const estimatedMs = meanMs === null ? null : Math.round((meanMs * position) / slots);
          return [[id, { position, estimatedMs }]];
        }),
      );
    },
  };
}
