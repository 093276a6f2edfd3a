/**
 * Whether a connection has a session of its own. A pooler that lends sessions for one transaction at a time works until
 * there is something to do: then prepared statements, notices and advisory locks are those of whoever came before.
 */
import { randomUUID } from "node:crypto";
import { DatabaseRefused } from "./migrate.ts";
import { createPool, type Db } from "./pool.ts";

/** Throws DatabaseRefused, with what to set. */
export async function requireOwnSessions(databaseUrl: string): Promise<void> {
  const open = () => createPool(databaseUrl, { maxConnections: 1, applicationName: "cyrnel session check" });
  const [one, other] = [open(), open()];
  try {
    await refuseSharedSession(one, other);
  } finally {
    await Promise.all([one.end({ timeout: 1 }), other.end({ timeout: 1 })]);
  }
}

/** Two connections, as a client sees them: what one sets for its session the other must not have. */
export async function refuseSharedSession(one: Db, other: Db): Promise<void> {
  const mark = randomUUID();
  // Both are connected before, so that a pooler could lend them the same one.
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
