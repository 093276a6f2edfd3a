/** One run while it is in memory. Does not access the database; the pipeline in api/processes/run.ts drives it. */
import { RUN_LEFT } from "#api/bounds/call-clock.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import type { CallCaller } from "#api/tools/contract.ts";
import type { Workspace } from "#runner/workspace/workspace.ts";
import type { ErrorDetail, ExecutionState, PrintLevel, RunWarning, Usage } from "#sdk";
import type { RestoredRun } from "../model/calls.ts";
import {
  type Ending,
  failedWith,
  type ProcessRow,
  type RunEnding,
  type RunLimits,
  type RunProgress,
  type RunSnapshot,
  type Submitted,
} from "../model/records.ts";
import type { ProcessState } from "../model/states.ts";
import { PendingApprovals } from "./approvals.ts";
import { CallLog } from "./calls.ts";
import { concludeRun, type EnvironmentAnswer, overdue, type RunPhase } from "./ending.ts";
import { abortOnce, KILL_GRACE_MS, type RunExecution, RunFiles, RunUsage } from "./execution.ts";
import { RunResults } from "./results.ts";
import type { StreamName } from "./streams.ts";

/** Time to store the files of a killed run before they are dropped. */
const KILL_STORING_MS = 3000;

export interface LiveRunOptions
  extends Pick<LiveRun, "environment" | "execution" | "submitted" | "memoryMb"> {
  row: ProcessRow;
  /** Slot that other runs may use while this run is paused. */
  slot: { giveUp(): void; takeBack(): void };
  limits: RunLimits;
  openWorkspace: () => Workspace;
  redactor: Redactor;
  onChange: (change: "state" | "data") => void;
  onOverdue: () => void;
}

export class LiveRun {
  readonly id: number;
  readonly claim: string;
  readonly environment: string;
  readonly execution: Pick<RunExecution, "requestEnd" | "confirmed" | "canPause" | "pause" | "resume">;
  readonly submitted: Submitted;
  readonly memoryMb: number | null;
  readonly isReplay: boolean;
  /** Calls are limited to what both the submitter and the starter may do. */
  readonly rights: Pick<CallCaller, "keyId" | "startedBy">;
  readonly usageClock: RunUsage;
  readonly results: RunResults;
  readonly files: RunFiles;
  progress: RunProgress | null = null;
  readonly begunMs = performance.now();
  /** Resources of the run. The pipeline disposes of them once no child on this server holds the run. */
  readonly opened = new DisposableStack();

  readonly #options: LiveRunOptions;
  #row: ProcessRow;
  #phase: RunPhase = { is: "running", isQueued: false };
  #over: AbortController | null = null;
  #log: CallLog | null = null;
  #approvals: PendingApprovals | null = null;

  constructor(options: LiveRunOptions) {
    const { row, limits, redactor } = options;
    const { keyId, submittedBy, startedBy } = row;
    this.#options = options;
    this.#row = row;
    this.id = row.id;
    this.claim = row.claim as string;
    this.execution = options.execution;
    this.environment = options.environment;
    this.submitted = options.submitted;
    this.memoryMb = options.memoryMb;
    this.isReplay = row.asked;
    this.rights = { ...(keyId !== null && { keyId }), ...(startedBy !== submittedBy && { startedBy }) };
    this.results = new RunResults(limits, redactor);
    this.files = new RunFiles(this.submitted.files !== null, options.openWorkspace, this.opened);
    this.usageClock = new RunUsage(row, () => {
      options.onOverdue();
      this.decide(overdue(row.timeoutMs));
    });
  }

  restore(earlier: Omit<RestoredRun, "run" | "checkpoint" | "calls" | "saved">): void {
    this.calls.restore(earlier.trail);
    this.results.packages = earlier.packages;
    this.approvals.restore(earlier.approvals, earlier.events);
    this.usageClock.restore(earlier.usage);
  }

  get calls(): CallLog {
    this.#log ??= new CallLog(this.#options.redactor);
    return this.#log;
  }

