/**
 * Which process runs when: admission (how many at all), slots (how many at once), the queue, and every run from its
 * start to its stored ending. Counts in memory, so that a refusal needs no database.
 */
import { randomUUID } from "node:crypto";
import type { Db } from "#api/db/pool.ts";
import { AppError } from "#api/errors.ts";
import type { EnvironmentLease, Environments } from "#api/modules/environments.ts";
import type { ExecutionInput, ModuleLogger } from "#sdk";
import type { EndingWriter } from "./ending-writer.ts";
import { RunExecution } from "./execution.ts";
import type { ProcessFeed } from "./feed.ts";
import { memoryInForce } from "./limits.ts";
import { failedWith } from "./live/ending.ts";
import { LiveRun, type RunLimits } from "./live/run.ts";
import type { RunRegistry } from "./registry.ts";
import { claimQueued, type Placement, type ProcessRow } from "./store.ts";

/** How long an environment may take to confirm a kill before the process ends without it. */
const KILL_GRACE_MS = 10_000;
const SHUTDOWN_KILL_GRACE_MS = 3000;
const SHUTDOWN_STORE_MS = 5000;
const QUEUE_RETRY_MS = 500;
const MAX_CLAIM_BATCH = 32;
const RETRY_AFTER_SECONDS = 1;
const SHUTDOWN_RETRY_AFTER_SECONDS = 5;

/** What becomes of a run that the server did not see to its end. */
export const INTERRUPTED = failedWith(
  "interrupted",
  "InterruptedError",
  "The server stopped while this script was running.",
);

export interface DispatcherOptions {
  db: Db;
  environments: Environments;
  registry: RunRegistry;
  feed: ProcessFeed;
  writer: EndingWriter;
  log: ModuleLogger;
  maxActiveProcesses: number;
  limits: RunLimits;
}

export interface StoredRun {
  row: ProcessRow;
  code: string;
}

interface Slot {
  lease: EnvironmentLease;
  release(): void;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #busy = new Map<EnvironmentLease["module"], number>();
  readonly #whenEmpty = new Set<() => void>();
  #active = 0;
  #queued = 0;
  #slotsTaken = 0;
  #draining = false;
  #isInterrupting = false;
  #isClaiming = false;
  #claimAgain = false;
  #retry: NodeJS.Timeout | null = null;
  #stopListening: (() => void) | null = null;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Admitted processes: queued, running, paused, terminating. */
  get active(): number {
    return this.#active;
  }

  get queued(): number {
    return this.#queued;
  }

