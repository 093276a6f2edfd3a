/**
 * A `fetch` that retries: after the `Retry-After` of a 429 or 503, and after a network failure if repeating the
 * request has no further effect. Both are bounded.
 */
import { readRetryAfterMs } from "./errors.ts";

export interface RetryOptions {
  maxRetries?: number;
  /** Longest `Retry-After` to wait for; with a longer one, the response is returned. */
  maxWaitMs?: number;
}

const DEFAULT_MAX_RETRIES = 4;
const DEFAULT_MAX_WAIT_MS = 30_000;
const FIRST_BACKOFF_MS = 200;
const RETRIED_STATUSES: ReadonlySet<number> = new Set([429, 503]);
const REPEATABLE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** A server that returns these statuses has not carried out the request, so any request may be repeated. */
export function createRetryingFetch(
  base: (request: Request) => Promise<Response>,
  options: RetryOptions = {},
): (request: Request) => Promise<Response> {
  const { maxRetries = DEFAULT_MAX_RETRIES, maxWaitMs = DEFAULT_MAX_WAIT_MS } = options;
  return async (request) => {
    for (let attempt = 0; ; attempt++) {
      const isLast = attempt >= maxRetries;
      const waitMs = await tryOnce(base, isLast ? request : request.clone(), attempt, isLast, maxWaitMs);
      if (typeof waitMs !== "number") return waitMs;
      await sleep(waitMs, request.signal);
    }
  };
}

/** Returns the response, or the time to wait before the next attempt. */
async function tryOnce(
  base: (request: Request) => Promise<Response>,
  request: Request,
  attempt: number,
  isLast: boolean,
  maxWaitMs: number,
): Promise<Response | number> {
  let response: Response;
  try {
    response = await base(request);
  } catch (error) {
    if (isLast || request.signal.aborted || !isRepeatable(request)) throw error;
    return Math.min(maxWaitMs, FIRST_BACKOFF_MS * 2 ** attempt);
  }
  if (isLast || !RETRIED_STATUSES.has(response.status)) return response;
  const waitMs = readRetryAfterMs(response.headers.get("retry-after"), Date.now());
  if (waitMs === null || waitMs > maxWaitMs) return response;
  await response.body?.cancel();
  return waitMs;
}

/** Returns true if repeating the request has no further effect. */
function isRepeatable({ method, headers }: Request): boolean {
  return REPEATABLE_METHODS.has(method) || headers.has("idempotency-key");
}

/** Rejects with the signal's reason when it aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