  get approvals(): PendingApprovals {
    this.#approvals ??= new PendingApprovals((state) =>
      this.#options.onChange(state === "pending" ? "state" : "data"),
    );
    return this.#approvals;
  }

  get hasApprovals(): boolean {
    return this.#approvals !== null;
  }

  get phase(): RunPhase["is"] {
    return this.#phase.is;
  }

  /** State shown to readers. Becomes `idle` only after the ending is stored. */
  get state(): ProcessState {
    const phase = this.#phase;
    if (phase.is === "running") return phase.isQueued ? "queued" : "running";
    return phase.is === "paused" ? "paused" : phase.shown;
  }

  /** True once reports from the environment are ignored. */
  get isOver(): boolean {
    const { is } = this.#phase;
    return is === "ended" || is === "detached" || is === "stored";
  }

  /** Aborts when the run is killed or has ended. */
  get signal(): AbortSignal {
    this.#over ??= new AbortController();
    if (this.phase !== "running" && this.phase !== "paused") abortOnce(this.#over);
    return this.#over.signal;
  }

  get row(): ProcessRow {
    if (this.phase === "stored") return this.#row;
    const { state, memoryMb, usage } = this;
    return { ...this.#row, state, memoryMb, usage, approvals: this.#approvals?.pending ?? [] };
  }

  get ending(): Ending | null {
    const phase = this.#phase;
    return phase.is === "ended" || phase.is === "stored" ? phase.ending : null;
  }

  get usage(): Usage {
    return this.usageClock.read(this.#log?.all.length ?? 0);
  }

  get warnings(): readonly RunWarning[] {
    return this.results.listWarnings(this.#log);
  }

  /** Returns what readers see of the run so far. Streams are views, valid until the next write. */
  snapshot(): RunSnapshot {
    const { usage, warnings, results } = this;
    return { ...results.read(), calls: this.#log?.all ?? [], usage, packages: results.packages, warnings };
  }

  /** Called when the environment queues the run or starts its script. */
  setState(state: ExecutionState): void {
    const phase = this.#phase;
    const isQueued = state === "queued";
    if (phase.is !== "running" || phase.isQueued === isQueued) return;
    phase.isQueued = isQueued;
    this.usageClock.setQueued(isQueued);
    this.#options.onChange("state");
  }

  write(stream: StreamName, data: Buffer, level?: PrintLevel): void {
    if (!this.isOver && this.results.streams.write(stream, data, level)) this.#options.onChange("data");
  }

  emitOutput(data: Record<string, unknown>): void {
    if (this.isOver || this.#decided !== null) return;
    this.#endIfTooLarge(this.results.emit(data));
    this.#options.onChange("data");
  }

  setResult(value: unknown): void {
    if (!this.isOver && this.#decided === null) this.#endIfTooLarge(this.results.setResult(value));
  }

  setError(error: string | ErrorDetail): void {
    if (!this.isOver) this.results.setError(error);
  }

  recordCall(): void {
    if (!this.isOver) this.#options.onChange("data");
  }

  setUsage(usage: Partial<Usage>): void {
    if (!this.isOver) this.usageClock.report(usage);
  }

  /** Pauses for an approver: the clock stops and other runs may use the slot. */
  pause(): void {
    if (this.phase !== "running") return;
    this.#phase = { is: "paused" };
    this.usageClock.pause();
    this.#options.slot.giveUp();
    this.#options.onChange("state");
  }

  resume(): void {
    if (this.phase !== "paused") return;
    this.#options.slot.takeBack();
    this.usageClock.resume();
    this.#phase = { is: "running", isQueued: false };
    this.#options.onChange("state");
  }

  /**
   * Ends the child but not the run, which a later child replays. Calls are not canceled, so their trail stays
   * unchanged.
   */
  detach(): void {
    this.#phase = { is: "detached", shown: this.state };
    this.usageClock.stopBackstop();
    this.#over ??= new AbortController();
    abortOnce(this.#over, RUN_LEFT);
    this.execution.requestEnd(KILL_GRACE_MS);
    this.#options.onChange("state");
  }

  kill(): void {
    const phase = this.#phase;
    if (phase.is === "detached" || phase.is === "stored" || this.state === "terminating") return;
    if (phase.is === "ended" || phase.is === "stopping") phase.shown = "terminating";
    else this.#phase = { is: "stopping", shown: "terminating", isKilled: false, decided: null };
    if (this.#phase.is === "stopping") this.#phase.isKilled = this.results.error === null;
    this.files.cutShort(KILL_STORING_MS);
    this.#stopChild();
    this.#options.onChange("state");
  }

  /** The first decision wins. */
  decide(ending: Ending): void {
    if (this.isOver || this.#decided !== null) return;
    if (this.#phase.is === "stopping") this.#phase.decided = ending;
    else this.#phase = { is: "stopping", shown: this.state, isKilled: false, decided: ending };
    this.#stopChild();
  }

  /** Call when the environment has answered or never will. Returns the ending to store. */
  conclude(answer: EnvironmentAnswer): RunEnding {
    this.results.streams.end();
    this.usageClock.stop();
    const phase = this.#phase;
    const concluded = concludeRun({
      answer,
      decided: this.#decided,
      killed: phase.is === "stopping" && phase.isKilled,
      reported: this.results.error,
      timeoutMs: this.#row.timeoutMs,
    });
    const ending = this.#approvals?.explain(concluded) ?? concluded;
    this.#approvals?.close();
    this.#phase = { is: "ended", shown: this.state, ending };
    if (ending.exitState !== "success") this.results.result = null;
    this.#endCalls();
    const { id, claim, memoryMb } = this;
    return {
      ...this.snapshot(),
      ...ending,
      ...{ id, claim, memoryMb, artifacts: this.files.artifacts, result: this.results.result },
      calls: this.#log?.ended ?? [],
      ...((this.isReplay || this.progress !== null) && { hasProgress: true }),
    };
  }

  /** Records the stored ending. With null, another server ended the run, and only the database shows it. */
  recordStored(row: ProcessRow | null): void {
    const { ending } = this;
    if (row === null || ending === null) this.#phase = { is: "detached", shown: "idle" };
    else {
      this.#row = row;
      this.#phase = { is: "stored", shown: "idle", ending };
    }
    this.#options.onChange("state");
  }

  get #decided(): Ending | null {
    return this.#phase.is === "stopping" ? this.#phase.decided : null;
  }

  #endIfTooLarge(problem: string | null): void {
    if (problem !== null) this.decide(failedWith("output_limit", "OutputLimitError", problem));
  }

  #endCalls(): void {
    this.usageClock.stopBackstop();
    this.#log?.cutOff("The run of this call has ended.");
    if (this.#over !== null) abortOnce(this.#over);
  }

  #stopChild(): void {
    this.#endCalls();
    this.execution.requestEnd(KILL_GRACE_MS);
  }
}
