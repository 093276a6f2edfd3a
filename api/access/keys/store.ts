import type { PageRequest } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";

export interface KeyRow {
  position: number;
  id: string;
  name: string;
  prefix: string;
  scopes: string[];
  roleId: string | null;
  createdAt: Date;
  expiresAt: Date | null;
  lastUsedAt: Date | null;
}

export interface NewKey extends Pick<KeyRow, "id" | "name" | "prefix" | "scopes" | "roleId" | "expiresAt"> {
  /** SHA-256 of the key. */
  hash: Buffer;
}

/** Throws a foreign key violation if the role does not exist. */
export async function insertKey(db: Db, key: NewKey): Promise<KeyRow> {
  const [row] = await db<KeyRow[]>`
    insert into api_keys (id, name, prefix, hash, scopes, role_id, expires_at)
    values (${key.id}, ${key.name}, ${key.prefix}, ${key.hash}, ${[...key.scopes]}, ${key.roleId}, ${key.expiresAt})
    returning ${columns(db)}`;
  return row as KeyRow;
}

export async function countLiveKeys(db: Db): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select count(*)::int as count from api_keys where revoked_at is null`;
  return row?.count ?? 0;
}

export async function listKeyRows(db: Db, page: PageRequest<number>): Promise<KeyRow[]> {
  return db<KeyRow[]>`
    select ${columns(db)} from api_keys
    where revoked_at is null and (${page.from}::bigint is null or position < ${page.from})
    order by position desc limit ${page.limit}`;
}

export async function readLiveKeys(db: Db): Promise<(KeyRow & { hash: Buffer })[]> {
  return db<
    (KeyRow & { hash: Buffer })[]
  >`select ${columns(db)}, hash from api_keys where revoked_at is null`;
}

export async function revokeKey(db: Db, id: string): Promise<boolean> {
  const rows = await db`
    update api_keys set revoked_at = now() where id = ${id} and revoked_at is null returning id`;
  return rows.length === 1;
}

/** Records the use of keys, at most once a minute per key. */
export async function touchKeys(db: Db, ids: readonly string[]): Promise<void> {
  await db`
    update api_keys set last_used_at = now()
    where id = any(${[...ids]}) and (last_used_at is null or last_used_at < now() - interval '1 minute')`;
}

function columns(db: Db) {
  return db`position, id, name, prefix, scopes, role_id as "roleId", created_at as "createdAt",
    expires_at as "expiresAt", last_used_at as "lastUsedAt"`;
}
