/**
 * Keeps in-memory copies up to date: reloads a kind when its revision changes in the database. NOTIFY reports
 * changes, and a poll every second covers lost notices. Reports when a copy is too old to rely on.
 */
import { performance } from "node:perf_hooks";
import { z } from "zod";
import { closeInTime, type Listening, listenFor } from "./notices.ts";
import type { Db, Pool } from "./pool.ts";

export type RevisionKind = "keys" | "roles" | "policies" | "packages";

export interface RevisionWatch extends AsyncDisposable {
  /** Call before `start`. `load` replaces the copy of a kind; two loads of a kind never overlap. */
  follow(kind: RevisionKind, load: (db: Db) => Promise<void>): void;
  start(): Promise<void>;
  /** Resolves when every change committed before the call is in memory. Concurrent calls share one query. */
  refresh(): Promise<void>;
  /** Returns whether the copy was compared with the database in the last `maxStaleMs`. */
  isFresh(): boolean;
}

export interface RevisionWatchOptions {
  log: { warn(fields: object, message: string): void };
  pollMs?: number;
  maxStaleMs?: number;
}

const CHANNEL = "cyrnel_revisions";
const DEFAULT_POLL_MS = 1000;
const DEFAULT_MAX_STALE_MS = 10_000;

/**
 * Call first in every transaction that changes a kind: other changes then wait, and later statements see all earlier
 * changes. The trigger that counts changes takes the same lock, so taking it after other locks could deadlock. Lock
 * several kinds in the order of the type above.
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
  let isFailing = false;

  async function look(): Promise<void> {
    const askedAtMs = performance.now();
    const rows = await pool<{ kind: RevisionKind; revision: number }[]>`select kind, revision from revisions`;
    for (const { kind, revision } of rows) {
      if (loaded.get(kind) === revision) continue;
      await loaders.get(kind)?.(pool);
      // Read the revision before the rows: a change in between then causes an extra load, never a missing one.
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
      listening = listenFor(pool, {
        channel: CHANNEL,
        schema: z.unknown(),
        onNotice: refreshInBackground,
        onListening: refreshInBackground,
      });
      listening.ready.catch((error) => {
        if (!isClosed)
          log.warn({ err: error }, "notices of other servers do not arrive; polling for their changes");
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
