/** Tracks whether the server answers, from every request. While it does not, /health is polled. */
import { signal } from "@preact/signals";

/** The address of this page without its last part: a proxy may serve it under a path. */
export const SERVER_URL = new URL(".", location.href.split(/[?#]/)[0]).href.replace(/\/$/, "");

export const isAway = signal(false);
/** Changes when the server answers after it was away: what was read before may be old. */
export const returns = signal(0);

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 5000;
const MAX_PROBE_MS = 5000;
const GATEWAY_STATUSES: readonly number[] = [502, 503, 504];

let probing: Promise<void> | null = null;

/** A proxy whose server is away answers itself, and not in JSON. */
export function isAnswered({ status, headers }: Response): boolean {
  return !GATEWAY_STATUSES.includes(status) || /[/+]json\b/.test(headers.get("content-type") ?? "");
}

/** For a request that got no answer. Resolves when the server answers again; at once if it does. */
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
