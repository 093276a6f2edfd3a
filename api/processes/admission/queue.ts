/**
 * Slots of the environments, and the queue as this server sees it: its length, and how free slots get its runs. The length is a
 * count in memory, regularly compared with the database; a wrong count costs one query, never a run.
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
/** Change of the queue length by each event. */
const CHANGES = { queued: 1, claimed: -1, left: -1, kill: 0 } as const satisfies Record<QueueEvent, number>;

export interface QueueClaimsOptions {
  db: Db;
  feed: ProcessFeed;
  log: ModuleLogger;
  peers: Peers;
  slots: Slots;
  /** Limit of simultaneous runs of one caller, over all servers, or null. */
  maxRunningPerCaller: number | null;
  start(slot: Slot, stored: StoredRun): void;
  isLeft(): boolean;
}

export class QueueClaims {
  readonly #options: QueueClaimsOptions;
  #length = 0;
  /** Lengths by key, since the last comparison with the database. */
  #byKey = new Map<string, number>();
  #changes = 0;
  /** Counted processes whose insertion is in progress. */
  #inserting = 0;
  #isStopped = false;
  #isClaiming = false;
  #claimAgain = false;
  #retry: NodeJS.Timeout | null = null;
  #restUntilMs = 0;
  /** Time of the first claim that the database has not answered. */
  #unansweredSinceMs: number | null = null;
  #statement: Promise<unknown> = Promise.resolve();

  constructor(options: QueueClaimsOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#length;
  }

  /** How long queued runs have not been claimed although there was room. */
  get claimWaitMs(): number {
    const isWaiting = this.#length > 0 && this.#unansweredSinceMs !== null;
    return isWaiting ? performance.now() - (this.#unansweredSinceMs as number) : 0;
  }

  /** Resolves when the claim in progress has begun its runs here, or failed. Never rejects. */
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

  /** Counts a process while `insert` stores it, and from then on if it was stored. Rejects as `insert` does. */
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

  /** No run begins here at the moment, because none could be started a moment ago. */
  get isResting(): boolean {
    return performance.now() < this.#restUntilMs;
  }

  rest(ms: number): void {
    this.#restUntilMs = Math.max(this.#restUntilMs, performance.now() + ms);
    this.#claimLater(ms);
  }

  /** Gives free slots to the next in the queue. One statement at a time; calls meanwhile make it run again. */
  claim(): void {
    if (this.#length <= 0 || this.#isStopped || this.isResting || this.#options.isLeft()) {
      // Another server has taken them, or takes them from now on.
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
    // The notice may arrive after a comparison with the database that has counted it already.
    const change = Math.max(CHANGES[news] * ids.length, -this.#length);
    if (change !== 0) this.change(change);
    for (const id of ids) this.#options.feed.notify(id, "state");
    if (news === "queued") this.claim();
  }

  /** Brings the count in line with the database. */
  async compare(): Promise<void> {
    const { db, log, peers } = this.#options;
    const changes = this.#changes;
    const inserting = this.#inserting;
    const byKey = await countQueued(db);
    const stored = byKey.values().reduce((sum, count) => sum + count, 0);
    // The queue moved meanwhile: the count belongs to no single moment.
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
        // No run will end and claim again: the environment has no slots at the moment.
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
          // Others were first, or a caller is at its limit.
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

  /** Claimed while this server began to stop: another takes the runs. */
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

/** Room for one run. */
export interface Slot {
  readonly lease: EnvironmentLease;
  /** While its run is paused another run may have the slot; the environment stays leased. */
  giveUp(): void;
  /** The run resumes at once, even if no slot is free. */
  takeBack(): void;
  release(): void;
  /** Gives an unused slot back, without claiming again. */
  discard(): void;
}

/** Counts the runs of each environment, and leases room for one more. Never waits. */
export class Slots {
  readonly #environments: Environments;
  readonly #onFree: () => void;
  readonly #heldBy = new Map<EnvironmentLease["module"], number>();
  #taken = 0;

  constructor(environments: Environments, onFree: () => void) {
    this.#environments = environments;
    this.#onFree = onFree;
  }

  /** Over all environments, including draining ones. */
  get taken(): number {
    return this.#taken;
  }

  /** Returns null if no environment is active or the active one is full. One that reports no status is never full. */
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
