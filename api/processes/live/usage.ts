/**
 * What a run uses: the environment's measurements, and the host's own clock, which stands still while a person is waited
 * for. Every environment keeps the time limit itself, and closer; the backstop here ends a run that a module has lost.
 */
import { performance } from "node:perf_hooks";
import { type Deadline, startDeadline } from "#runner/host/deadline.ts";
import type { Usage } from "#sdk";
import type { ProcessRow } from "../model/records.ts";

const MEASURED = ["startMs", "cpuMs", "peakMemoryBytes"] as const;

/** For what an environment does before the time of a run begins: it may wait for a process of its own more than once. */
export const BACKSTOP_MS = 60_000;

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

  /** The run is over: its time ends here. */
  stop(): void {
    this.#wallMs = this.#elapsedMs();
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
