import { performance } from "node:perf_hooks";
import { type Deadline, startDeadline } from "#runner/host/deadline.ts";
import { type StoredFile, Workspace } from "#runner/workspace/workspace.ts";
import type {
  CallFiles,
  EnvironmentModule,
  EnvironmentStatus,
  ExecutionInput,
  ModuleLogger,
  Usage,
} from "#sdk";
import type { FileRefusal, ProcessArtifact } from "../model/files.ts";
import type { ProcessRow } from "../model/records.ts";
import type { EnvironmentAnswer } from "./ending.ts";

/** Time an environment has to confirm a kill before the process ends without confirmation. */
export const KILL_GRACE_MS = 10_000;

const MAX_INTEGER_MB = 2_147_483_647;

/**
 * Returns the memory limit of a run, or null if none was requested and the environment does not report its default.
 */
export function memoryInForce(askedMb: number | null, status: EnvironmentStatus | null): number | null {
  if (askedMb === null) return status?.limits.memoryMb ?? null;
  return Math.min(askedMb, status?.limits.maxMemoryMb ?? MAX_INTEGER_MB, MAX_INTEGER_MB);
}

export class RunExecution {
  readonly confirmed: Promise<void>;
  readonly #eid: number;
  readonly #module: EnvironmentModule;
  readonly #log: ModuleLogger;
  readonly #resolveConfirmed: () => void;
  readonly #abandoned = Promise.withResolvers<EnvironmentAnswer>();
  #isBegun = false;
  #isAnswered = false;
  #isEndAsked = false;
  #deadline: { timer: NodeJS.Timeout; atMs: number } | null = null;

  constructor(eid: number, module: EnvironmentModule, log: ModuleLogger) {
    this.#eid = eid;
    this.#module = module;
    this.#log = log;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.confirmed = promise;
    this.#resolveConfirmed = resolve;
  }

