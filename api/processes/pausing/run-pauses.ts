/**
 * The pauses of one run in one child: who is waited for, when the run is frozen, goes on, or is left by its child. One
 * loop moves it from phase to phase (states.ts), so that no two changes meet. Knows the database as `RunRecords` and
 * the environment as two functions.
 */
import type { CallRefusal } from "#api/tools/gate.ts";
import type { ModuleLogger } from "#sdk";
import { type Ending, failedWith } from "../live/ending.ts";
import type { TrailCall } from "../live/trail.ts";
import { AskedApprovals } from "./asked-approvals.ts";
import { CallJournal } from "./call-journal.ts";
import type { ApprovalState, PreparedApproval, RunApproval } from "./desk.ts";
import { insist, pauseFor } from "./insist.ts";
import type { CarriedRun, RunRecords, RunSnapshot } from "./records.ts";
import { cannotBeKept, deniedBefore, NOT_STORED, RUN_HAS_ENDED, tooMany, unavailable } from "./refusals.ts";
import { mayEnter, type PausePhase } from "./states.ts";

const RETRY_MS = 2000;

export interface RunPausesOptions {
  /** `run` is that of the earlier children once they are known. */
  name: { id: number; claim: string; run: string };
  records: RunRecords;
  /** Null: the environment cannot pause. */
  environment: { pause(): Promise<unknown>; resume(): void } | null;
  holdMs: number;
  maxApprovals: number;
  log: ModuleLogger;
  /** What is stored of the run itself. */
  describe(): Pick<CarriedRun, "usage"> & { trail: readonly TrailCall[]; snapshot(): RunSnapshot };
  hooks: {
    parked(): void;
    goesOn(): void;
    /** No child is to hold the run any more; the database knows. */
    detached(): void;
    /** The run asks for something, or it was decided. */
    asked(id: string, state: ApprovalState): void;
    end(ending: Ending): void;
  };
}

/** A decision, or why there is none. */
export type Decision = { approval: RunApproval } | { refusal: CallRefusal };

interface Waiter {
  approval: RunApproval;
  isStored: boolean;
  settle(decision: Decision): void;
}

export class RunPauses {
  readonly journal: CallJournal;
  readonly #options: RunPausesOptions;
  readonly #over = new AbortController();
  readonly #asked: AskedApprovals;
  /** Approvals that are pending and whose request is waiting here, by id. */
  readonly #waiting = new Map<string, Waiter>();
  /** Approvals that nobody waits for although the database may hold them. */
  readonly #withdrawn = new Set<string>();
  #phase: PausePhase = "going";
  #isStored = false;
  #isReplayable = true;
  #checkpoint: unknown = null;
  #replyIsDue = false;
  #isLeaving = false;
  #holdHasPassed = false;
  #hold: NodeJS.Timeout | undefined;
  #moved: PromiseWithResolvers<void> | null = null;
  /** Requests of the script that have no reply yet. */
  #open = 0;
  #counted = 0;
  #isWorking = false;
  #lookAgain = false;

  constructor(options: RunPausesOptions) {
    this.#options = options;
    this.#asked = new AskedApprovals(options.hooks.asked);
    this.journal = new CallJournal({
      records: options.records,
      over: this.#over.signal,
      diverged: (message) => this.diverged(message),
    });
  }

  get name(): RunPausesOptions["name"] {
    return this.#options.name;
  }

  get records(): RunRecords {
    return this.#options.records;
  }

  /** A request of the script that is being dealt with: the child stays for it, unless it waits for a person. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#open += 1;
    try {
      return await work();
    } finally {
      this.#open -= 1;
      this.#work();
    }
  }

  /** A number for a request whose environment does not count them: such a run is never repeated. */
  nextSeq(): number {
    this.#counted += 1;
    return this.#counted;
  }

  get phase(): PausePhase {
    return this.#phase;
  }

  /** Ids of stored approvals that wait for a person. */
  get pending(): string[] {
    return this.#asked.pending;
  }

