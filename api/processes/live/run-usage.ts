/** What a run uses: the environment's measurements, and the host's own clock, which stands still while a person is waited for. */
import { performance } from "node:perf_hooks";
import type { Usage } from "#sdk";
import type { ProcessRow } from "../store.ts";

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
