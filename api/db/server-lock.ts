/**
 * Allows one server per embedded database, because the server that started it also stops it. Uses a session advisory
 * lock on a dedicated connection, which also checks whether the database responds.
 */
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseRefused } from "./migrate.ts";
import { createPool, isDatabaseUnavailable, type Pool } from "./pool.ts";
import { type Reachability, watchPool } from "./reachability.ts";

export class DatabaseInUse extends DatabaseRefused {}

export interface ServerLockOptions {
  /** How long to wait for a previous server to shut down. Default 10,000. */
  waitMs?: number;
  /** Also waits, equally long, for a database that is not reachable yet. Default true. */
  waitForDatabase?: boolean;
  signal?: AbortSignal;
  /** Called when the lock was lost with the connection and another server took it: shut down. */
  onTakenOver: () => void;
}

/** First half of the advisory lock's 64-bit key, "Cyrn"; the second is "serv". */
const LOCK_CLASS = 0x4379726e;
const LOCK_OBJECT = 0x73657276;
const DEFAULT_WAIT_MS = 10_000;
const RETRY_MS = 200;

/**
 * Throws DatabaseRefused if another server still has the lock after `waitMs`, or the driver's error if the database
 * could not be reached in that time.
 */
export async function acquireServerLock(
  databaseUrl: string,
  options: ServerLockOptions,
): Promise<Reachability> {
  let connectionEnded = false;
  const pool = createPool(databaseUrl, {
    maxConnections: 1,
    applicationName: `cyrnel server ${hostname().slice(0, 30)}:${process.pid}`,
    permanent: true,
    onClose: () => {
      connectionEnded = true;
    },
  });
  try {
    await waitForLock(pool, options);
  } catch (error) {
    await pool.end({ timeout: 1 });
    throw error;
  }
  connectionEnded = false;

  return watchPool(pool, async () => {
    await pool`select 1`;
    if (!connectionEnded) return;
    connectionEnded = false;
    if (!(await tryLock(pool))) options.onTakenOver();
  });
}

async function waitForLock(pool: Pool, options: ServerLockOptions): Promise<void> {
  const deadline = Date.now() + (options.waitMs ?? DEFAULT_WAIT_MS);
  for (;;) {
    try {
      if (await tryLock(pool)) return;
      if (Date.now() > deadline) throw new DatabaseInUse(await describeHolder(pool));
    } catch (error) {
      const isWorthWaiting = isDatabaseUnavailable(error) && (options.waitForDatabase ?? true);
      if (!isWorthWaiting || Date.now() > deadline) throw error;
    }
    await sleep(RETRY_MS, undefined, options.signal ? { signal: options.signal } : {});
  }
}

async function tryLock(pool: Pool): Promise<boolean> {
  const [row] = await pool<
    { held: boolean }[]
  >`select pg_try_advisory_lock(${LOCK_CLASS}, ${LOCK_OBJECT}) as held`;
  return row?.held === true;
}

async function describeHolder(pool: Pool): Promise<string> {
  const [holder] = await pool<{ name: string; since: Date }[]>`
    select activity.application_name as name, activity.backend_start as since
    from pg_locks locks join pg_stat_activity activity using (pid)
    where locks.locktype = 'advisory' and locks.classid = ${LOCK_CLASS}::int::oid and locks.objid = ${LOCK_OBJECT}::int::oid
      and locks.objsubid = 2 and locks.granted and activity.datname = current_database()`;
  const who = holder
    ? ` (${holder.name.replace(/^cyrnel server /, "")}, since ${holder.since.toISOString()})`
    : "";
  return (
    `Another Cyrnel server already uses this database${who}. An embedded database serves one server: ` +
    "stop the other one, give this one its own CYRNEL_DATA_DIR, or let both use one Postgres by DATABASE_URL."
  );
}
