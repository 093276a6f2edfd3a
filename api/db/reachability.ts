/** Checks the database every second on a dedicated connection, so that requests fail at once instead of hanging. */
import { setTimeout as sleep } from "node:timers/promises";
import { createPool, type Db, isDatabaseUnavailable, type Pool } from "./pool.ts";

export interface Reachability extends AsyncDisposable {
  readonly reachable: boolean;
}

export interface ReachabilityOptions {
  /** How long to wait for an unreachable database at startup. Default 10,000. */
  waitMs?: number;
  onWait?: (error: unknown, waitMs: number) => void;
  signal?: AbortSignal;
}

const DEFAULT_WAIT_MS = 10_000;
const RETRY_MS = 200;
const PING_INTERVAL_MS = 1000;
const PING_INTERVAL_WHILE_DOWN_MS = 250;
const PING_TIMEOUT_MS = 2000;

/**
 * Rejects if processes cannot be written; waits while others lock them. Changes nothing, but takes the lock that a
 * write needs (ROW EXCLUSIVE), which fails on a read-only database. The sort has too little memory for 200 KiB, so
 * Postgres writes a temporary file, which fails on a full disk. Takes one round trip: the statements form one
 * transaction.
 */
export async function probeWriting(db: Db): Promise<void> {
  await db.unsafe(`
    set local work_mem = '64kB';
    select max(x) from (
      select repeat(md5(n::text), 32) as x from generate_series(1, 200) n order by md5(n::text) offset 0
    ) sorted;
    update processes set priority = priority where false`);
}

/** Resolves when the database responds. Throws the driver's error if it does not respond in time. */
export async function watchDatabase(
  databaseUrl: string,
  options: ReachabilityOptions = {},
): Promise<Reachability> {
  const pool = createPool(databaseUrl, {
    maxConnections: 1,
    applicationName: "cyrnel watch",
    permanent: true,
    timings: { statementTimeoutMs: PING_TIMEOUT_MS },
  });
  const waitMs = options.waitMs ?? DEFAULT_WAIT_MS;
  const deadline = Date.now() + waitMs;
  try {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await pool`select 1`;
        break;
      } catch (error) {
        if (!isDatabaseUnavailable(error) || Date.now() > deadline) throw error;
        if (attempt === 1) options.onWait?.(error, waitMs);
      }
      await sleep(RETRY_MS, undefined, options.signal ? { signal: options.signal } : {});
    }
  } catch (error) {
    await pool.end({ timeout: 1 });
    throw error;
  }
  return watchPool(pool, async () => {
    await pool`select 1`;
  });
}

/**
 * Checks repeatedly, one query at a time; a hanging query counts as unreachable until it settles. Disposing ends the
 * pool.
 */
export function watchPool(pool: Pool, ask: () => Promise<void>): Reachability {
  const stopping = new AbortController();
  const { signal } = stopping;
  const untilStopped = new Promise<boolean>((resolve) =>
    signal.addEventListener("abort", () => resolve(false), { once: true }),
  );

  async function answers(): Promise<boolean> {
    try {
      await ask();
      return true;
    } catch {
      return false;
    }
  }

  async function askOn(): Promise<void> {
    while (!signal.aborted) {
      const interval = watch.reachable ? PING_INTERVAL_MS : PING_INTERVAL_WHILE_DOWN_MS;
      await sleep(interval, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      const asking = answers();
      const late = sleep(PING_TIMEOUT_MS, false, { signal }).catch(() => false);
      watch.reachable = await Promise.race([asking, late]);
      if (!watch.reachable) watch.reachable = await Promise.race([asking, untilStopped]);
    }
  }

  const watch = {
    reachable: true,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await pool.end({ timeout: 1 });
      await stopped;
    },
  };
  const stopped = askOn();
  return watch;
}
