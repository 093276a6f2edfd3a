import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors.ts";
import { isDatabaseUnavailable } from "./pool.ts";

const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2000;

/** Retries with growing pauses of up to 2 s. Returns null if `over` aborts first. */
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

/**
 * Maximum time for which a run's call waits for an unavailable database. Shorter than the age at which cached rules
 * and keys become invalid.
 */
const MAX_AWAY_MS = 8000;

/**
 * Retries for some seconds while the database is unreachable. After that, or when `over` aborts, rejects with the
 * last error. `failure` is the error from an earlier attempt.
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

export async function pauseFor(ms: number, over: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: over, ref: false }).catch(() => {});
}
