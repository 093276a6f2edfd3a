/**
 * One run while it is in memory: what the script has written so far, its limits, its calls, and how it is to end.
 * Knows no database; run.ts moves it along.
 */

import { RUN_LEFT } from "#api/bounds/call-clock.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import type { CallCaller } from "#api/tools/contract.ts";
import { boundWarnings } from "#runner/host/outcome.ts";
import { createWorkspace, type StoredFile, type Workspace } from "#runner/workspace/workspace.ts";
import {
  type CallFiles,
  type ErrorDetail,
  type ExecutionState,
  MAX_WARNINGS,
  type PackageUse,
  type PrintLevel,
  type RunWarning,
  type Usage,
} from "#sdk";
import type { FileRefusal, ProcessArtifact } from "../model/files.ts";
import {
  type CarriedRun,
  type Ending,
  failedWith,
  type ProcessRow,
  type RunEnding,
  type RunLimits,
  type Submitted,
} from "../model/records.ts";
import type { ApprovalState, ProcessState } from "../model/states.ts";
import { CallLog } from "./calls.ts";
import {
  concludeRun,
  type EnvironmentAnswer,
  overdue,
  parseReportedError,
  parseWarning,
  type ReportedError,
  RunApprovals,
} from "./ending.ts";
import { KILL_GRACE_MS, type RunExecution, RunUsage } from "./execution.ts";
import type { StreamName } from "./results.ts";
import { RunResults } from "./results.ts";

/** What a killed run wrote is stored within this time, or not at all. */
const KILL_STORING_MS = 3000;
const EMPTY = createWorkspace({ files: [], maxBytes: 0, maxFiles: 0 }).snapshot();

export class LiveRun {
  readonly id: number;
  readonly claim: string;
  readonly environment: string;
  readonly execution: Pick<RunExecution, "requestEnd" | "confirmed" | "pause" | "resume">;
  readonly submitted: Submitted;
  /** The memory limit in force. */
  readonly memoryMb: number | null;
  /** An earlier child began the run; this one repeats it. */
  readonly isRepeated: boolean;
  readonly results: RunResults;
  /** What is stored of the files it wrote; told with its ending. */
  artifacts: readonly ProcessArtifact[] = [];
  #filesRefused: FileRefusal | null = null;
  /** What it has imported, in the order in which it did. */
  packages: readonly PackageUse[] = [];
  /** What of it is stored already, for when this server dies. Null: nothing, as of most runs. */
  progress: RunProgress | null = null;
  readonly begunMs = performance.now();
  /** What was opened for the run; run.ts disposes it when no child of this server holds the run any more. */
  readonly opened = new DisposableStack();

  readonly #options: LiveRunOptions;
  readonly #usage: RunUsage;
  /** Most runs call nothing and ask no person. */
  #over: AbortController | null = null;
  #cut: AbortController | null = null;
  #hasEndedCalls = false;
  #log: CallLog | null = null;
  #approvals: RunApprovals | null = null;
  #workspace: Workspace | null = null;
  #isLeft = false;
  #row: ProcessRow;
  #state: ProcessState = "running";
  #queuedByEnvironment = false;
  #killed = false;
  #decided: Ending | null = null;
  #reported: ReportedError | null = null;
  readonly #inputWarnings: RunWarning[] = [];
  #warnings: readonly RunWarning[] = [];
  #droppedWarnings = 0;
  #unkeptOfInput = 0;
  #ending: Ending | null = null;
  #isStored = false;

