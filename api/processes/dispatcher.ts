/**
 * Which process runs when: admission (how many at all), slots (how many at once), the queue. What becomes of a run is in
 * run-carrier.ts. Counts in memory, so that a refusal needs no database.
 */
import { randomUUID } from "node:crypto";
import type { Db } from "#api/db/pool.ts";
import { AppError } from "#api/errors.ts";
import type { Environments } from "#api/modules/environments.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import type { ModuleLogger } from "#sdk";
import { INTERRUPTED } from "./live/ending.ts";
import type { EndingWriter } from "./live/ending-writer.ts";
import type { ProcessFeed } from "./live/feed.ts";
import type { LiveRun, RunLimits } from "./live/run.ts";
import { type Slot, Slots } from "./live/slots.ts";
import type { Pausing } from "./pausing/pausing.ts";
import { recoverPausedRuns } from "./pausing/store.ts";
import type { RunRegistry } from "./registry.ts";
import { KILL_GRACE_MS, RunCarrier, SHUTDOWN_KILL_GRACE_MS } from "./run-carrier.ts";
import { claimQueued, type Placement, type ProcessRow, type RunEnding } from "./store.ts";
import { countQueued, endAbandonedRuns } from "./store-sweeps.ts";

const SHUTDOWN_STORE_MS = 5000;
const QUEUE_RETRY_MS = 500;
const RECONCILE_INTERVAL_MS = 30_000;
/** A statement that claimed a run has long been answered, or never will be. */
const LOST_CLAIM_MS = 120_000;
const MAX_CLAIM_BATCH = 32;
const RETRY_AFTER_SECONDS = 1;
const SHUTDOWN_RETRY_AFTER_SECONDS = 5;

export interface DispatcherOptions {
  db: Db;
  environments: Environments;
  registry: RunRegistry;
  feed: ProcessFeed;
  writer: EndingWriter;
  log: ModuleLogger;
  maxActiveProcesses: number;
  limits: RunLimits;
  redactor: Redactor;
  /** Null: nobody can be asked. */
  pausing: Pausing | null;
  /** Told of each run as it ended, before it is stored; must not throw. */
  onEnded?: (ending: RunEnding, environment: string) => void;
}

