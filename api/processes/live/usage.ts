/** What a run uses: the environment's measurements, and the host's own clock, which stands still while a person is waited for. */
import { performance } from "node:perf_hooks";
import { type Deadline, startDeadline } from "#runner/deadline.ts";
import type { Usage } from "#sdk";
import type { ProcessRow } from "../model/records.ts";

const MEASURED = ["startMs", "cpuMs", "peakMemoryBytes"] as const;

export class RunUsage {
  #measured: Usage;
  /** When the run's own time began: moved on by its pauses. */
  #startedMs = performance.now();
  #parkedSinceMs: number | null = null;
  #wallMs: number | null = null;

  constructor({ queuedAt, startedAt }: Pick<ProcessRow, "queuedAt" | "startedAt">) {
    const queuedMs = Math.max(0, (startedAt?.getTime() ?? 0) - (queuedAt?.getTime() ?? 0));
    this.#measured = { queuedMs, startMs: 0, wallMs: 0, cpuMs: 0, peakMemoryBytes: 0, toolCalls: 0 };
  }

  /** Goes on from what was used before the run was repeated. */
  carry(usage: Usage): void {
    this.#measured = { ...usage };
    this.#startedMs -= usage.wallMs;
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
  }

  goOn(): void {
    this.#startedMs += performance.now() - (this.#parkedSinceMs ?? 0);
    this.#parkedSinceMs = null;
  }

  /** The run is over: its time ends here. */
  stop(): void {
    this.#wallMs = this.#elapsedMs();
  }

  read(toolCalls: number): Usage {
    return { ...this.#measured, wallMs: this.#wallMs ?? this.#elapsedMs(), toolCalls };
  }

  #elapsedMs(): number {
    return toMicroseconds((this.#parkedSinceMs ?? performance.now()) - this.#startedMs);
  }
}

/** Milliseconds without the noise of binary fractions. */
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/** For what an environment does before the time of a run begins: it waits for a process of its own, more than once if need be. */
export const BACKSTOP_MS = 60_000;

export class RunBackstop {
  readonly #timeoutMs: number | null;
  readonly #ring: () => void;
  #deadline: Deadline;

  /** Starts counting. `timeoutMs`: of the run; null never rings. `ring` is called once at most. */
  constructor(timeoutMs: number | null, ring: () => void) {
    this.#timeoutMs = timeoutMs;
    this.#ring = ring;
    this.#deadline = this.#start(0);
  }

  /** The run is a repetition of one that used `usedMs`: doing that again may take as long, and longer. */
  carry(usedMs: number): void {
    this.#deadline[Symbol.dispose]();
    this.#deadline = this.#start(2 * usedMs);
  }

  /** Nobody's time passes: the run waits for a person, or for its turn in the environment. */
  pause(): void {
    this.#deadline.pause();
  }

  resume(): void {
    this.#deadline.resume();
  }

  stop(): void {
    this.#deadline[Symbol.dispose]();
  }

  #start(moreMs: number): Deadline {
    const limitMs = this.#timeoutMs === null ? null : this.#timeoutMs + moreMs + BACKSTOP_MS;
    return startDeadline(limitMs, this.#ring);
  }
}
