/**
 * Which process runs when: admission (how many at all), slots (how many at once), the queue. What becomes of a run is in
 * run-carrier.ts. Counts in memory, so that a refusal needs no database; other servers say what they do to the queue.
 */

import { randomUUID } from "node:crypto";
import type { Environments } from "#api/components/modules/environments.ts";
import type { Db } from "#api/db/pool.ts";
import { AppError } from "#api/errors.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import type { ModuleLogger } from "#sdk";
import type { ProcessFeed } from "../live/feed.ts";
import type { RunRegistry } from "../live/registry.ts";
import type { LiveRun } from "../live/run.ts";
import type { Peers } from "../model/peers.ts";
import type { Placement, ProcessRow, RunEnding, RunLimits, StoredRun } from "../model/records.ts";
import { recoverRuns } from "../ownership.ts";
import type { Pausing } from "../pausing/pausing.ts";
import { KILL_GRACE_MS, RunCarrier, SHUTDOWN_KILL_GRACE_MS } from "../run-carrier.ts";
import type { EndingWriter } from "../store/endings.ts";
import { listClaims } from "../store/queue.ts";
import { QueueClaims } from "./queue.ts";
import { Slots } from "./slots.ts";

const SHUTDOWN_STORE_MS = 5000;
const RECONCILE_INTERVAL_MS = 3000;
/** Looks at the claims for each at all paused runs. */
const LOOKS_PER_DECIDED = 5;
const RETRY_AFTER_SECONDS = 1;
const SHUTDOWN_RETRY_AFTER_SECONDS = 5;