export interface StoredRun {
  row: ProcessRow;
  code: string;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #slots: Slots;
  readonly #carrier: RunCarrier;
  readonly #whenEmpty = new Set<() => void>();
  readonly #open = new DisposableStack();
  #active = 0;
  #queued = 0;
  /** Counts every change of the queue that this server makes. */
  #queueChanges = 0;
  #isDraining = false;
  #isClaiming = false;
  #claimAgain = false;
  #retry: NodeJS.Timeout | null = null;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#slots = new Slots(options.environments, () => this.#tellWhenEmpty());
    this.#carrier = new RunCarrier(options, {
      claim: () => this.#claim(),
      admitted: (change) => {
        this.#active += change;
      },
      ended: () => this.#tellWhenEmpty(),
    });
  }

  /** Admitted processes: queued, running, terminating. A paused one counts again when it goes on. */
  get active(): number {
    return this.#active;
  }

  get queued(): number {
    return this.#queued;
  }

  get slotsTaken(): number {
    return this.#slots.taken;
  }

  /** Begins with the queue that the database holds. */
  open(queuedInDatabase: number): void {
    this.#changeQueue(queuedInDatabase);
    this.#active += queuedInDatabase;
    this.#open.defer(this.#options.environments.onChange(() => this.#claim()));
    const timer = setInterval(() => void this.reconcile(), RECONCILE_INTERVAL_MS).unref();
    this.#open.defer(() => clearInterval(timer));
    this.#open.defer(() => clearTimeout(this.#retry ?? undefined));
    this.#claim();
  }

  /**
   * Admits one run and has it stored: with a placement it starts at once, without it waits in the queue. `store`
   * answering null means that nothing was stored. Throws shutting_down, no_environment, too_many_processes.
   */
  async submit<T extends { stored: StoredRun | null }>(
    store: (placement: Placement | null) => Promise<T>,
  ): Promise<T> {
    this.#admit();
    const slot = this.#queued === 0 ? this.#slots.take() : null;
    this.#active += 1;
    if (!slot) this.#changeQueue(1);
    let outcome: T | null = null;
    try {
      const placement = slot && { environment: slot.lease.id, claim: randomUUID() };
      outcome = await store(placement);
      if (slot && outcome.stored) this.#carrier.start(slot, outcome.stored);
      return outcome;
    } finally {
      if (!outcome?.stored) {
        this.#active -= 1;
        if (!slot) this.#changeQueue(-1);
        slot?.release();
      }
      this.#claim();
    }
  }

  /** A paused process without a child was queued in the database: a decision has come. */
  noteRequeued(id: number): void {
    this.#changeQueue(1);
    this.#active += 1;
    this.#options.feed.notify(id, "state");
    this.#claim();
  }

  /** A queued process was ended in the database. */
  forgetQueued(): void {
    this.#changeQueue(-1);
    this.#active -= 1;
  }

  /** Asks the environment to end a run that is marked killed. */
  requestEnd(live: LiveRun): void {
    if (this.#options.registry.get(live.id) === live) {
      this.#options.registry.execution(live.id)?.requestEnd(KILL_GRACE_MS);
    }
  }

  /**
   * Brings counts and claims back in line with the database: the answer to a statement may be lost with its connection
   * after the statement was done. Runs by itself every 30 s; never throws.
   */
  async reconcile(): Promise<void> {
    const { db, log } = this.#options;
    try {
      const { held } = this.#carrier;
      // Before the rest: what can be repeated is not interrupted. Also those that this server lost the answer about.
      const repeated = await recoverPausedRuns(db, { except: held, olderThanMs: LOST_CLAIM_MS });
      if (repeated > 0) log.warn({ repeated }, "paused runs that nobody held are repeated");
      const ended = await endAbandonedRuns(db, INTERRUPTED.error, {
        except: held,
        olderThanMs: LOST_CLAIM_MS,
      });
      if (ended > 0) log.warn({ ended }, "runs whose claim was lost on the way were ended");
      const changes = this.#queueChanges;
      const queued = await countQueued(db);
      // Something moved meanwhile: the count is of no moment in particular.
      if (changes !== this.#queueChanges || this.#isClaiming) return;
      const difference = queued - this.#queued;
      if (difference === 0) return;
      log.warn({ difference }, "the queue in memory was brought in line with the database");
      this.#changeQueue(difference);
      this.#active += difference;
      this.#claim();
    } catch (error) {
      log.debug({ err: error }, "the queue could not be compared with the database");
    }
  }

  /**
   * Takes no more runs, waits up to `timeoutMs` for those under way, then ends them as interrupted. Queued processes
   * stay queued for the next start. Bounded: at most `timeoutMs` + 13 s.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    this.#open.dispose();
    this.#carrier.startLeaving();
    await this.#empty(timeoutMs);
    this.#carrier.interruptAll();
    await this.#empty(SHUTDOWN_KILL_GRACE_MS + SHUTDOWN_STORE_MS);
    this.#options.writer.stop();
    await this.#empty(SHUTDOWN_STORE_MS);
  }

  #admit(): void {
    if (this.#isDraining) {
      throw new AppError("shutting_down", "The server is shutting down. Send the request again shortly.", {
        retryAfterSeconds: SHUTDOWN_RETRY_AFTER_SECONDS,
      });
    }
    if (!this.#options.environments.active()) {
      throw new AppError(
        "no_environment",
        'No environment is active, so nothing can run. See "error" in GET /modules?type=environment, or enable one: POST /modules/:id/enabled.',
      );
    }
    const max = this.#options.maxActiveProcesses;
    if (this.#active >= max) {
      throw new AppError(
        "too_many_processes",
        `${this.#active} processes are queued or running; at most ${max} may be (CYRNEL_MAX_ACTIVE_PROCESSES). Try again when some have ended.`,
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      );
    }
  }

  #changeQueue(change: number): void {
    this.#queued += change;
    this.#queueChanges += 1;
  }

  /** Gives free slots to the oldest queued processes. One statement at a time; calls meanwhile make it look again. */
  #claim(): void {
    if (this.#queued <= 0 || this.#isDraining) return;
    if (this.#isClaiming) {
      this.#claimAgain = true;
      return;
    }
    this.#isClaiming = true;
    void this.#claimUntilFull().finally(() => {
      this.#isClaiming = false;
      if (!this.#claimAgain) return;
      this.#claimAgain = false;
      this.#claim();
    });
  }

  async #claimUntilFull(): Promise<void> {
    while (this.#queued > 0 && !this.#isDraining) {
      const slots: Slot[] = [];
      while (slots.length < Math.min(this.#queued, MAX_CLAIM_BATCH)) {
        const slot = this.#slots.take();
        if (!slot) break;
        slots.push(slot);
      }
      const [first] = slots;
      if (!first) {
        // No run will end and call again: the environment has no slots at the moment.
        if (this.#slots.taken === 0) this.#claimLater();
        return;
      }
      const wanted = slots.length;
      try {
        const rows = await claimQueued(this.#options.db, first.lease.id, wanted);
        for (const row of rows) {
          this.#changeQueue(-1);
          this.#carrier.start(slots.pop() as Slot, { row, code: row.code });
        }
        if (rows.length < wanted) return;
      } catch (error) {
        this.#options.log.error({ err: error }, "queued processes could not be claimed; it is tried again");
        this.#claimLater();
        return;
      } finally {
        for (const slot of slots) slot.release();
      }
    }
  }

  #claimLater(): void {
    if (this.#isDraining) return;
    clearTimeout(this.#retry ?? undefined);
    this.#retry = setTimeout(() => this.#claim(), QUEUE_RETRY_MS).unref();
  }

  async #empty(maxMs: number): Promise<void> {
    if (this.#isEmpty()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, maxMs);
    this.#whenEmpty.add(resolve);
    await promise;
    this.#whenEmpty.delete(resolve);
    clearTimeout(timer);
  }

  #isEmpty(): boolean {
    return this.#slots.taken === 0 && this.#carrier.isEmpty;
  }

  #tellWhenEmpty(): void {
    if (!this.#isEmpty()) return;
    for (const resolve of [...this.#whenEmpty]) resolve();
  }
}
