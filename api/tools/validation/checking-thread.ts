/** Runs slow checks in a separate thread: one at a time, callers in turn, each with a time limit. */

import type { CheckKind } from "#kernel/parameter-check.ts";
import { createJobThread } from "#modules/shared/job-thread.ts";
import type { CheckAnswer, CheckJob } from "./thread.ts";

const CHECK_LIMITS = {
  maxWaiting: 1000,
  maxCheckMs: 1000,
  /** Time limit for compiling a schema before its first check. */
  maxPrepareMs: 5000,
  maxHeapMb: 128,
  idleMs: 60_000,
} as const;

export type ThreadOutcome =
  | Exclude<CheckAnswer, { kind: "unknown" | "prepared" }>
  | { kind: "busy" }
  | { kind: "timeout"; maxMs: number };

export interface CheckingThread extends AsyncDisposable {
  /**
   * `schema` is JSON text. Checks of one `caller` wait for each other, but other callers do not wait for all of them.
   * Never rejects.
   */
  check(
    caller: string,
    hash: string,
    schema: string,
    parameters: Record<string, unknown>,
    kind: CheckKind,
  ): Promise<ThreadOutcome>;
}

export function createCheckingThread(): CheckingThread {
  const thread = createJobThread<CheckJob, CheckAnswer>(
    new URL("./thread.ts", import.meta.url),
    CHECK_LIMITS,
  );
  /** Waiting checks by caller. The caller that has waited longest comes first. */
  const queues = new Map<string, (() => Promise<void>)[]>();
  let waiting = 0;
  let isWorking = false;

  async function send(job: CheckJob): Promise<CheckAnswer | { kind: "timeout"; maxMs: number }> {
    const end = await thread.run(
      job,
      job.kind === "check" ? CHECK_LIMITS.maxCheckMs : CHECK_LIMITS.maxPrepareMs,
    );
    if (end.kind === "answered") return end.answer;
    return end.kind === "timeout" ? end : { kind: "failed", message: end.message };
  }

  async function work(): Promise<void> {
    if (isWorking) return;
    isWorking = true;
    for (;;) {
      const [next] = queues;
      if (next === undefined) break;
      const [caller, jobs] = next;
      const job = jobs.shift();
      queues.delete(caller);
      if (jobs.length > 0) queues.set(caller, jobs);
      await job?.();
    }
    isWorking = false;
  }

  return {
    async check(caller, hash, schema, parameters, kind) {
      if (waiting >= CHECK_LIMITS.maxWaiting) return { kind: "busy" };
      waiting += 1;
      const { promise, resolve } = Promise.withResolvers<ThreadOutcome>();
      const jobs = queues.get(caller) ?? [];
      if (jobs.length === 0) queues.set(caller, jobs);
      jobs.push(async () => {
        let answer = await send({ kind: "check", hash, parameters });
        if (answer.kind === "unknown") answer = await send({ kind: "prepare", hash, schema, for: kind });
        if (answer.kind === "prepared") answer = await send({ kind: "check", hash, parameters });
        const isLost = answer.kind === "unknown" || answer.kind === "prepared";
        resolve(isLost ? { kind: "failed", message: "The schema was lost." } : (answer as ThreadOutcome));
      });
      void work();
      try {
        return await promise;
      } finally {
        waiting -= 1;
      }
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}