  constructor(options: LiveRunOptions) {
    const { row, limits, redactor } = options;
    this.#options = options;
    this.#row = row;
    this.id = row.id;
    this.claim = row.claim as string;
    this.execution = options.execution;
    this.environment = options.environment;
    this.submitted = options.submitted;
    this.memoryMb = options.memoryMb;
    this.isRepeated = row.asked;
    this.results = new RunResults(limits, redactor);
    this.#usage = new RunUsage(row, () => {
      options.onOverdue();
      this.decide(overdue(row.timeoutMs));
    });
  }

  /** Before the run begins: it is a repetition. */
  carry({
    trail,
    usage,
    events,
    packages,
  }: Pick<CarriedRun, "trail" | "usage" | "events" | "packages">): void {
    this.calls.restore(trail);
    this.packages = packages;
    for (const { id, state } of events) this.approvals.note(id, state);
    this.#usage.carry(usage);
  }

  /** What the run has called, and asked. */
  get calls(): CallLog {
    this.#log ??= new CallLog(this.#options.redactor);
    return this.#log;
  }

  /** What the run has asked people. */
  get approvals(): RunApprovals {
    this.#approvals ??= new RunApprovals();
    return this.#approvals;
  }

  /** Its files. @throws once `opened` was disposed of. */
  get workspace(): Workspace {
    if (this.#workspace === null) {
      const workspace = this.#options.openWorkspace();
      this.opened.defer(() => void workspace[Symbol.asyncDispose]());
      this.#workspace = workspace;
    }
    return this.#workspace;
  }

  /** Its files as they are now; for a run that was given none, and has used none, no workspace is opened. */
  snapshotFiles(): CallFiles {
    const hasFiles = this.#workspace !== null || this.submitted.files !== null;
    return hasFiles ? this.workspace.snapshot() : EMPTY;
  }

  /** What it wrote; its clock stands when that is read. */
  takeWritten(): StoredFile[] {
    const written = this.#workspace?.artifacts() ?? [];
    if (written.length > 0) this.#usage.stop();
    return written;
  }

  /** Aborts some time after a kill, or the end of the server: no wait on a store goes on then. */
  get cut(): AbortSignal {
    this.#cut ??= new AbortController();
    return this.#cut.signal;
  }

  cutShort(graceMs: number): void {
    this.#cut ??= new AbortController();
    const cut = this.#cut;
    setTimeout(() => abortOnce(cut), graceMs).unref();
  }

  /** Its owner has no room for what it wrote. */
  refuseWritten(sentence: string): void {
    this.#filesRefused = "quota";
    this.decide(failedWith("output_limit", "StorageLimitError", sentence));
  }

  /** Why files of it are not kept; null: all are that it wrote. */
  get filesRefused(): FileRefusal | null {
    return this.#filesRefused ?? this.#workspace?.exceeded ?? null;
  }

  /** Whether `row` is the stored ending of this run. */
  get isStored(): boolean {
    return this.#isStored;
  }

  /** What readers are shown; `idle` only once the ending is stored. */
  get state(): ProcessState {
    return this.#state === "running" && this.#queuedByEnvironment ? "queued" : this.#state;
  }

  /** Whether the environment's word is in: nothing the environment says after that counts. */
  get isOver(): boolean {
    return this.#ending !== null || this.#isLeft;
  }

  /** No child holds the run any more, and it is not over: what is shown of it is in the database. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  /** Aborts when the run is killed or over. */
  get signal(): AbortSignal {
    this.#over ??= new AbortController();
    if (this.#hasEndedCalls) abortOnce(this.#over);
    return this.#over.signal;
  }

  /** What its calls may do: what who submitted it and who started it both may. */
  get rights(): Pick<CallCaller, "keyId" | "startedBy"> {
    const { keyId, submittedBy, startedBy } = this.#row;
    return { ...(keyId !== null && { keyId }), ...(startedBy !== submittedBy && { startedBy }) };
  }

  /** The row as it would be read now. */
  get row(): ProcessRow {
    return this.#isStored
      ? this.#row
      : {
          ...this.#row,
          state: this.state,
          memoryMb: this.memoryMb,
          usage: this.usage,
          approvals: this.#approvals?.pending ?? [],
        };
  }

  get ending(): Ending | null {
    return this.#ending;
  }

  get usage(): Usage {
    return this.#usage.read(this.#log?.all.length ?? 0);
  }

  /** The environment queues on its own, or has started the script. */
  setState(state: ExecutionState): void {
    if (this.isOver || this.#queuedByEnvironment === (state === "queued")) return;
    this.#queuedByEnvironment = state === "queued";
    this.#usage.setQueued(this.#queuedByEnvironment);
    this.#options.onChange("state");
  }

  write(stream: StreamName, data: Buffer, level?: PrintLevel): void {
    if (!this.isOver && this.results.streams.write(stream, data, level)) this.#options.onChange("data");
  }

  emitOutput(data: Record<string, unknown>): void {
    if (this.isOver || this.#decided) return;
    this.#endOver(this.results.emit(data));
    this.#options.onChange("data");
  }

  setResult(value: unknown): void {
    if (!this.isOver && !this.#decided) this.#endOver(this.results.setResult(value));
  }

  /** Ends the run when what it left is more than is kept, or no JSON. */
  #endOver(problem: string | null): void {
    if (problem !== null) this.decide(failedWith("output_limit", "OutputLimitError", problem));
  }

  /** The first error reported is kept. */
  setError(error: string | ErrorDetail): void {
    const reported = parseReportedError(error, this.#options.redactor);
    if (!this.isOver) this.#reported ??= reported;
  }

  setWarnings(warnings: readonly RunWarning[], dropped: number): void {
    if (this.isOver) return;
    this.#warnings = warnings.map((warning) => parseWarning(warning, this.#options.redactor));
    this.#droppedWarnings = dropped;
  }

  warnOfInput(warning: RunWarning): void {
    if (this.#inputWarnings.length < MAX_WARNINGS) {
      this.#inputWarnings.push(parseWarning(warning, this.#options.redactor));
    } else this.#unkeptOfInput += 1;
  }

  /** Those of its input, then of its calls, then of its script. */
  get warnings(): readonly RunWarning[] {
    const { warnings = [], droppedWarnings = 0 } = this.#log ?? {};
    return boundWarnings(
      [...this.#inputWarnings, ...warnings, ...this.#warnings],
      this.#unkeptOfInput + droppedWarnings + this.#droppedWarnings,
    );
  }

  /** Its source names a package. */
  notePackage({ name, version, digest }: PackageUse): void {
    if (this.isOver || this.packages.some((one) => one.digest === digest && one.name === name)) return;
    this.packages = [...this.packages, { name, version, digest }];
  }

  /** A call has begun or ended. */
  noteCall(): void {
    if (!this.isOver) this.#options.onChange("data");
  }

  setUsage(usage: Partial<Usage>): void {
    if (!this.isOver) this.#usage.report(usage);
  }

  /** A person is waited for: the run's time stands still. */
  markParked(): void {
    if (this.#state !== "running") return;
    this.#state = "paused";
    this.#usage.park();
    this.#options.slot.giveUp();
    this.#options.onChange("state");
  }

  markGoesOn(): void {
    if (this.#state !== "paused") return;
    this.#options.slot.takeBack();
    this.#usage.goOn();
    this.#state = "running";
    this.#options.onChange("state");
  }

  /** The child goes, the run stays: a later child repeats it. Its calls are not canceled by that, so their trail is left as it is. */
  leave(): void {
    this.#isLeft = true;
    this.#usage.stopBackstop();
    this.#over ??= new AbortController();
    abortOnce(this.#over, RUN_LEFT);
    this.#hasEndedCalls = true;
    this.execution.requestEnd(KILL_GRACE_MS);
    this.#options.onChange("state");
  }

  /** A person was asked, or has decided. */
  noteApproval(id: string, state: ApprovalState): void {
    this.approvals.note(id, state);
    this.#options.onChange(state === "pending" ? "state" : "data");
  }

  /** No call outlives the run. */
  #endCalls(): void {
    this.#usage.stopBackstop();
    // The trail is read as soon as the run is over.
    this.#log?.cutOff("The run of this call has ended.");
    this.#hasEndedCalls = true;
    if (this.#over !== null) abortOnce(this.#over);
  }

  /** Its calls and its child. */
  #endHere(): void {
    this.#endCalls();
    this.execution.requestEnd(KILL_GRACE_MS);
  }

  /** A person asked for the end. */
  kill(): void {
    if (this.#state === "terminating" || this.#state === "idle") return;
    this.#state = "terminating";
    this.#killed = !this.isOver && this.#reported === null;
    this.cutShort(KILL_STORING_MS);
    this.#endHere();
    this.#options.onChange("state");
  }

  /** Ends the run by the host's own decision; the first one counts. */
  decide(ending: Ending): void {
    if (this.isOver || this.#decided) return;
    this.#decided = ending;
    this.#endHere();
  }

  /** The environment has answered, or will not: closes the books and says what to store. */
  conclude(answer: EnvironmentAnswer): RunEnding {
    this.results.streams.end();
    this.#usage.stop();
    const concluded = concludeRun({
      answer,
      decided: this.#decided,
      killed: this.#killed,
      reported: this.#reported,
      timeoutMs: this.#row.timeoutMs,
    });
    const ending = this.#approvals?.explain(concluded) ?? concluded;
    this.#approvals?.close();
    this.#ending = ending;
    if (ending.exitState !== "success") this.results.dropResult();
    this.#endCalls();
    return {
      id: this.id,
      claim: this.claim,
      exitState: ending.exitState,
      reason: ending.reason,
      error: ending.error,
      memoryMb: this.memoryMb,
      usage: this.usage,
      ...this.results.read(),
      result: this.results.result,
      calls: this.#log?.ended ?? [],
      artifacts: this.artifacts,
      packages: this.packages,
      warnings: this.warnings,
      ...((this.isRepeated || this.progress !== null) && { hasProgress: true }),
    };
  }

  /** The ending is in the database as this row; null: it belongs to someone else's ending. */
  markStored(row: ProcessRow | null): void {
    if (row) {
      this.#row = row;
      this.#isStored = true;
    }
    this.#state = "idle";
    this.#queuedByEnvironment = false;
    this.#options.onChange("state");
  }
}

/** Making the reason costs more than the rest of an ending. */
function abortOnce(controller: AbortController, reason?: Error): void {
  if (controller.signal.aborted) return;
  controller.abort(reason ?? new DOMException("The run has ended.", "AbortError"));
}

/** How much of a run is stored in parts. */
export interface RunProgress {
  parts: number;
  stdout: number;
  stderr: number;
  outputs: number;
  /** Calls begun, and calls ended. */
  calls: number;
  ended: number;
  /** Resolves when no part of it is being stored. Never rejects. */
  writing: Promise<unknown>;
}

export interface LiveRunOptions
  extends Pick<LiveRun, "environment" | "execution" | "submitted" | "memoryMb"> {
  /** The row as it was claimed. */
  row: ProcessRow;
  /** While it is paused another run may have its slot. */
  slot: { giveUp(): void; takeBack(): void };
  limits: RunLimits;
  /** Called at the first read or write of a file. */
  openWorkspace: () => Workspace;
  /** Takes secrets out of what the run reports, before it is kept. */
  redactor: Redactor;
  /** Called after every change that a reader could see. */
  onChange: (change: "state" | "data") => void;
  /** Called once when the environment did not keep the time limit of the run. */
  onOverdue: () => void;
}
