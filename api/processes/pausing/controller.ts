/**
 * Controls the pauses of one run in one child: when the run halts, resumes, or is detached. A single loop moves it
 * through the phases of model/states.ts, so no two changes overlap. A property test covers every interleaving.
 */
import { pauseFor, retryUntil, retryWhileAway } from "#api/db/retry.ts";
import { isStorageFull } from "#api/db/stored-bytes.ts";
import {
  type ApprovalRequest,
  type Decision,
  NOT_STORED,
  RUN_HAS_ENDED,
  unavailable,
} from "../live/approvals.ts";
import type { RunApproval } from "../model/calls.ts";
import { CANNOT_BE_HELD, failedWith, PAUSE_LOST } from "../model/records.ts";
import { mayEnterPhase, type PausePhase } from "../model/states.ts";
import { ReplayJournal } from "./journal.ts";
import type { PauseControllerOptions } from "./options.ts";
import type { PauseStore, RunName } from "./transactions.ts";
import { createWorkLoop } from "./work-loop.ts";

const RETRY_MS = 2000;

export class PauseController {
  /** Its `run` is replaced by that of the first child once it is known. */
  readonly name: RunName;
  readonly store: PauseStore;
  readonly journal: ReplayJournal;
  readonly #options: PauseControllerOptions;
  readonly #over = new AbortController();
  #phase: PausePhase = "running";
  #phaseLeft: PromiseWithResolvers<void> | null = null;
  #checkpoint: unknown = null;
  #isStored = false;
  /** False if the environment returned no checkpoint, or one too large to store. */
  #isReplayable = true;
  /** True if the reply to a decided request may not have reached the script yet. */
  #replyIsDue = false;
  #isDraining = false;
  #holdTimer: NodeJS.Timeout | undefined;
  #holdHasPassed = false;
  readonly #work: () => void;