  /** Runs that hold a slot of an environment. */
  get slotsTaken(): number {
    return this.#slotsTaken;
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  /** Begins with the queue the database holds. */
  open(queuedInDatabase: number): void {
    this.#active += queuedInDatabase;
    this.#queued += queuedInDatabase;
    this.#stopListening = this.#options.environments.onChange(() => this.#claim());
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
    const slot = this.#queued === 0 ? this.#takeSlot() : null;
    this.#active += 1;
    if (!slot) this.#queued += 1;
    let outcome: T | null = null;
    try {
      const placement = slot && { environment: slot.lease.id, claim: randomUUID() };
      outcome = await store(placement);
      if (slot && outcome.stored) this.#start(slot, outcome.stored);
      return outcome;
    } finally {
      if (!outcome?.stored) {
        this.#active -= 1;
        if (!slot) this.#queued -= 1;
        slot?.release();
      }
      this.#claim();
    }
  }

  /** A queued process was ended in the database. */
  forgetQueued(): void {
    this.#queued -= 1;
    this.#active -= 1;
  }

  /** Asks the environment to end a run that is marked killed. */
  requestEnd(id: number): void {
    this.#options.registry.execution(id)?.requestEnd(KILL_GRACE_MS);
  }

  /**
   * Takes no more runs, waits up to `timeoutMs` for those under way, then ends them as interrupted. Queued processes
   * stay queued for the next start. Bounded: at most `timeoutMs` + 10 s.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    this.#stopListening?.();
    clearTimeout(this.#retry ?? undefined);
    await this.#empty(timeoutMs);
    this.#isInterrupting = true;
    for (const { live, execution } of this.#options.registry.all()) interrupt(live, execution);
    await this.#empty(SHUTDOWN_KILL_GRACE_MS + SHUTDOWN_STORE_MS);
    this.#options.writer.stop();
    await this.#empty(SHUTDOWN_STORE_MS);
  }

  #admit(): void {
    if (this.#draining) {
      throw new AppError(
        "shutting_down",
        "The server is shutting down. Send the request again in a few seconds.",
        {
          retryAfterSeconds: SHUTDOWN_RETRY_AFTER_SECONDS,
        },
      );
    }
    if (!this.#options.environments.active()) {
      throw new AppError(
        "no_environment",
        "No environment is active, so nothing can run. Enable one: POST /modules/:id/enabled.",
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

  #takeSlot(): Slot | null {
    const { environments } = this.#options;
    const active = environments.active();
    if (this.#draining || !active) return null;
    const taken = this.#busy.get(active.module) ?? 0;
    const slots = active.status()?.slots ?? Number.POSITIVE_INFINITY;
    if (!(taken < slots)) return null;
    const lease = environments.acquire();
    if (!lease) return null;
    this.#busy.set(lease.module, (this.#busy.get(lease.module) ?? 0) + 1);
    this.#slotsTaken += 1;
    let released = false;
    const release = () => {
      if (released) return;
      released = true;
      const left = (this.#busy.get(lease.module) ?? 1) - 1;
      if (left === 0) this.#busy.delete(lease.module);
      else this.#busy.set(lease.module, left);
      this.#slotsTaken -= 1;
      lease[Symbol.dispose]();
      this.#tellWhenEmpty();
    };
    return { lease, release };
  }

  /** Gives free slots to the oldest queued processes. One statement at a time; calls meanwhile make it look again. */
  #claim(): void {
    if (this.#queued === 0 || this.#draining) return;
    if (this.#isClaiming) {
      this.#claimAgain = true;
      return;
    }
    this.#isClaiming = true;
    void this.#claimUntilFull().finally(() => {
      this.#isClaiming = false;
      if (this.#claimAgain) {
        this.#claimAgain = false;
        this.#claim();
      }
    });
  }

  async #claimUntilFull(): Promise<void> {
    while (this.#queued > 0 && !this.#draining) {
      const slots: Slot[] = [];
      while (slots.length < Math.min(this.#queued, MAX_CLAIM_BATCH)) {
        const slot = this.#takeSlot();
        if (!slot) break;
        slots.push(slot);
      }
      const [first] = slots;
      if (!first) {
        if (this.#slotsTaken === 0) this.#claimLater();
        return;
      }
      const wanted = slots.length;
      try {
        const rows = await claimQueued(this.#options.db, first.lease.id, wanted);
        for (const row of rows) {
          this.#queued -= 1;
          this.#start(slots.pop() as Slot, { row, code: row.code });
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
    clearTimeout(this.#retry ?? undefined);
    this.#retry = setTimeout(() => this.#claim(), QUEUE_RETRY_MS).unref();
  }

  #start(slot: Slot, { row, code }: StoredRun): void {
    const { registry, feed, limits, environments, log } = this.#options;
    const { lease } = slot;
    const execution = new RunExecution(row.id, lease.module, log);
    const active = environments.active();
    const live = new LiveRun({
      row,
      claim: row.claim as string,
      environment: lease.id,
      code,
      memoryMb: memoryInForce(row.memoryMb, active?.module === lease.module ? active.status() : null),
      limits,
      onChange: (change) => feed.notify(row.id, change),
      onDecided: () => execution.requestEnd(KILL_GRACE_MS),
    });
    registry.add(live, execution);
    if (this.#isInterrupting) interrupt(live, execution);
    feed.notify(row.id, "state");
    void this.#carryOut(live, execution, slot);
  }

  async #carryOut(live: LiveRun, execution: RunExecution, slot: Slot): Promise<void> {
    const { registry, writer } = this.#options;
    const answer = await execution.carryOut(this.#executionInput(live));
    if (answer.kind === "unconfirmed") registry.holdUntil(live.id, execution.confirmed);
    const ending = live.conclude(answer);
    slot.release();
    this.#claim();
    const row = await writer.store(ending);
    registry.remove(live);
    this.#active -= 1;
    live.markStored(row);
    this.#tellWhenEmpty();
  }

  #executionInput(live: LiveRun): ExecutionInput {
    const { timeoutMs, cpuMs, ref } = live.row;
    const { maxStdoutBytes, maxStderrBytes } = this.#options.limits;
    return {
      eid: live.id,
      code: live.code,
      options: {
        timeoutMs,
        maxStdoutBytes,
        maxStderrBytes,
        ...(live.memoryMb === null ? {} : { memoryMb: live.memoryMb }),
        ...(cpuMs === null ? {} : { cpuMs }),
      },
      ...(ref === null ? {} : { ref }),
    };
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
    return this.#slotsTaken === 0 && this.#options.registry.size === 0;
  }

  #tellWhenEmpty(): void {
    if (!this.#isEmpty()) return;
    for (const resolve of [...this.#whenEmpty]) resolve();
  }
}

function interrupt(live: LiveRun, execution: RunExecution): void {
  if (live.state !== "terminating") live.decide(INTERRUPTED);
  execution.requestEnd(SHUTDOWN_KILL_GRACE_MS);
}
