/**
 * Keeps what is held in memory in line with the database: loads a kind anew when its revision has changed. Told by
 * NOTIFY, and asks every second in case a notice was lost; says when the copy is too old to be relied on.
 */
import { performance } from "node:perf_hooks";
import { z } from "zod";
import { closeInTime, type Listening, listenFor } from "./notices.ts";
import type { Db, Pool } from "./pool.ts";

export type RevisionKind = "keys" | "roles" | "policies" | "packages";

export interface RevisionWatch extends AsyncDisposable {
  /** Before `start`: `load` replaces what is held of a kind. Never runs twice at once. */
  follow(kind: RevisionKind, load: (db: Db) => Promise<void>): void;
  /** Loads everything. Rejects when the database does. */
  start(): Promise<void>;
  /**
   * Resolves when every change that was committed before the call is in memory. Calls that come while another looks
   * share one look after it: any number of them is one query at a time.
   */
  refresh(): Promise<void>;
  /** Whether the copy was compared with the database in the last `maxStaleMs`. */
  isFresh(): boolean;
}

export interface RevisionWatchOptions {
  log: { warn(fields: object, message: string): void };
  /** Default 1000. */
  pollMs?: number;
  /** Default 10 000. */
  maxStaleMs?: number;
}

const CHANNEL = "cyrnel_revisions";
const DEFAULT_POLL_MS = 1000;
const DEFAULT_MAX_STALE_MS = 10_000;

/**
 * First in every transaction that changes a kind: changes follow each other from here on, and statements after it see
 * all that came before. First, because the trigger that counts the change takes the same lock: taken after other locks
 * it could wait for a transaction that waits for those. Of several kinds in the order of the type above.
 */
export async function lockRevision(db: Db, kind: RevisionKind): Promise<void> {
  await db`select from revisions where kind = ${kind} for update`;
}

export function createRevisionWatch(pool: Pool, options: RevisionWatchOptions): RevisionWatch {
  const { log, pollMs = DEFAULT_POLL_MS, maxStaleMs = DEFAULT_MAX_STALE_MS } = options;
  const loaders = new Map<RevisionKind, (db: Db) => Promise<void>>();
  const loaded = new Map<RevisionKind, number>();
  let confirmedAtMs = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let listening: Listening | null = null;
  let isClosed = false;
  /** Said once per outage, not every second. */
  let isFailing = false;

  async function look(): Promise<void> {
    const askedAtMs = performance.now();
    const rows = await pool<{ kind: RevisionKind; revision: number }[]>`select kind, revision from revisions`;
    for (const { kind, revision } of rows) {
      if (loaded.get(kind) === revision) continue;
      await loaders.get(kind)?.(pool);
      // Read before the rows were: a change in between loads them once more, and never too few times.
      loaded.set(kind, revision);
    }
    confirmedAtMs = askedAtMs;
  }

  function run(): Promise<void> {
    running = look().finally(() => {
      running = null;
    });
    return running;
  }

  function refresh(): Promise<void> {
    if (running === null) return run();
    next ??= running
      .catch(() => {})
      .then(() => {
        next = null;
        return run();
      });
    return next;
  }

  function refreshInBackground(): void {
    if (isClosed) return;
    refresh().then(
      () => {
        isFailing = false;
      },
      (error) => {
        if (!isFailing)
          log.warn({ err: error }, "keys, roles, policies and packages cannot be compared with the database");
        isFailing = true;
      },
    );
  }

  function poll(): void {
    timer = setTimeout(() => {
      if (performance.now() - confirmedAtMs >= pollMs) refreshInBackground();
      poll();
    }, pollMs).unref();
  }

  return {
    follow(kind, load) {
      loaders.set(kind, load);
    },
    async start() {
      await refresh();
      poll();
      // Without notices (a pooler between, a broken connection) the second's look remains.
      listening = listenFor(pool, {
        channel: CHANNEL,
        schema: z.unknown(),
        onNotice: refreshInBackground,
        onListening: refreshInBackground,
      });
      listening.ready.catch((error) => {
        if (!isClosed) log.warn({ err: error }, "changes of other servers are noticed by looking only");
      });
    },
    refresh,
    isFresh: () => performance.now() - confirmedAtMs < maxStaleMs,
    async [Symbol.asyncDispose]() {
      isClosed = true;
      clearTimeout(timer);
      await listening?.[Symbol.asyncDispose]();
      await closeInTime(next ?? running);
    },
  };
}