  constructor(options: PauseControllerOptions) {
    const { name, store, run } = options;
    this.#options = options;
    this.name = name;
    this.store = store;
    this.#work = createWorkLoop(
      () => this.#step(),
      (error) => {
        options.log.error({ err: error, processId: name.id }, "a paused run was lost");
        run.decide(PAUSE_LOST);
      },
    );
    run.approvals.onWaiting = this.#work;
    this.journal = new ReplayJournal({
      store,
      log: run.calls,
      over: this.#over.signal,
      failReplay: (message) => run.decide(failedWith("replay_divergence", "ReplayError", message)),
    });
  }

  get phase(): PausePhase {
    return this.#phase;
  }

  get #isOver(): boolean {
    return this.#phase === "closed" || this.#phase === "detached";
  }

  requestEnded(): void {
    this.#work();
  }

  wasAsked(seq: number): boolean {
    return this.#options.run.approvals.find(seq) !== undefined;
  }

  /** Waits for a decision. Never rejects; resolves with a refusal when the signal aborts. */
  async ask(request: ApprovalRequest): Promise<Decision> {
    const { run, maxApprovals } = this.#options;
    const { seq, digest } = request;
    if (run.approvals.find(seq)?.digest.equals(digest) === false) {
      this.journal.diverge(
        `Request ${seq} of the script is another than the one that an approver was asked about`,
      );
      return { refusal: RUN_HAS_ENDED };
    }
    return run.approvals.request(request, {
      maxApprovals,
      hasRoom: async () => this.#phase !== "running" || this.store.hasRoom(),
      isOver: () => this.#isOver,
    });
  }

  /** Call after journaling the reply to a decided request. A run paused by other requests must resume to read it. */
  recordReply(): void {
    this.#replyIsDue = true;
    this.#work();
  }

  /** Resolves when a run whose approvals are all decided has resumed or ended. Resolves at once for other runs. */
  async whenResumed(): Promise<void> {
    if (this.#phase !== "paused" || this.#options.run.approvals.isWaiting) return;
    this.#phaseLeft ??= Promise.withResolvers();
    await this.#phaseLeft.promise;
  }

  /** Detaches the run from its child as soon as nothing is in progress. */
  endHold(): void {
    this.#holdHasPassed = true;
    this.#work();
  }

  /** From now on, every pause detaches the run as soon as only waiting requests are in progress. */
  drain(): void {
    this.#isDraining = true;
    this.#work();
  }

  /** The run has ended in this child: writes nothing more about it. */
  close(): void {
    if (this.#isOver) return;
    this.#end("closed");
    this.#options.run.approvals.refuseAll(RUN_HAS_ENDED);
  }

  /** Call on shutdown. Returns true if the run can be replayed from the database, or false if it must end here. */
  abandon(): boolean {
    const canBeReplayed = this.journal.isKept && this.#isReplayable;
    if (this.#isOver || !canBeReplayed || !mayEnterPhase(this.#phase, "detached")) return false;
    this.#end("detached");
    return true;
  }

  #end(phase: "closed" | "detached"): void {
    this.#enter(phase);
    this.#over.abort();
    this.#stopHold();
  }

  #enter(phase: PausePhase): void {
    if (!mayEnterPhase(this.#phase, phase)) throw new Error(`A ${this.#phase} run cannot become ${phase}.`);
    this.#phase = phase;
    this.#phaseLeft?.resolve();
    this.#phaseLeft = null;
  }

  #startHold(): void {
    this.#stopHold();
    this.#holdTimer = setTimeout(() => this.endHold(), this.#options.holdMs).unref();
  }

  #stopHold(): void {
    clearTimeout(this.#holdTimer);
    this.#holdHasPassed = false;
  }

  /** Makes one change. Returns false if nothing is due. */
  async #step(): Promise<boolean> {
    const { approvals, execution, calls } = this.#options.run;
    if (this.#isOver) return false;
    const unstored = approvals.unstored;
    // If the environment cannot pause, the run and its clock continue.
    if (!execution.canPause) return unstored.length > 0 && this.#storeApprovals();
    const waiting = approvals.waiting.length;
    switch (this.#phase) {
      case "running":
        return waiting > 0 && this.#halt();
      case "pausing":
        // All requests may have been decided while the script was halting.
        return waiting === 0 ? this.#resume() : this.#pause();
      case "paused":
        if (unstored.length > 0) return this.#pause();
        if (waiting === 0 || this.#replyIsDue) return this.#resume();
        // Detach only if nothing but the waiting requests is in progress.
        return (this.#isDraining || this.#holdHasPassed) && calls.open <= waiting && this.#detach();
      default:
        return false;
    }
  }

  async #halt(): Promise<boolean> {
    this.#replyIsDue = false;
    try {
      this.#checkpoint = await this.#options.run.execution.pause();
    } catch {
      return false;
    }
    if (this.#isOver) return false;
    this.#isStored = false;
    this.#enter("pausing");
    return true;
  }

  async #pause(): Promise<boolean> {
    const { run, onPaused } = this.#options;
    const over = this.#over.signal;
    const approvals = run.approvals.unstored;
    const shown = { trail: run.calls.all, usage: run.usage, packages: run.results.packages };
    let stored: { replayable: boolean } | null;
    try {
      stored = await this.journal.keep(this.#checkpoint, (record) =>
        retryWhileAway(() => this.store.pause({ ...record, ...shown, approvals }), over),
      );
    } catch (error) {
      this.#refuse(approvals, error);
      if (run.approvals.isWaiting) await pauseFor(RETRY_MS, over);
      return true;
    }
    if (over.aborted || stored === null) return false;
    this.#isReplayable = stored.replayable;
    this.#isStored = true;
    run.approvals.recordStored(approvals);
    // A run whose requests were all decided meanwhile is not shown as paused.
    if (!run.approvals.isWaiting) return true;
    if (this.#phase === "pausing") {
      this.#enter("paused");
      run.pause();
      onPaused();
    }
    this.#startHold();
    return true;
  }

  async #storeApprovals(): Promise<boolean> {
    const { run } = this.#options;
    const approvals = run.approvals.unstored;
    try {
      const isThere = await retryWhileAway(() => this.store.storeApprovals(approvals), this.#over.signal);
      run.approvals.recordStored(approvals);
      return isThere;
    } catch (error) {
      this.#refuse(approvals, error);
      return true;
    }
  }

  #refuse(approvals: readonly RunApproval[], error: unknown): void {
    const { run, log } = this.#options;
    if (isStorageFull(error)) {
      run.approvals.withdraw(approvals, unavailable(`No approver can be asked: ${error.message}`));
      return;
    }
    log.error({ err: error, processId: this.name.id }, "a request for approval could not be stored");
    run.approvals.withdraw(approvals, NOT_STORED);
  }

  /** Resumes the script. If other requests still wait, they halt it again after the reply that is due. */
  async #resume(): Promise<boolean> {
    const { run } = this.#options;
    const { withdrawn } = run.approvals;
    if (this.#isStored || withdrawn.length > 0) {
      if (!(await this.#retry(() => this.store.resume(withdrawn)))) return false;
    }
    run.approvals.recordWithdrawn(withdrawn);
    this.#isStored = false;
    this.#stopHold();
    this.#replyIsDue = false;
    if (this.#phase === "paused") run.resume();
    this.#enter("running");
    run.execution.resume();
    return true;
  }

  async #detach(): Promise<boolean> {
    const { run } = this.#options;
    if (!this.#isReplayable) {
      // A server that is shutting down interrupts the run itself.
      if (!this.#isDraining) run.decide(CANNOT_BE_HELD);
      return false;
    }
    const isDetached = await this.journal.whileClosed(() =>
      this.#retry(() => this.store.detach(run.approvals.waiting, run.snapshot())),
    );
    if (this.#isOver) return false;
    if (isDetached) {
      this.#end("detached");
      run.detach();
    }
    // An approver has decided or the run was killed; the notification is on its way.
    else this.#startHold();
    return false;
  }

  /** Retries `work`: a paused run has time. Returns false if the run has ended. */
  async #retry(work: () => Promise<boolean>): Promise<boolean> {
    const over = this.#over.signal;
    const done = await retryUntil(work, over, (error) =>
      this.#options.log.error({ err: error, processId: this.name.id }, "a pause cannot be stored yet"),
    );
    return done === true && !over.aborted;
  }
}
