/**
 * Environment slots and this server's view of the queue: its length, and how queued runs get free slots. The length
 * is counted in memory and regularly compared with the database. A wrong count costs one query but never loses a run.
 */
import type { EnvironmentLease, Environments } from "#api/components/modules/environments.ts";
import type { Db } from "#api/db/pool.ts";
import type { ModuleLogger } from "#sdk";
import type { ProcessFeed } from "../live/registry.ts";
import type { Peers, QueueEvent } from "../model/peers.ts";
import { type ProcessRow, type StoredRun, toStoredRun } from "../model/records.ts";
import { claimQueued, countQueued, returnClaims } from "../store/queue.ts";

const RETRY_MS = 500;
const MAX_BATCH = 32;
const CHANGES = { queued: 1, claimed: -1, left: -1, kill: 0 } as const satisfies Record<QueueEvent, number>;

export interface QueueClaimsOptions {
  db: Db;
  feed: ProcessFeed;
  log: ModuleLogger;
  peers: Peers;
  slots: Slots;
  maxRunningPerCaller: number | null;
  start(slot: Slot, stored: StoredRun): void;
  isLeft(): boolean;
}

export class QueueClaims {
  readonly #options: QueueClaimsOptions;
  #length = 0;
  #byKey = new Map<string, number>();
  #changes = 0;
  #inserting = 0;
  #isStopped = false;
  #isClaiming = false;
  #claimAgain = false;
  #retry: NodeJS.Timeout | null = null;
  #restUntilMs = 0;
  /** Time of the first claim that the database has not answered, or null. */
  #unansweredSinceMs: number | null = null;
  #statement: Promise<unknown> = Promise.resolve();

  constructor(options: QueueClaimsOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#length;
  }