  /** Whether the database has what is needed to repeat the run. */
  get canBeRepeated(): boolean {
    return this.journal.isKept && this.#isReplayable;
  }

  /** Takes over what an earlier child has left. Decisions that came meanwhile stay. */
  carry({ run, approvals, calls }: Pick<CarriedRun, "run" | "approvals" | "calls">): void {
    this.#options.name.run = run;
    this.#asked.carry(approvals);
    this.journal.carry(calls);
  }

  /** What is known of the request: it was asked about before the run was repeated. */
  find(seq: number): RunApproval | undefined {
    return this.#asked.find(seq);
  }

  /**
   * Waits for a person's decision. `prepare` seals the request; what it throws is a refusal. Never rejects, but resolves
   * with a refusal when `signal` aborts.
   */
  async ask(
    request: { seq: number; digest: Buffer },
    prepare: () => PreparedApproval,
    signal: AbortSignal,
  ): Promise<Decision> {
    const known = this.#asked.find(request.seq);
    if (known !== undefined && !known.digest.equals(request.digest)) {
      this.diverged(
        `Request ${request.seq} of the script is another than the one that a person was asked about`,
      );
      return { refusal: RUN_HAS_ENDED };
    }
    if (known !== undefined && known.state !== "pending") return { approval: known };
    if (known === undefined) {
      const refusal = await this.#refuse(request.digest);
      if (refusal !== null) return { refusal };
    }
    if (signal.aborted || this.#isOver) return { refusal: RUN_HAS_ENDED };
    // Others may have asked meanwhile.
    const { maxApprovals } = this.#options;
    if (known === undefined && this.#asked.size >= maxApprovals) return { refusal: tooMany(maxApprovals) };
    let approval: RunApproval;
    try {
      approval = known ?? prepare();
    } catch (error) {
      return { refusal: cannotBeKept(error) };
    }
    this.#asked.add(approval);
    const { promise, resolve } = Promise.withResolvers<Decision>();
    const settle = (decision: Decision) => {
      this.#waiting.delete(approval.id);
      resolve(decision);
      this.#work();
    };
    this.#waiting.set(approval.id, { approval, isStored: known !== undefined, settle });
    const abort = () => settle({ refusal: RUN_HAS_ENDED });
    signal.addEventListener("abort", abort, { once: true });
    this.#work();
    const decision = await promise;
    signal.removeEventListener("abort", abort);
    return decision;
  }

  /** A person has decided, or nobody has in time. */
  decided(id: string, state: ApprovalState, reason: string | null): void {
    const approval = this.#asked.decide(id, state, reason);
    if (approval !== null) this.#waiting.get(id)?.settle({ approval });
  }

  /** Resolves when a run that nobody is asked about any more has gone on, or is over; at once for any other. */
  whenMoved(): Promise<void> {
    if (this.#phase !== "parked" || this.#waiting.size > 0) return Promise.resolve();
    this.#moved ??= Promise.withResolvers();
    return this.#moved.promise;
  }

  /** A request that a person has decided is answered now: a run that others keep frozen is let go for it. */
  noteReply(): void {
    if (this.#phase !== "parked" || this.#waiting.size === 0) return;
    this.#replyIsDue = true;
    this.#work();
  }

  /** The child is needed no longer than nothing of the run is under way. */
  giveUpHold(): void {
    this.#holdHasPassed = true;
    this.#work();
  }

  /** The script has ended: an earlier child must not have called what this one did not. */
  checkAllRepeated(): void {
    const [call] = this.journal.notRepeated;
    if (call !== undefined) {
      this.diverged(
        `Request ${call.seq} of the script was a call of ${call.serviceId}.${call.toolId} and was not made again`,
      );
    }
  }

  /** Gives the child up as soon as the run is parked and nothing else is under way: now, and at every later pause. */
  leave(): void {
    this.#isLeaving = true;
    this.#work();
  }

  /** The run is over in this child: nothing more is written of it. */
  close(): void {
    if (this.#isOver) return;
    this.#enter("over");
    this.#over.abort();
    clearTimeout(this.#hold);
    for (const { settle } of [...this.#waiting.values()]) settle({ refusal: RUN_HAS_ENDED });
  }

  /** The server stops: what the database has of the run is enough to repeat it. Null: the run goes to its end here. */
  abandon(): boolean {
    if (this.#isOver || !this.canBeRepeated || !mayEnter(this.#phase, "detached")) return false;
    this.#enter("detached");
    this.#over.abort();
    clearTimeout(this.#hold);
    return true;
  }

  diverged(message: string): void {
    this.#options.hooks.end(
      failedWith(
        "replay_divergence",
        "ReplayError",
        `${message}: the script did not do again what it had done before.`,
      ),
    );
  }

  /** Whether more is under way than what waits for a person. */
  get #isBusy(): boolean {
    return this.#open > this.#waiting.size;
  }

  get #isOver(): boolean {
    return this.#phase === "over" || this.#phase === "detached";
  }

  #noteStored(waiters: readonly Waiter[]): void {
    for (const waiter of waiters) {
      waiter.isStored = true;
      this.#asked.noteStored(waiter.approval);
    }
  }

  #refuseAll(waiters: readonly Waiter[]): void {
    for (const { approval, settle } of waiters) {
      this.#withdrawn.add(approval.id);
      this.#asked.forget(approval);
      settle({ refusal: NOT_STORED });
    }
  }

  async #refuse(digest: Buffer): Promise<CallRefusal | null> {
    const { maxApprovals, records } = this.#options;
    const denied = this.#asked.findDenied(digest);
    if (denied !== undefined) return deniedBefore(denied);
    if (this.#asked.size >= maxApprovals) return tooMany(maxApprovals);
    try {
      if (this.#phase === "going" && !(await records.hasRoom())) {
        return unavailable(
          "As many processes are paused as may be (CYRNEL_MAX_PAUSED_PROCESSES), so nobody can be asked. Try again when some were decided.",
        );
      }
    } catch {
      return unavailable(
        "Nobody can be asked: the database does not answer at the moment. Try again shortly.",
      );
    }
    return null;
  }

  #enter(phase: PausePhase): void {
    if (phase === this.#phase) return;
    if (!mayEnter(this.#phase, phase)) throw new Error(`a run that is ${this.#phase} cannot become ${phase}`);
    this.#phase = phase;
    this.#moved?.resolve();
    this.#moved = null;
  }

  /** Looks at what is to be done, one thing at a time; changes meanwhile make it look again. */
  #work(): void {
    this.#lookAgain = true;
    if (this.#isWorking) return;
    this.#isWorking = true;
    void (async () => {
      try {
        while (this.#lookAgain) {
          this.#lookAgain = false;
          while (!this.#isOver && (await this.#step())) {}
        }
      } catch (error) {
        this.#options.log.error({ err: error, processId: this.#options.name.id }, "a paused run was lost");
        this.#options.hooks.end(
          failedWith("crashed", "PauseError", "The server lost track of the paused run."),
        );
      } finally {
        this.#isWorking = false;
      }
    })();
  }

  /** One change; false when there is nothing to do now. */
  async #step(): Promise<boolean> {
    const fresh = [...this.#waiting.values()].filter(({ isStored }) => !isStored);
    const { environment } = this.#options;
    if (environment === null) return fresh.length > 0 && (await this.#storeOnly(fresh));
    switch (this.#phase) {
      case "going":
        return this.#waiting.size > 0 && this.#freeze(environment.pause);
      case "freezing":
        // Everything was decided while the script was on its way to a halt.
        if (this.#waiting.size === 0) return this.#goOn();
        return this.#store(fresh);
      case "parked":
        if (fresh.length > 0) return this.#store(fresh);
        if (this.#waiting.size === 0 || this.#replyIsDue) return this.#goOn();
        if ((this.#isLeaving || this.#holdHasPassed) && !this.#isBusy) return this.#detach();
        return false;
      default:
        return false;
    }
  }

  async #freeze(pause: () => Promise<unknown>): Promise<boolean> {
    this.#replyIsDue = false;
    try {
      this.#checkpoint = await pause();
    } catch {
      // The run ended on its way to a halt; its end is under way.
      return false;
    }
    if (this.#isOver) return false;
    this.#isStored = false;
    this.#enter("freezing");
    return true;
  }

  async #store(fresh: readonly Waiter[]): Promise<boolean> {
    const { records, describe, hooks, log, name } = this.#options;
    const { trail, usage } = describe();
    const approvals = fresh.map(({ approval }) => approval as PreparedApproval);
    const { record, kept } = this.journal.keep(this.#checkpoint, { approvals, trail, usage }, (asking) =>
      records.pause(asking),
    );
    const checkpointHeld = record.checkpoint !== null;
    let stored: { replayable: boolean } | null;
    try {
      stored = await kept;
    } catch (error) {
      log.error({ err: error, processId: name.id }, "a request for approval could not be stored");
      this.#refuseAll(fresh);
      if (this.#waiting.size > 0) await pauseFor(RETRY_MS, this.#over.signal);
      return true;
    }
    if (this.#isOver) return false;
    // It was killed meanwhile: its end is under way.
    if (stored === null) return false;
    this.#isReplayable = checkpointHeld && stored.replayable;
    this.#isStored = true;
    this.#noteStored(fresh);
    if (this.#phase === "freezing") {
      this.#enter("parked");
      hooks.parked();
    }
    this.#startHold();
    return true;
  }

  async #storeOnly(fresh: readonly Waiter[]): Promise<boolean> {
    const { records, log, name } = this.#options;
    try {
      const stored = await records.storeApprovals(fresh.map(({ approval }) => approval as PreparedApproval));
      this.#noteStored(fresh);
      return stored;
    } catch (error) {
      log.error({ err: error, processId: name.id }, "a request for approval could not be stored");
      this.#refuseAll(fresh);
      return true;
    }
  }

  /** Lets the script go on. Others that still wait freeze it again, after what is due has reached it. */
  async #goOn(): Promise<boolean> {
    const { records, environment, hooks } = this.#options;
    if (this.#isStored || this.#withdrawn.size > 0) {
      const isThere = await this.#insist(() => records.resume([...this.#withdrawn]));
      if (!isThere || this.#isOver) return false;
    }
    this.#withdrawn.clear();
    clearTimeout(this.#hold);
    this.#holdHasPassed = false;
    this.#replyIsDue = false;
    const wasParked = this.#phase === "parked";
    this.#isStored = false;
    if (wasParked) hooks.goesOn();
    this.#enter("going");
    environment?.resume();
    return true;
  }

  #startHold(): void {
    clearTimeout(this.#hold);
    this.#holdHasPassed = false;
    this.#hold = setTimeout(() => {
      this.#holdHasPassed = true;
      this.#work();
    }, this.#options.holdMs).unref();
  }

  async #detach(): Promise<boolean> {
    const { records, describe, hooks } = this.#options;
    if (!this.#isReplayable) {
      // A server that stops interrupts it.
      if (this.#isLeaving) return false;
      hooks.end(
        failedWith(
          "approval_expired",
          "ApprovalExpiredError",
          "Nobody decided while the run could be held, and it is too large, or does what cannot be recorded, to be repeated later.",
        ),
      );
      return false;
    }
    const isDetached = await this.journal.whileClosed(() =>
      this.#insist(() => records.detach([...this.#waiting.keys()], describe().snapshot())),
    );
    if (this.#isOver) return false;
    if (!isDetached) {
      // Somebody has decided, or killed it: word of that is on its way.
      this.#startHold();
      return false;
    }
    this.#enter("detached");
    this.#over.abort();
    hooks.detached();
    return false;
  }

  /** A frozen run has time. False when it is over. */
  async #insist(work: () => Promise<boolean>): Promise<boolean> {
    const { log, name } = this.#options;
    const done = await insist(work, this.#over.signal, (error) =>
      log.error({ err: error, processId: name.id }, "a pause cannot be stored yet"),
    );
    return done ?? false;
  }
}
