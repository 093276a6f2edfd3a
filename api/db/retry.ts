/** Doing something until the database does it. */
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors.ts";
import { isDatabaseUnavailable } from "./pool.ts";

const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2000;

/** Again and again, at most every 2 s. Null when `over` aborted before it was done. */
export async function retryUntil<T>(
  work: () => Promise<T>,
  over: AbortSignal,
  onFailure: (error: unknown) => void = () => {},
): Promise<T | null> {
  for (let retryMs = FIRST_RETRY_MS; !over.aborted; retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)) {
    try {
      return await work();
    } catch (error) {
      onFailure(error);
    }
    await pauseFor(retryMs, over);
  }
  return null;
}

/** How long the call of a run waits for a database that went away. Below the age at which rules and keys in memory do not count any more. */
const MAX_AWAY_MS = 8000;

/**
 * Again while the database does not answer, for some seconds. Rejects with the last error after that, or when `over` aborts.
 * `failure`: of an attempt that was made already.
 */
export async function retryWhileAway<T>(
  work: () => Promise<T>,
  over: AbortSignal,
  failure?: unknown,
): Promise<T> {
  if (failure !== undefined && !isAway(failure)) throw failure;
  const deadlineMs = performance.now() + MAX_AWAY_MS;
  for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)) {
    try {
      return await work();
    } catch (error) {
      if (over.aborted || !isAway(error) || performance.now() + retryMs > deadlineMs) throw error;
    }
    await pauseFor(retryMs, over);
  }
}

function isAway(error: unknown): boolean {
  return isDatabaseUnavailable(error) || (error instanceof AppError && error.code === "database_unavailable");
}

/** Ends early when `over` aborts. */
export async function pauseFor(ms: number, over: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: over, ref: false }).catch(() => {});
}
