/** Doing something until the database does it. */
import { setTimeout as sleep } from "node:timers/promises";

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

/** Ends early when `over` aborts. */
export async function pauseFor(ms: number, over: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: over, ref: false }).catch(() => {});
}
