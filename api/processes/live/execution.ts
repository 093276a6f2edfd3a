/**
 * The environment's part of one run: `execute` from call to answer, the bounded wait for an environment that was asked to
 * end a run and does not, and what the run uses.
 */
import { performance } from "node:perf_hooks";
import { type Deadline, startDeadline } from "#runner/host/deadline.ts";
import type { EnvironmentModule, EnvironmentStatus, ExecutionInput, ModuleLogger, Usage } from "#sdk";
import type { ProcessRow } from "../model/records.ts";
import type { EnvironmentAnswer } from "./ending.ts";

/** How long an environment may take to confirm a kill before the process ends without it. */
export const KILL_GRACE_MS = 10_000;

/** The largest that a Postgres integer holds. */
const MAX_INTEGER_MB = 2_147_483_647;

/** The memory limit of a run. Null only when nothing was asked for and the environment does not say what it gives. */
export function memoryInForce(askedMb: number | null, status: EnvironmentStatus | null): number | null {
  if (askedMb === null) return status?.limits.memoryMb ?? null;
  return Math.min(askedMb, status?.limits.maxMemoryMb ?? MAX_INTEGER_MB, MAX_INTEGER_MB);
}

export class RunExecution {
  /** Resolves when the environment has answered, however late; never for one that does not. */
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

  /** Never rejects. Resolves with `unconfirmed` when `requestEnd` was called and its time has passed. */
  async carryOut(input: ExecutionInput): Promise<EnvironmentAnswer> {
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

  /** Asks the environment to end the run and waits `graceMs` for it at most; a later call may shorten the wait. */
  requestEnd(graceMs: number): void {
    const isAskedAgain = this.#isEndAsked;
    this.#isEndAsked = true;
    // What has not begun never does.
    if (!this.#isBegun || this.#isAnswered) return;
    const atMs = performance.now() + graceMs;
    if (this.#deadline === null || atMs < this.#deadline.atMs) {
      clearTimeout(this.#deadline?.timer);
      this.#deadline = { atMs, timer: setTimeout(() => this.#abandon(), graceMs) };
    }
    if (!isAskedAgain) void this.#kill();
  }

  /** Null: the environment cannot pause. */
  get pause(): (() => Promise<unknown>) | null {
    const { pause, resume } = this.#module;
    return pause && resume ? () => pause.call(this.#module, this.#eid) : null;
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

/** For what an environment does before the time of a run begins: it may wait for a process of its own more than once. */
export const BACKSTOP_MS = 60_000;

/**
 * What a run uses: the environment's measurements, and the host's own clock, which stands still while a person is waited
 * for. Every environment keeps the time limit itself, and closer; the backstop here ends a run that a module has lost.
 */
export class RunUsage {
  readonly #timeoutMs: number | null;
  readonly #onOverdue: () => void;
  #backstop: Deadline;
  #measured: Usage;
  /** When the run's own time began: moved on by its pauses. */
  #startedMs = performance.now();
  #parkedSinceMs: number | null = null;
  #wallMs: number | null = null;

  /** Starts counting. `onOverdue` is called once at most, when the run takes more than its limit and `BACKSTOP_MS`. */
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

  /** Goes on from what was used before the run was repeated. */
  carry(usage: Usage): void {
    this.#measured = { ...usage };
    this.#startedMs -= usage.wallMs;
    this.#backstop[Symbol.dispose]();
    // Doing again what was done before may take as long, and longer.
    this.#backstop = this.#startBackstop(2 * usage.wallMs);
  }

  /** While it waits for its turn in the environment, only the backstop stands still. */
  setQueued(isQueued: boolean): void {
    if (isQueued) this.#backstop.pause();
    else this.#backstop.resume();
  }

  /** Takes what an environment measures; queueing, wall time and calls are counted here. */
  report(usage: Partial<Usage>): void {
    for (const name of MEASURED) {
      const value = usage[name];
      if (typeof value === "number" && Number.isFinite(value) && value >= 0)
        this.#measured[name] = toMicroseconds(value);
    }
  }

  park(): void {
    this.#parkedSinceMs = performance.now();
    this.#backstop.pause();
  }

  goOn(): void {
    this.#startedMs += performance.now() - (this.#parkedSinceMs ?? 0);
    this.#parkedSinceMs = null;
    this.#backstop.resume();
  }

  stopBackstop(): void {
    this.#backstop[Symbol.dispose]();
  }

  /** The script is over: its time ends here. Idempotent. */
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
    return toMicroseconds((this.#parkedSinceMs ?? performance.now()) - this.#startedMs);
  }
}

/** Milliseconds without the noise of binary fractions. */
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
