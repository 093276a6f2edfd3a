/**
 * Migrates the schema at startup with numbered, forward-only SQL files. Waits for an advisory lock, so any number of
 * servers may start at once. Rejects servers and schemas that this version cannot work with.
 */
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { createPool, type Db } from "./pool.ts";

export const MIGRATIONS_DIRECTORY = fileURLToPath(new URL("./migrations", import.meta.url));
const MIGRATIONS_TABLE = "schema_migrations";
const MIGRATION_FILE = /^\d{4}_[a-z0-9_]+\.sql$/;
const MIN_SERVER_VERSION = 150_000;
const CONNECTION = {
  maxConnections: 1,
  connectTimeoutMs: 10_000,
  applicationName: "cyrnel migration",
} as const;
/** Advisory lock key, which must be the same in every version. */
const LOCK_KEY = "7241865325823964";
const LOCK_TIMEOUT_MS = 300_000;
/** SQLSTATEs that are worth a retry: deadlock_detected and lock_not_available. */
const LOCK_TROUBLE = new Set(["40P01", "55P03"]);
const MAX_ATTEMPTS = 5;

export class DatabaseRefused extends Error {
  override readonly name = "DatabaseRefused";
}

/**
 * Checks the server, then applies missing migrations, each in its own transaction: a migration that locked two tables
 * could deadlock with servers of the previous version, which keep running. Calls `onPending` with their names first.
 * Returns the applied names. Throws DatabaseRefused with a sentence for the operator.
 */
export async function migrate(
  databaseUrl: string,
  onPending: (names: readonly string[]) => void = () => {},
): Promise<string[]> {
  let pending: string[];
  const pool = createPool(databaseUrl, CONNECTION);
  try {
    await refuseUnsuitableServer(pool);
    await refuseNewerSchema(pool);
    const before = await listAppliedMigrations(pool);
    pending = (await listMigrations()).filter((name) => !before.includes(name));
    if (before.length > 0 && pending.length > 0) onPending(pending);
  } finally {
    await pool.end({ timeout: 1 });
  }
  const applied: string[] = [];
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (pending.length > 0) await applyPending(databaseUrl, pending, applied);
      return applied;
    } catch (error) {
      const { code, message } = error as Error & { code?: string };
      if (code === undefined || !LOCK_TROUBLE.has(code)) throw error;
      if (attempt < MAX_ATTEMPTS) continue;
      throw new DatabaseRefused(
        `The schema could not be brought up to date in ${MAX_ATTEMPTS} attempts, because other sessions lock its tables: ${message}. ` +
          "No migration was applied in part: start this server again. While it waits, select pid, pg_blocking_pids(pid) from pg_stat_activity where application_name = 'cyrnel migration' names the blocking sessions; end them, or stop the servers of the previous version.",
      );
    }
  }
}

async function applyPending(
  databaseUrl: string,
  pending: readonly string[],
  applied: string[],
): Promise<void> {
  const pool = createPool(databaseUrl, { ...CONNECTION, timings: { statementTimeoutMs: 0 } });
  try {
    for (const name of pending) {
      if (await pool.begin((db) => applyOne(db, name))) applied.push(name);
    }
  } finally {
    await pool.end({ timeout: 1 });
  }
}

/**
 * Returns true if the migration was missing. The lock ends with the transaction, so a lost connection cannot leave a
 * migration running without the lock.
 */
async function applyOne(db: Db, name: string): Promise<boolean> {
  // Set the timeouts here, because poolers may ignore such connection parameters. Building an index may exceed the
  // role's own limit.
  await db.unsafe(`set local lock_timeout = ${LOCK_TIMEOUT_MS}; set local statement_timeout = 0`);
  await db.unsafe(`select pg_advisory_xact_lock(${LOCK_KEY})`);
  const before = await listAppliedMigrations(db);
  if (before.includes(name)) return false;
  const last = before.at(-1);
  if (last !== undefined && last > name) {
    throw new DatabaseRefused(
      `The database has had the migration ${last} but not ${name}, which comes before it. Restore it from a backup.`,
    );
  }
  if (before.length === 0) {
    await db.unsafe(
      `create table if not exists ${MIGRATIONS_TABLE} (id serial primary key, name varchar(255) not null, run_on timestamp not null)`,
    );
  }
  await db.unsafe(await readFile(path.join(MIGRATIONS_DIRECTORY, `${name}.sql`), "utf8"));
  // With wal_level minimal, a crash resets a sequence that was created and first used in the same transaction.
  await db`select setval(pg_get_serial_sequence(${MIGRATIONS_TABLE}, 'id'),
    (select coalesce(max(id), 0) + 1 from ${db(MIGRATIONS_TABLE)}), false)`;
  await db`insert into ${db(MIGRATIONS_TABLE)} (name, run_on) values (${name}, now())`;
  return true;
}

export async function listMigrations(): Promise<string[]> {
  const files = await readdir(MIGRATIONS_DIRECTORY);
  return files
    .filter((file) => MIGRATION_FILE.test(file))
    .map((file) => file.slice(0, -".sql".length))
    .sort();
}

export async function listAppliedMigrations(db: Db): Promise<string[]> {
  const [table] = await db<
    { found: boolean }[]
  >`select to_regclass(${MIGRATIONS_TABLE}) is not null as found`;
  if (!table?.found) return [];
  const rows = await db<{ name: string }[]>`select name from ${db(MIGRATIONS_TABLE)} order by name`;
  return rows.map((row) => row.name);
}

export interface ServerFacts {
  number: number;
  name: string;
  replica: boolean;
  readOnly: boolean;
}

async function refuseUnsuitableServer(db: Db): Promise<void> {
  const [server] = await db<ServerFacts[]>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as name,
      pg_is_in_recovery() as replica, current_setting('default_transaction_read_only')::boolean as "readOnly"`;
  const reason = server ? describeUnsuitable(server) : "The database did not say which version it is.";
  if (reason !== null) throw new DatabaseRefused(reason);
}

export function describeUnsuitable(server: ServerFacts): string | null {
  if (server.number < MIN_SERVER_VERSION) {
    return (
      `The database is Postgres ${server.name}; Cyrnel needs Postgres 15 or newer. ` +
      "Upgrade it, or point DATABASE_URL at a newer server."
    );
  }
  if (server.replica) {
    return "The database is a read-only standby (in recovery). Point DATABASE_URL at the primary server.";
  }
  if (server.readOnly) {
    return "The database is read-only (default_transaction_read_only is on). Turn that off for this database and user.";
  }
  return null;
}

async function refuseNewerSchema(db: Db): Promise<void> {
  const known = await listMigrations();
  const applied = await listAppliedMigrations(db);
  const unknown = applied.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  throw new DatabaseRefused(
    `The database is newer than this program: it is at migration ${applied.at(-1)}, this program knows up to ${known.at(-1) ?? "none"}. ` +
      "Start the newer version of Cyrnel, or restore the database from before the upgrade.",
  );
}