export interface DispatcherOptions {
  db: Db;
  environments: Environments;
  registry: RunRegistry;
  feed: ProcessFeed;
  writer: EndingWriter;
  log: ModuleLogger;
  /** The other servers on the database. */
  peers: Peers;
  maxActiveProcesses: number;
  /** Runs of one caller at once, over all servers. Null: no limit. */
  maxRunningPerCaller: number | null;
  limits: RunLimits;
  redactor: Redactor;
  /** Null: nobody can be asked. */
  pausing: Pausing | null;
  /** Told of each run as it ended, before it is stored; must not throw. */
  onEnded?: (ending: RunEnding, environment: string) => void;
  /** Told of each run that begins in an environment here, a repeated one included. */
  onStarted?: (row: ProcessRow, environment: string) => void;
  /** Told of each run that its child leaves to a later one. */
  onLeft?: (id: number) => void;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #slots: Slots;
  readonly #carrier: RunCarrier;
  readonly #queue: QueueClaims;
  readonly #whenEmpty = new Set<() => void>();
  readonly #open = new DisposableStack();
  #active = 0;
  /** Claims that the database is being asked for: nothing is known of them until it has answered. */
  readonly #asked = new Set<string>();
  #reconciling: Promise<void> | null = null;
  /** Requests that wait for the end of a run. */
  #awaited = 0;
  #isLeaving = false;
  /** Whether it stays for what is awaited. */
  #isPatient = true;
  #looks = 0;
  #isDraining = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#slots = new Slots(options.environments, () => this.#tellWhenEmpty());
    this.#carrier = new RunCarrier(options, {
      claim: () => this.#queue.claim(),
      admitted: (change) => {
        this.#active += change;
      },
      ended: () => this.#tellWhenEmpty(),
    });
    this.#queue = new QueueClaims({
      ...options,
      slots: this.#slots,
      start: (slot, stored) => this.#carrier.start(slot, stored),
      isHandingOver: () => this.isHandingOver,
      changedElsewhere: (change) => {
        this.#active += change;
      },
    });
  }

  /** Admitted processes: queued, running, terminating. A paused one counts again when it goes on. */
  get active(): number {
    return this.#active;
  }

  get queued(): number {
    return this.#queue.length;
  }

  /** How long what waits in the queue has not been claimed although there was room. */
  get claimWaitMs(): number {
    return this.#queue.claimWaitMs;
  }

  get slotsTaken(): number {
    return this.#slots.taken;
  }

  /** Begins with the queue that the database holds. */
  open(queuedInDatabase: number): void {
    this.#queue.change(queuedInDatabase);
    this.#active += queuedInDatabase;
    const { environments, peers } = this.#options;
    this.#open.defer(environments.onChange(() => this.#queue.claim()));
    this.#open.defer(peers.onNews((news, ids) => this.#queue.hear(news, ids)));
    const timer = setInterval(() => void this.reconcile(), RECONCILE_INTERVAL_MS).unref();
    this.#open.defer(() => clearInterval(timer));
    this.#queue.claim();
  }

  /**
   * Admits one run and has it stored: with a placement it starts at once, without it waits in the queue. `store`
   * answering null means that nothing was stored. Throws shutting_down, no_environment, too_many_processes.
   */
  async submit<T extends { stored: StoredRun | null }>(
    store: (placement: Placement | null) => Promise<T>,
  ): Promise<T> {
    this.#admit();
    const { peers, maxRunningPerCaller } = this.#options;
    // With a limit for each caller the queue decides: it knows what runs on other servers.
    const mayStart = this.#queue.length === 0 && maxRunningPerCaller === null && !this.isHandingOver;
    const slot = mayStart ? this.#slots.take() : null;
    this.#active += 1;
    if (!slot) this.#queue.change(1);
    let outcome: T | null = null;
    const placement = slot && { environment: slot.lease.id, claim: randomUUID(), replica: peers.id };
    if (placement) this.#asked.add(placement.claim);
    try {
      outcome = await store(placement);
      if (slot && outcome.stored) this.#carrier.start(slot, outcome.stored);
      else if (outcome.stored) peers.tell("queued", [outcome.stored.row.id]);
      return outcome;
    } finally {
      if (placement) this.#asked.delete(placement.claim);
      if (!outcome?.stored) {
        this.#active -= 1;
        if (!slot) this.#queue.change(-1);
        slot?.release();
      }
      this.#queue.claim();
    }
  }

  /** A process that nothing runs was queued in the database: a decision has come, or its claim had not begun. */
  noteRequeued(id: number): void {
    this.#queue.change(1);
    this.#active += 1;
    this.#options.feed.notify(id, "state");
    this.#options.peers.tell("queued", [id]);
    this.#queue.claim();
  }

  /** A queued process was ended in the database. */
  forgetQueued(id: number): void {
    this.#queue.change(-1);
    this.#active -= 1;
    this.#options.peers.tell("left", [id]);
  }

  /** Asks the environment to end a run that is marked killed. */
  requestEnd(live: LiveRun): void {
    if (this.#options.registry.get(live.id) === live) {
      this.#options.registry.execution(live.id)?.requestEnd(KILL_GRACE_MS);
    }
  }

  /**
   * Brings counts and claims back in line with the database: the answer to a statement may be lost after it was done, and
   * other servers with what they ran. What this one claimed and has not begun is queued again. Runs by itself; never throws.
   */
  async reconcile(): Promise<void> {
    // One that is under way may have looked already. One at a time: a slow database would soon have every connection wait.
    await this.#reconciling;
    this.#reconciling ??= this.#compare()
      .catch((error) =>
        this.#options.log.debug({ err: error }, "the queue could not be compared with the database"),
      )
      .finally(() => {
        this.#reconciling = null;
      });
    await this.#reconciling;
  }

  async #compare(): Promise<void> {
    const { db, feed, log, peers } = this.#options;
    const claims = await listClaims(db, peers.id);
    // Each of them was asked for by now: once the queue is answered, it runs here, or never will.
    await this.#queue.settled;
    // Runs are let go of now, to be repeated by the next server.
    if (this.#open.disposed) return;
    const unheld = claims.filter((one) => !this.#asked.has(one.claim) && !this.#carrier.holds(one));
    this.#looks += 1;
    const judging = { replica: peers.id, unheld, maxSilentMs: peers.maxSilentMs };
    const { queued, ended } = await recoverRuns(db, judging, this.#looks % LOOKS_PER_DECIDED === 1);
    if (queued.length > 0) log.warn({ processes: queued }, "processes that no server ran are queued again");
    if (ended.length > 0) log.warn({ processes: ended }, "runs that nobody held any more were ended");
    for (const id of ended) feed.notify(id, "state");
    for (const id of queued) this.noteRequeued(id);
    await this.#queue.compare();
  }

  /** Begins to leave the queue and what is submitted from now on to other servers, while there are any. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** Whether other servers run what is submitted here. */
  get isHandingOver(): boolean {
    return this.#isLeaving && this.#options.peers.canTake;
  }

  /** Waits for the end of a run: as long as other servers bring it about, this one stays for the answer. */
  async stayFor<T>(end: Promise<T>): Promise<T> {
    this.#awaited += 1;
    try {
      return await end;
    } finally {
      this.#awaited -= 1;
      this.#tellWhenEmpty();
    }
  }

  /**
   * Takes no more runs, waits up to `timeoutMs` for those under way, then ends them as interrupted. Queued processes
   * stay queued for other servers, or the next start. Bounded: at most `timeoutMs` + 13 s.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#isLeaving = true;
    this.#isDraining = true;
    this.#queue.stop();
    this.#carrier.startLeaving();
    await this.#empty(timeoutMs);
    this.#isPatient = false;
    this.#open.dispose();
    this.#carrier.interruptAll();
    await this.#empty(SHUTDOWN_KILL_GRACE_MS + SHUTDOWN_STORE_MS);
    this.#options.writer.stop();
    await this.#empty(SHUTDOWN_STORE_MS);
  }

  #admit(): void {
    if (this.#isDraining && !this.isHandingOver) {
      throw new AppError("shutting_down", "The server is shutting down. Send the request again shortly.", {
        retryAfterSeconds: SHUTDOWN_RETRY_AFTER_SECONDS,
      });
    }
    if (!this.#options.environments.active()) {
      const refusal = this.#options.environments.refusal();
      throw new AppError(
        "no_environment",
        `No environment is active, so nothing can run. ${refusal === null ? "" : `${refusal} `}See "error" in GET /modules?type=environment, or enable one: POST /modules/:id/enabled.`,
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
    const isAnswered = this.#awaited === 0 || !this.isHandingOver || !this.#isPatient;
    return this.#slots.taken === 0 && this.#carrier.isEmpty && isAnswered;
  }

  #tellWhenEmpty(): void {
    if (!this.#isEmpty()) return;
    for (const resolve of [...this.#whenEmpty]) resolve();
  }
}
