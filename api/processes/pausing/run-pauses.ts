/**
 * The pauses of one run in one child: when it is frozen, goes on, or is left by its child. One loop moves it from phase
 * to phase (states.ts), so that no two changes meet. Knows the database as `RunRecords` and the environment as two
 * functions.
 */
import { pathOf } from "#kernel/tool-patterns.ts";
import type { ModuleLogger } from "#sdk";
import type { CallLog } from "../live/calls.ts";
import type { CarriedRun, KeptAnswer, RunApproval } from "../model/records.ts";
import { type Ending, failedWith } from "../model/records.ts";
import type { ApprovalState } from "../model/states.ts";
import {
  AskedApprovals,
  type AskedRequest,
  askFor,
  type Decision,
  RUN_HAS_ENDED,
  WaitingRequests,
} from "./asking.ts";
import { CallJournal } from "./call-journal.ts";
import { KeptPause, type KeptPauseOptions } from "./kept-pause.ts";
import { createWorkLoop, Hold, mayEnter, type PausePhase, PauseState } from "./phases.ts";
import type { RunRecords } from "./run-records.ts";

const CANNOT_BE_HELD = failedWith(
  "approval_expired",
  "ApprovalExpiredError",
  "No person decided while the run could be held, and it is too large, or does what cannot be recorded, to be repeated later.",
);
const LOST = failedWith("crashed", "PauseError", "The server lost track of the paused run.");

export interface RunPausesOptions {
  /** `run` is that of the earlier children once they are known. */
  name: { id: number; claim: string; run: string };
  records: RunRecords;
  /** Null: the environment cannot pause. */
  environment: { pause(): Promise<unknown>; resume(): void } | null;
  holdMs: number;
  maxApprovals: number;
  log: ModuleLogger;
  /** What the run has called. */
  calls: CallLog;
  describe: KeptPauseOptions["describe"];
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

export class RunPauses {
  readonly journal: CallJournal;
  readonly #options: RunPausesOptions;
  readonly #over = new AbortController();
  readonly #state = new PauseState();
  readonly #asked: AskedApprovals;
  readonly #waiting: WaitingRequests;
  readonly #kept: KeptPause;
  readonly #hold: Hold;
  /** Answers of the children before that became files. */
  #saved: readonly KeptAnswer[] = [];
  /** Looks at what is to be done. */
  readonly #work: () => void;
  /** What a person has decided was answered since the run was last asked to halt: it may not have reached the script. */
  #replyIsDue = false;
  #isLeaving = false;

