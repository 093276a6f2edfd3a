/** Measures a call's duration, both with and without the wait for an approval. */
import { performance } from "node:perf_hooks";

export class CallClock {
  readonly #startedMs = performance.now();
  readonly #waitedBeforeMs: number;
  #waitedMs = 0;
  #waitingSinceMs: number | null = null;

  constructor(waitedBeforeMs = 0) {
    this.#waitedBeforeMs = waitedBeforeMs;
  }

  wait(): void {
    this.#waitingSinceMs ??= performance.now();
  }

  resume(): void {
    if (this.#waitingSinceMs === null) return;
    this.#waitedMs += performance.now() - this.#waitingSinceMs;
    this.#waitingSinceMs = null;
  }

  read(): { durationMs: number; waitedMs: number } {
    const now = performance.now();
    const waited = this.#waitedMs + (this.#waitingSinceMs === null ? 0 : now - this.#waitingSinceMs);
    return { durationMs: now - this.#startedMs - waited, waitedMs: this.#waitedBeforeMs + waited };
  }
}

/** Abort reason for calls that wait for an approval when their child exits: they continue in a later child. */
export const RUN_LEFT = new Error("The run continues in a later child.");
