import type { PageRequest } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";

export interface RoleRow {
  position: number;
  id: string;
  name: string;
  allow: string[];
  deny: string[];
  packages: string[];
  createdAt: Date;
}

export async function countRoles(db: Db): Promise<number> {
  const [row] = await db<{ count: number }[]>`select count(*)::int as count from roles`;
  return row?.count ?? 0;
}

/** Throws a unique violation if the name is taken. */
export async function insertRole(
  db: Db,
  role: { id: string; name: string; allow: string[]; deny: string[]; packages: string[] },
): Promise<RoleRow> {
  const [row] = await db<RoleRow[]>`
    insert into roles (id, name, allow, deny, packages)
    values (${role.id}, ${role.name}, ${role.allow}, ${role.deny}, ${role.packages})
    returning ${columns(db)}`;
  return row as RoleRow;
}

/** Throws like `insertRole`. */
export async function updateRole(
  db: Db,
  id: string,
  change: Partial<Record<"allow" | "deny" | "packages", string[] | undefined>> & {
    name?: string | undefined;
  },
): Promise<RoleRow | null> {
  const [row] = await db<RoleRow[]>`
    update roles set name = coalesce(${change.name ?? null}, name),
      allow = coalesce(${change.allow ?? null}::text[], allow),
      deny = coalesce(${change.deny ?? null}::text[], deny),
      packages = coalesce(${change.packages ?? null}::text[], packages), updated_at = now()
    where id = ${id} returning ${columns(db)}`;
  return row ?? null;
}

/**
 * Also detaches revoked keys from the role. Throws a foreign key violation if a live key or a policy still uses it.
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

export async function listRoleRows(db: Db, page: PageRequest<number>): Promise<RoleRow[]> {
  return db<RoleRow[]>`
    select ${columns(db)} from roles where (${page.from}::bigint is null or position < ${page.from})
    order by position desc limit ${page.limit}`;
}

export async function readRoles(db: Db): Promise<RoleRow[]> {
  return db<RoleRow[]>`select ${columns(db)} from roles`;
}

function columns(db: Db) {
  return db`position, id, name, allow, deny, packages, created_at as "createdAt"`;
}