  constructor(options: RunPausesOptions) {
    const { records, describe, hooks, log, name, calls } = options;
    const over = this.#over.signal;
    this.#options = options;
    this.#asked = new AskedApprovals(hooks.asked);
    this.#work = createWorkLoop(
      () => this.#step(),
      (error) => {
        log.error({ err: error, processId: name.id }, "a paused run was lost");
        hooks.end(LOST);
      },
    );
    this.#waiting = new WaitingRequests(this.#work);
    this.#hold = new Hold(options.holdMs, this.#work);
    this.journal = new CallJournal({
      records,
      log: calls,
      over,
      diverged: (message) => this.#diverged(message),
      lost: (message) => this.#endRepetition(message),
    });
    this.#kept = new KeptPause({
      id: name.id,
      records,
      journal: this.journal,
      asked: this.#asked,
      waiting: this.#waiting,
      over,
      describe,
      log,
    });
  }

  get name(): RunPausesOptions["name"] {
    return this.#options.name;
  }

  get records(): RunRecords {
    return this.#options.records;
  }

  get phase(): PausePhase {
    return this.#state.phase;
  }

  /** Ids of stored approvals that wait for a person. */
  get pending(): string[] {
    return this.#asked.pending;
  }

  /** Takes over what an earlier child has left. Decisions that came meanwhile stay. */
  carry({ run, approvals, calls, saved }: Pick<CarriedRun, "run" | "approvals" | "calls" | "saved">): void {
    this.#options.name.run = run;
    this.#saved = saved;
    this.#asked.carry(approvals);
    this.journal.carry(calls);
  }

  /** The answer to a request that became a file before the run was repeated. */
  findSaved(seq: number): KeptAnswer | undefined {
    return this.#saved.find((answer) => answer.seq === seq);
  }

  /** A request of the script has its reply. */
  requestEnded(): void {
    this.#work();
  }

  /** What is known of the request: it was asked about before the run was repeated. */
  find(seq: number): RunApproval | undefined {
    return this.#asked.find(seq);
  }

  /** Waits for a person's decision. Never rejects, but resolves with a refusal when the signal aborts. */
  ask(request: AskedRequest): Promise<Decision> {
    const { records, maxApprovals } = this.#options;
    return askFor(
      {
        asked: this.#asked,
        waiting: this.#waiting,
        maxApprovals,
        hasRoom: async () => this.phase !== "going" || records.hasRoom(),
        isOver: () => this.#state.isOver,
        diverged: (message) => this.#diverged(message),
      },
      request,
    );
  }

  /** A person has decided, or the time is over. */
  decided(id: string, state: ApprovalState, reason: string | null): void {
    const approval = this.#asked.decide(id, state, reason);
    if (approval !== null) this.#waiting.settle(id, { approval });
  }

  /** A request that was asked about has its reply, which is kept: a run that others keep frozen is let go for it. */
  noteReply(): void {
    this.#replyIsDue = true;
    this.#work();
  }

  /** Resolves when a run whose questions are all decided has gone on, or is over; at once for any other. */
  async whenResumed(): Promise<void> {
    if (this.phase === "parked" && this.#waiting.size === 0) await this.#state.whenLeft();
  }

  /** The child is needed no longer than nothing of the run is under way. */
  endHold(): void {
    this.#hold.pass();
  }

  /** The script has ended: an earlier child must not have called what this one did not. */
  checkAllRepeated(): void {
    const [call] = this.journal.notRepeated;
    if (call === undefined) return;
    const { seq } = call;
    this.#diverged(`Request ${seq} of the script was a call of ${pathOf(call)} and was not made again`);
  }

  /** Gives the child up as soon as the run is parked and nothing else is under way: now, and at every later pause. */
  leave(): void {
    this.#isLeaving = true;
    this.#work();
  }

  /** The run is over in this child: nothing more is written of it. */
  close(): void {
    if (this.#state.isOver) return;
    this.#end("over");
    this.#waiting.refuseAll(RUN_HAS_ENDED);
  }

  /** The server stops. True: the database has enough to repeat the run; false: it goes to its end here. */
  abandon(): boolean {
    const canBeRepeated = this.journal.isKept && this.#kept.isReplayable;
    if (this.#state.isOver || !canBeRepeated || !mayEnter(this.phase, "detached")) return false;
    this.#end("detached");
    return true;
  }

  #end(phase: "over" | "detached"): void {
    this.#state.enter(phase);
    this.#over.abort();
    this.#hold.stop();
  }

  #diverged(message: string): void {
    this.#endRepetition(`${message}: the script did not do again what it had done before.`);
  }

  #endRepetition(sentence: string): void {
    this.#options.hooks.end(failedWith("replay_divergence", "ReplayError", sentence));
  }

  /** One change; false when there is nothing to do now. */
  async #step(): Promise<boolean> {
    const { environment } = this.#options;
    if (this.#state.isOver) return false;
    const { fresh, size } = this.#waiting;
    // The run goes on meanwhile, and so does its clock.
    if (environment === null) return fresh.length > 0 && this.#kept.storeApprovals(fresh);
    switch (this.phase) {
      case "going":
        return size > 0 && this.#freeze(environment.pause);
      case "freezing":
        // Everything was decided while the script was on its way to a halt.
        return size === 0 ? this.#goOn() : this.#park();
      case "parked":
        if (fresh.length > 0) return this.#park();
        if (size === 0 || this.#replyIsDue) return this.#goOn();
        // Unless more is under way than what waits for a person.
        return (
          (this.#isLeaving || this.#hold.hasPassed) && this.#options.calls.open <= size && this.#detach()
        );
      default:
        return false;
    }
  }

  async #freeze(pause: () => Promise<unknown>): Promise<boolean> {
    this.#replyIsDue = false;
    let checkpoint: unknown;
    try {
      checkpoint = await pause();
    } catch {
      // The run ended on its way to a halt; its end is under way.
      return false;
    }
    if (this.#state.isOver) return false;
    this.#kept.begin(checkpoint);
    this.#state.enter("freezing");
    return true;
  }

  async #park(): Promise<boolean> {
    const outcome = await this.#kept.store(this.#waiting.fresh);
    if (outcome === "gone") return false;
    if (outcome === "refused") return true;
    // Decided meanwhile: a run that waits for nothing is not shown as paused.
    if (this.#waiting.size === 0) return true;
    if (this.phase === "freezing") {
      this.#state.enter("parked");
      this.#options.hooks.parked();
    }
    this.#hold.start();
    return true;
  }

  /** Lets the script go on. Others that still wait freeze it again, after what is due has reached it. */
  async #goOn(): Promise<boolean> {
    if (!(await this.#kept.giveUp())) return false;
    this.#hold.stop();
    this.#replyIsDue = false;
    if (this.phase === "parked") this.#options.hooks.goesOn();
    this.#state.enter("going");
    this.#options.environment?.resume();
    return true;
  }

  async #detach(): Promise<boolean> {
    const { hooks } = this.#options;
    if (!this.#kept.isReplayable) {
      // A server that stops interrupts it.
      if (!this.#isLeaving) hooks.end(CANNOT_BE_HELD);
      return false;
    }
    const isLeft = await this.#kept.leave();
    if (this.#state.isOver) return false;
    if (isLeft) {
      this.#end("detached");
      hooks.detached();
    }
    // A person has decided, or killed it: the notice of that is on its way.
    else this.#hold.start();
    return false;
  }
}
