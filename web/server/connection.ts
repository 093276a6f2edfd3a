/** Tracks whether the server is reachable, based on every request. While it is not, /health is polled. */
import { signal } from "@preact/signals";

/** This page's address without its last segment: a proxy may serve the console under a path. */
export const SERVER_URL = new URL(".", location.href.split(/[?#]/)[0]).href.replace(/\/$/, "");

export const isAway = signal(false);
/** Changes when the server is reachable again: data read before may be stale. */
export const returns = signal(0);

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 5000;
const MAX_PROBE_MS = 5000;
const GATEWAY_STATUSES: readonly number[] = [502, 503, 504];

let probing: Promise<void> | null = null;

/**
 * Returns whether the response comes from the server. A proxy in front of an unreachable server responds itself, but
 * not with JSON.
 */
export function isAnswered({ status, headers }: Response): boolean {
  return !GATEWAY_STATUSES.includes(status) || /[/+]json\b/.test(headers.get("content-type") ?? "");
}

/** Call it after a request without a response. Resolves when the server is reachable, possibly at once. */
export function waitForServer(): Promise<void> {
  probing ??= probeUntilAnswered().finally(() => {
    probing = null;
  });
  return probing;
}

async function probeUntilAnswered(): Promise<void> {
  for (let waitMs = FIRST_WAIT_MS; !(await probe()); waitMs = Math.min(MAX_WAIT_MS, waitMs * 2)) {
    isAway.value = true;
    await pause(waitMs);
  }
  if (!isAway.value) return;
  isAway.value = false;
  returns.value += 1;
}

async function probe(): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(MAX_PROBE_MS);
    return isAnswered(await fetch(`${SERVER_URL}/health`, { cache: "no-store", signal }));
  } catch {
    return false;
  }
}

/** Ends early when the browser is online again. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
  });
}