  /** Milliseconds for which queued runs have not been claimed although slots were free. */
  get claimWaitMs(): number {
    const isWaiting = this.#length > 0 && this.#unansweredSinceMs !== null;
    return isWaiting ? performance.now() - (this.#unansweredSinceMs as number) : 0;
  }

  get settled(): Promise<unknown> {
    return this.#statement.catch(() => {});
  }

  countOf(key: string): number {
    return this.#byKey.get(key) ?? 0;
  }

  change(by: number, key?: string): void {
    this.#length += by;
    this.#changes += 1;
    if (key !== undefined) this.#byKey.set(key, Math.max(0, this.countOf(key) + by));
  }

  /**
   * Counts a process while `insert` stores it, and keeps counting it if it was stored. Rejects if `insert` rejects.
   */
  async countWhile<T extends { stored: unknown }>(key: string, insert: () => Promise<T>): Promise<T> {
    this.change(1, key);
    this.#inserting += 1;
    let isStored = false;
    try {
      const outcome = await insert();
      isStored = outcome.stored !== null;
      return outcome;
    } finally {
      this.#inserting -= 1;
      if (!isStored) this.change(-1, key);
      this.claim();
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#unansweredSinceMs = null;
    clearTimeout(this.#retry ?? undefined);
  }

  /** True for a short time after a run could not be started: no runs start here meanwhile. */
  get isResting(): boolean {
    return performance.now() < this.#restUntilMs;
  }

  rest(ms: number): void {
    this.#restUntilMs = Math.max(this.#restUntilMs, performance.now() + ms);
    this.#claimLater(ms);
  }

  /**
   * Claims the next queued runs for free slots. Runs one statement at a time; calls made meanwhile trigger another
   * claim.
   */
  claim(): void {
    if (this.#length <= 0 || this.#isStopped || this.isResting || this.#options.isLeft()) {
      // Other servers have taken the queued runs, or will from now on.
      this.#unansweredSinceMs = null;
      return;
    }
    if (this.#isClaiming) {
      this.#claimAgain = true;
      return;
    }
    this.#isClaiming = true;
    void this.#claimUntilFull().finally(() => {
      this.#isClaiming = false;
      if (!this.#claimAgain) return;
      this.#claimAgain = false;
      this.claim();
    });
  }

  onEvent(news: QueueEvent, ids: readonly number[]): void {
    // The notification may arrive after a comparison with the database that already counted the change.
    const change = Math.max(CHANGES[news] * ids.length, -this.#length);
    if (change !== 0) this.change(change);
    for (const id of ids) this.#options.feed.notify(id, "state");
    if (news === "queued") this.claim();
  }

  async compare(): Promise<void> {
    const { db, log, peers } = this.#options;
    const changes = this.#changes;
    const inserting = this.#inserting;
    const byKey = await countQueued(db);
    const stored = byKey.values().reduce((sum, count) => sum + count, 0);
    // The queue changed during the query, so the count belongs to no single moment.
    if (changes !== this.#changes || this.#isClaiming) return;
    if (inserting === 0) this.#byKey = byKey;
    const difference = stored - this.#length;
    const isBeingInserted = difference < 0 && difference >= -inserting;
    if (difference !== 0 && !isBeingInserted) {
      const level = peers.others > 0 ? "debug" : "warn";
      log[level]({ difference }, "the queue in memory was brought in line with the database");
      this.change(difference);
    }
    this.claim();
  }

  async #claimUntilFull(): Promise<void> {
    const { db, log, peers, slots, start, isLeft, maxRunningPerCaller } = this.#options;
    while (this.#length > 0 && !this.#isStopped && !this.isResting && !isLeft()) {
      const free: Slot[] = [];
      while (free.length < Math.min(this.#length, MAX_BATCH)) {
        const slot = slots.take();
        if (!slot) break;
        free.push(slot);
      }
      const [first] = free;
      if (!first) {
        this.#unansweredSinceMs = null;
        // The environment has no slots, so no run will end and trigger the next claim.
        if (slots.taken === 0) this.#claimLater();
        return;
      }
      const wanted = free.length;
      this.#unansweredSinceMs ??= performance.now();
      try {
        const claiming = claimQueued(db, {
          environment: first.lease.id,
          replica: peers.id,
          maxRows: wanted,
          maxPerCaller: maxRunningPerCaller,
          knownSchema: peers.knownSchema,
        });
        this.#statement = claiming;
        const rows = await claiming;
        this.#unansweredSinceMs = null;
        if (this.#isStopped) return await this.#giveBack(rows);
        for (const row of rows) {
          this.change(-1, row.submittedBy);
          start(free.pop() as Slot, toStoredRun(row));
        }
        if (rows.length > 0) {
          peers.publish(
            "claimed",
            rows.map(({ id }) => id),
          );
        }
        if (rows.length < wanted) {
          // Other servers were first, or a caller is at its limit.
          if (this.#length > 0) this.#claimLater();
          return;
        }
      } catch (error) {
        log.error({ err: error }, "queued processes could not be claimed; it is tried again");
        this.#claimLater();
        return;
      } finally {
        for (const slot of free) slot.discard();
      }
    }
  }

  /** Requeues runs that were claimed while this server began to stop, so that another server takes them. */
  async #giveBack(rows: readonly ProcessRow[]): Promise<void> {
    const { db, peers } = this.#options;
    if (rows.length === 0) return;
    const claims = rows.map(({ id, claim }) => ({ id, claim: claim as string }));
    peers.publish("queued", await returnClaims(db, claims));
  }

  #claimLater(ms = RETRY_MS): void {
    if (this.#isStopped) return;
    clearTimeout(this.#retry ?? undefined);
    this.#retry = setTimeout(() => this.claim(), Math.max(ms, this.#restUntilMs - performance.now())).unref();
  }
}

export interface Slot {
  readonly lease: EnvironmentLease;
  /** Frees the slot for other runs while its own run is paused. The environment stays leased. */
  giveUp(): void;
  /** Takes the slot back for a run that resumes at once, even if no slot is free. */
  takeBack(): void;
  release(): void;
  /** Releases an unused slot without triggering another claim. */
  discard(): void;
}

/** Counts the runs of each environment and leases slots. Never waits. */
export class Slots {
  readonly #environments: Environments;
  readonly #onFree: () => void;
  readonly #heldBy = new Map<EnvironmentLease["module"], number>();
  #taken = 0;

  constructor(environments: Environments, onFree: () => void) {
    this.#environments = environments;
    this.#onFree = onFree;
  }

  /** Number of slots taken in all environments, including draining ones. */
  get taken(): number {
    return this.#taken;
  }

  /**
   * Returns null if no environment is active or the active one is full. An environment that reports no status is
   * never full.
   */
  take(): Slot | null {
    const active = this.#environments.active();
    if (!active) return null;
    const slots = active.status()?.slots ?? Number.POSITIVE_INFINITY;
    const held = this.#heldBy.get(active.module) ?? 0;
    // A status without a number counts as full.
    if (!(held < slots)) return null;
    const lease = this.#environments.acquire();
    if (!lease) return null;
    this.#count(lease, 1);
    let isHeld = true;
    let isCounted = true;
    const setCounted = (counted: boolean) => {
      if (!isHeld || isCounted === counted) return;
      isCounted = counted;
      this.#count(lease, counted ? 1 : -1);
    };
    const free = (): boolean => {
      if (!isHeld) return false;
      setCounted(false);
      isHeld = false;
      lease[Symbol.dispose]();
      return true;
    };
    return {
      lease,
      giveUp: () => {
        setCounted(false);
        this.#onFree();
      },
      takeBack: () => setCounted(true),
      release: () => {
        if (free()) this.#onFree();
      },
      discard: () => void free(),
    };
  }

  #count({ module }: EnvironmentLease, change: 1 | -1): void {
    this.#taken += change;
    const held = (this.#heldBy.get(module) ?? 0) + change;
    if (held === 0) this.#heldBy.delete(module);
    else this.#heldBy.set(module, held);
  }
}
