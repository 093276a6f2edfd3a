/** How long a call takes, without the time in which it stands still for a person. */
import { performance } from "node:perf_hooks";

export interface CallClock {
  /** Time until it settles is waiting. */
  waitFor<T>(decision: Promise<T>): Promise<T>;
  /** Milliseconds so far: of the call itself, and beside them of waiting. */
  read(): { durationMs: number; waitedMs: number };
}

/** Starts now; `waitedMs` is what the call has waited before, as part of an earlier child of its run. */
export function startCallClock(waitedMs = 0): CallClock {
  const startedMs = performance.now();
  let hereMs = 0;
  let waitsSinceMs: number | null = null;
  return {
    async waitFor(decision) {
      waitsSinceMs = performance.now();
      try {
        return await decision;
      } finally {
        hereMs += performance.now() - waitsSinceMs;
        waitsSinceMs = null;
      }
    },
    read() {
      const now = performance.now();
      const waited = hereMs + (waitsSinceMs === null ? 0 : now - waitsSinceMs);
      return { durationMs: now - startedMs - waited, waitedMs: waitedMs + waited };
    },
  };
}

/** Why the calls of a run end here whose child has left it: those that wait for a person go on in a later child. */
export const RUN_LEFT = new Error("The run goes on in a later child.");
