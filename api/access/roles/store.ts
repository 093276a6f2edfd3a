/** The statements on `roles`, one function each. */
import type { Db } from "#api/db/pool.ts";
import { lockRevision } from "#api/db/revisions.ts";

export interface RoleRow {
  position: number;
  id: string;
  name: string;
  allow: string[];
  deny: string[];
  createdAt: Date;
}

/** First in a transaction that changes roles: see `lockRevision`. */
export function lockRoles(db: Db): Promise<void> {
  return lockRevision(db, "roles");
}

/** First in the transaction of `deleteRole`, which changes keys too. */
export async function lockKeysAndRoles(db: Db): Promise<void> {
  await lockRevision(db, "keys");
  await lockRevision(db, "roles");
}

export async function countRoles(db: Db): Promise<number> {
  const [row] = await db<{ count: number }[]>`select count(*)::int as count from roles`;
  return row?.count ?? 0;
}

/** Throws a unique violation for a name in use: see `isNameTaken`. */
export async function insertRole(
  db: Db,
  role: { id: string; name: string; allow: string[]; deny: string[] },
): Promise<RoleRow> {
  const [row] = await db<RoleRow[]>`
    insert into roles (id, name, allow, deny) values (${role.id}, ${role.name}, ${role.allow}, ${role.deny})
    returning ${columns(db)}`;
  return row as RoleRow;
}

/** Changes what is given. Null when there is no such role. Throws as `insertRole` does. */
export async function updateRole(
  db: Db,
  id: string,
  change: { name?: string | undefined; allow?: string[] | undefined; deny?: string[] | undefined },
): Promise<RoleRow | null> {
  const [row] = await db<RoleRow[]>`
    update roles set name = coalesce(${change.name ?? null}, name),
      allow = coalesce(${change.allow ?? null}::text[], allow),
      deny = coalesce(${change.deny ?? null}::text[], deny), updated_at = now()
    where id = ${id} returning ${columns(db)}`;
  return row ?? null;
}

/**
 * False when there is no such role. Revoked keys let go of it, in the same statement; throws a foreign key violation
 * while a live key or a policy names it: see `isInUse`.
 */
export async function deleteRole(db: Db, id: string): Promise<boolean> {
  const rows = await db`
    with freed as (
      update api_keys set role_id = null where role_id = ${id} and revoked_at is not null
    )
    delete from roles where id = ${id} returning id`;
  return rows.length === 1;
}

export async function findRole(db: Db, id: string): Promise<RoleRow | null> {
  const [row] = await db<RoleRow[]>`select ${columns(db)} from roles where id = ${id}`;
  return row ?? null;
}

/** Newest first, before a position (null is the start). */
export async function listRoleRows(
  db: Db,
  page: { before: number | null; limit: number },
): Promise<RoleRow[]> {
  return db<RoleRow[]>`
    select ${columns(db)} from roles where (${page.before}::bigint is null or position < ${page.before})
    order by position desc limit ${page.limit}`;
}

export async function readRoles(db: Db): Promise<RoleRow[]> {
  return db<RoleRow[]>`select ${columns(db)} from roles`;
}

export function isNameTaken(error: unknown): boolean {
  return hasCode(error, "23505");
}

export function isInUse(error: unknown): boolean {
  return hasCode(error, "23503");
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

function columns(db: Db) {
  return db`position, id, name, allow, deny, created_at as "createdAt"`;
}