  /**
   * Executes the run. Never rejects; resolves with `unconfirmed` if the environment misses the deadline set by
   * `requestEnd`.
   */
  async run(input: ExecutionInput): Promise<EnvironmentAnswer> {
    if (this.#isEndAsked) {
      this.#resolveConfirmed();
      return { kind: "unconfirmed" };
    }
    this.#isBegun = true;
    try {
      return await Promise.race([this.#execute(input), this.#abandoned.promise]);
    } finally {
      clearTimeout(this.#deadline?.timer);
    }
  }

  /** Asks the environment to end the run and waits at most `graceMs`. A later call may shorten the wait. */
  requestEnd(graceMs: number): void {
    const isAskedAgain = this.#isEndAsked;
    this.#isEndAsked = true;
    // If called before `run`, then `run` returns at once.
    if (!this.#isBegun || this.#isAnswered) return;
    const atMs = performance.now() + graceMs;
    if (this.#deadline === null || atMs < this.#deadline.atMs) {
      clearTimeout(this.#deadline?.timer);
      this.#deadline = { atMs, timer: setTimeout(() => this.#abandon(), graceMs) };
    }
    if (!isAskedAgain) void this.#kill();
  }

  get canPause(): boolean {
    return this.#module.pause !== undefined && this.#module.resume !== undefined;
  }

  /** Resolves with the checkpoint of the halted run. Rejects if the run has ended. */
  async pause(): Promise<unknown> {
    return this.#module.pause?.(this.#eid);
  }

  resume(): void {
    this.#module.resume?.(this.#eid);
  }

  async #execute(input: ExecutionInput): Promise<EnvironmentAnswer> {
    try {
      return { kind: "returned", value: await this.#module.execute(input) };
    } catch (error) {
      this.#log.error(
        { err: error, processId: input.eid },
        "the environment failed while it was running a script",
      );
      return { kind: "threw", isNotStarted: (error as { code?: unknown })?.code === "not_started" };
    } finally {
      this.#isAnswered = true;
      this.#resolveConfirmed();
    }
  }

  async #kill(): Promise<void> {
    try {
      await this.#module.kill(this.#eid);
    } catch (error) {
      this.#log.error({ err: error, processId: this.#eid }, "the environment failed to end a run");
    }
  }

  #abandon(): void {
    if (this.#isAnswered) return;
    this.#log.error(
      { processId: this.#eid },
      "the environment has not confirmed the end of a run in time; the process ends without it",
    );
    this.#abandoned.resolve({ kind: "unconfirmed" });
  }
}

const MEASURED = ["startMs", "cpuMs", "peakMemoryBytes"] as const;

/**
 * Added to the time limit, because an environment may wait for a process more than once before the run's clock
 * starts.
 */
export const BACKSTOP_MS = 60_000;

/**
 * Usage measured by the environment and by the host, whose clock stops while the run waits for an approver.
 * Environments enforce the time limit more precisely; the backstop here ends a run that a module has lost.
 */
export class RunUsage {
  readonly #timeoutMs: number | null;
  readonly #onOverdue: () => void;
  #backstop: Deadline;
  #measured: Usage;
  #startedMs = performance.now();
  #pausedSinceMs: number | null = null;
  #wallMs: number | null = null;

  /** `onOverdue` is called at most once, when the run exceeds its limit by `BACKSTOP_MS`. */
  constructor(
    { queuedAt, startedAt, timeoutMs }: Pick<ProcessRow, "queuedAt" | "startedAt" | "timeoutMs">,
    onOverdue: () => void,
  ) {
    this.#timeoutMs = timeoutMs;
    this.#onOverdue = onOverdue;
    this.#backstop = this.#startBackstop(0);
    const queuedMs = Math.max(0, (startedAt?.getTime() ?? 0) - (queuedAt?.getTime() ?? 0));
    this.#measured = { queuedMs, startMs: 0, wallMs: 0, cpuMs: 0, peakMemoryBytes: 0, toolCalls: 0 };
  }

  restore(usage: Usage): void {
    this.#measured = { ...usage };
    this.#startedMs -= usage.wallMs;
    this.#backstop[Symbol.dispose]();
    // A replay may take as long as the run did before, or longer.
    this.#backstop = this.#startBackstop(2 * usage.wallMs);
  }

  /** Stops the clock, but not the backstop, while the run is queued by its environment. */
  setQueued(isQueued: boolean): void {
    if (isQueued) this.#backstop.pause();
    else this.#backstop.resume();
  }

  /** Stores the environment's measurements. Queueing, wall time and calls are measured here. */
  report(usage: Partial<Usage>): void {
    for (const name of MEASURED) {
      const value = usage[name];
      if (typeof value === "number" && Number.isFinite(value) && value >= 0)
        this.#measured[name] = toMicroseconds(value);
    }
  }

  pause(): void {
    this.#pausedSinceMs = performance.now();
    this.#backstop.pause();
  }

  resume(): void {
    this.#startedMs += performance.now() - (this.#pausedSinceMs ?? 0);
    this.#pausedSinceMs = null;
    this.#backstop.resume();
  }

  stopBackstop(): void {
    this.#backstop[Symbol.dispose]();
  }

  stop(): void {
    this.stopBackstop();
    this.#wallMs ??= this.#elapsedMs();
  }

  read(toolCalls: number): Usage {
    return { ...this.#measured, wallMs: this.#wallMs ?? this.#elapsedMs(), toolCalls };
  }

  #startBackstop(moreMs: number): Deadline {
    const limitMs = this.#timeoutMs === null ? null : this.#timeoutMs + moreMs + BACKSTOP_MS;
    return startDeadline(limitMs, this.#onOverdue);
  }

  #elapsedMs(): number {
    return toMicroseconds((this.#pausedSinceMs ?? performance.now()) - this.#startedMs);
  }
}

/** Rounding to microseconds removes floating-point noise. */
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

const NO_FILES = new Workspace({ files: [], maxBytes: 0, maxFiles: 0 }).snapshot();

/** The run's workspace, opened at first use, and the artifacts stored from it. */
export class RunFiles {
  artifacts: readonly ProcessArtifact[] = [];
  isOverQuota = false;
  readonly #isGiven: boolean;
  readonly #open: () => Workspace;
  readonly #opened: DisposableStack;
  #workspace: Workspace | null = null;
  #cut: AbortController | null = null;

  constructor(isGiven: boolean, open: () => Workspace, opened: DisposableStack) {
    this.#isGiven = isGiven;
    this.#open = open;
    this.#opened = opened;
  }

  /** Throws if the run's resources have been disposed of. */
  get workspace(): Workspace {
    if (this.#workspace === null) {
      const workspace = this.#open();
      this.#opened.defer(() => void workspace[Symbol.asyncDispose]());
      this.#workspace = workspace;
    }
    return this.#workspace;
  }

  /** Returns the current files, without opening a workspace for a run that has none. */
  snapshot(): CallFiles {
    return this.#workspace !== null || this.#isGiven ? this.workspace.snapshot() : NO_FILES;
  }

  /** Aborts some time after a kill or the server's shutdown, so that no wait for a store continues. */
  get cut(): AbortSignal {
    this.#cut ??= new AbortController();
    return this.#cut.signal;
  }

  cutShort(graceMs: number): void {
    this.#cut ??= new AbortController();
    const cut = this.#cut;
    setTimeout(() => abortOnce(cut), graceMs).unref();
  }

  get written(): StoredFile[] {
    return this.#workspace?.artifacts() ?? [];
  }

  get refused(): FileRefusal | null {
    return this.isOverQuota ? "quota" : (this.#workspace?.exceeded ?? null);
  }
}

/** Avoids creating an abort reason, which costs more than the rest of an ending. */
export function abortOnce(controller: AbortController, reason?: Error): void {
  if (controller.signal.aborted) return;
  controller.abort(reason ?? new DOMException("The run has ended.", "AbortError"));
}
