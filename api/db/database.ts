/**
 * Opens the server's database, external or embedded: locks it for this server, migrates it, opens pools and monitors
 * it. The caller closes these in reverse order. An embedded Postgres stops last, and only if no other server has
 * taken it over.
 */

import { randomUUID } from "node:crypto";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../config.ts";
import { keepRunning, startEmbeddedPostgres } from "./embedded.ts";
import { DatabaseRefused, migrate } from "./migrate.ts";
import { createPool, type Db, isDatabaseUnavailable, type Pool } from "./pool.ts";
import { type Reachability, watchDatabase } from "./reachability.ts";
import { acquireServerLock } from "./server-lock.ts";

export interface Database extends AsyncDisposable {
  /** Connection URL with a password, so never log it. */
  readonly url: string;
  readonly pool: Pool;
  /** Pool for heartbeats and readiness checks, which must not queue behind client requests. */
  readonly priorityPool: Pool;
  readonly watch: Reachability;
  readonly embedded: boolean;
}

export interface OpenDatabaseOptions {
  /** Called when another server has taken over the embedded database, so that this server must shut down. */
  onTakenOver: () => void;
  /** Called before a migration, which may take minutes on a large database. */
  onMigrate?: (pending: readonly string[]) => void;
  onStartedAgain?: () => void;
  /**
   * Called when the embedded Postgres keeps failing, so that this server cannot continue. `reason` is a sentence for
   * the operator.
   */
  onGone?: (reason: string) => void;
  onProgress?: (sentence: string) => void;
  lockWaitMs?: number;
  signal?: AbortSignal;
}

const MAX_CONNECTIONS = 15;
/** Closes idle connections opened during a burst. The self-check keeps one in use. */
const IDLE_TIMEOUT_MS = 30_000;
const MAX_PRIORITY_CONNECTIONS = 2;
const PRIORITY_STATEMENT_TIMEOUT_MS = 5000;
/** Time to keep retrying, because a previous server may stop an embedded Postgres after this one found it running. */
const EMBEDDED_RETRY_MS = 15_000;
const RETRY_PAUSE_MS = 100;

/** Throws DatabaseRefused, or an error whose message tells the operator what is wrong. */
export async function openDatabase(
  config: Pick<Config, "databaseUrl" | "dataDirectory"> & Partial<Pick<Config, "timings">>,
  options: OpenDatabaseOptions,
): Promise<Database> {
  await using undo = new AsyncDisposableStack();
  const { url, watch } =
    config.databaseUrl === null
      ? await lockEmbedded(config.dataDirectory, options, undo)
      : { url: config.databaseUrl, watch: undo.use(await watchGiven(config.databaseUrl, options)) };
  if (config.databaseUrl !== null) await requireOwnSessions(url);
  await migrate(url, options.onMigrate);
  const pool = createPool(url, {
    maxConnections: MAX_CONNECTIONS,
    applicationName: "cyrnel",
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    ...(config.timings && { timings: config.timings }),
  });
  undo.defer(() => pool.end({ timeout: 5 }));
  const priorityPool = createPool(url, {
    maxConnections: MAX_PRIORITY_CONNECTIONS,
    applicationName: "cyrnel priority",
    timings: { ...config.timings, statementTimeoutMs: PRIORITY_STATEMENT_TIMEOUT_MS },
  });
  undo.defer(() => priorityPool.end({ timeout: 5 }));
  const close = undo.move();
  return {
    url,
    pool,
    priorityPool,
    embedded: config.databaseUrl === null,
    watch,
    [Symbol.asyncDispose]: () => close.disposeAsync(),
  };
}

async function watchGiven(
  databaseUrl: string,
  { lockWaitMs, signal, onProgress }: OpenDatabaseOptions,
): Promise<Reachability> {
  try {
    return await watchDatabase(databaseUrl, {
      onWait: (error, waitMs) =>
        onProgress?.(
          `${describePlace(databaseUrl)} does not answer (${reasonOf(error)}); waiting for it, ${waitMs / 1000} s at most`,
        ),
      ...(lockWaitMs === undefined ? {} : { waitMs: lockWaitMs }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    throw new Error(describeUnreachable(databaseUrl, error), { cause: error });
  }
}

function describePlace(databaseUrl: string): string {
  const { hostname, port } = new URL(databaseUrl);
  return `The database at ${hostname}:${port || 5432}`;
}

function reasonOf(error: unknown): string {
  const { code, message } = error as Error & { code?: string };
  return code === undefined ? message : `${code}: ${message}`;
}

function describeUnreachable(databaseUrl: string, error: unknown): string {
  const { message } = error as Error;
  const place = describePlace(databaseUrl);
  if (/unsupported startup parameter: statement_timeout/.test(message)) {
    return `${place} is behind a PgBouncer that refuses the limit of a statement. Set ignore_startup_parameters = statement_timeout and pool_mode = session there (docs/operations.md).`;
  }
  return `${place} cannot be reached (${reasonOf(error)}). Check DATABASE_URL and that Postgres is running.`;
}

async function lockEmbedded(
  dataDirectory: string,
  options: OpenDatabaseOptions,
  undo: AsyncDisposableStack,
): Promise<{ url: string; watch: Reachability }> {
  const deadline = Date.now() + EMBEDDED_RETRY_MS;
  for (;;) {
    try {
      const postgres = await startEmbeddedPostgres({
        directory: path.join(dataDirectory, "postgres"),
        ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
      });
      const lock = await acquireServerLock(postgres.url, { ...lockOptions(options), waitForDatabase: false });
      // Only the holder of the lock may stop Postgres; without the lock, another server owns it.
      undo.use(postgres);
      const watch = undo.use(lock);
      undo.use(keepRunning(postgres, watch, options));
      return { url: postgres.url, watch };
    } catch (error) {
      if (!isDatabaseUnavailable(error) || Date.now() > deadline) throw error;
    }
    await sleep(RETRY_PAUSE_MS);
  }
}

function lockOptions({ onTakenOver, lockWaitMs, signal }: OpenDatabaseOptions) {
  return {
    onTakenOver,
    ...(lockWaitMs === undefined ? {} : { waitMs: lockWaitMs }),
    ...(signal === undefined ? {} : { signal }),
  };
}

/**
 * Throws DatabaseRefused, naming the settings to change, if a pooler lends sessions per transaction. Such a pooler
 * seems to work at first, but prepared statements, notices and advisory locks then belong to another client.
 */
async function requireOwnSessions(databaseUrl: string): Promise<void> {
  const open = () => createPool(databaseUrl, { maxConnections: 1, applicationName: "cyrnel session check" });
  const [one, other] = [open(), open()];
  try {
    await refuseSharedSession(one, other);
  } finally {
    await Promise.all([one.end({ timeout: 1 }), other.end({ timeout: 1 })]);
  }
}

/** Compares two connections as a client sees them: a setting made in one session must not appear in the other. */
export async function refuseSharedSession(one: Db, other: Db): Promise<void> {
  const mark = randomUUID();
  await other`select 1`;
  await one`select set_config('cyrnel.session', ${mark}, false)`;
  const read = async (db: Db) => {
    const [row] = await db<{ mark: string | null }[]>`select current_setting('cyrnel.session', true) as mark`;
    return row?.mark;
  };
  const seenByOther = await read(other);
  if (seenByOther !== mark && (await read(one)) === mark) return;
  throw new DatabaseRefused(
    "The database is behind a pooler that gives a session to each transaction; Cyrnel needs one for each connection. " +
      "Set pool_mode = session there, or point DATABASE_URL at Postgres itself (docs/operations.md).",
  );
}
