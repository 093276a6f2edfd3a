/** The roles of the database, compiled, and loaded anew when they change. */
import type { Db } from "#api/db/pool.ts";
import type { RevisionWatch } from "#api/db/revisions.ts";
import { compileRole, type Visibility } from "#runner/tool-visibility.ts";
import { readRoles } from "./store.ts";

export { compileRole, type Visibility };

export interface RoleDirectory {
  /** Null for a role that does not exist (any more): nothing is visible to it. */
  find(id: string): Visibility | null;
}

export function createRoleDirectory(db: Db, watch: RevisionWatch): RoleDirectory {
  let roles = new Map<string, Visibility>();
  watch.follow("roles", async () => {
    roles = new Map((await readRoles(db)).map((row) => [row.id, compileRole(row)]));
  });
  return { find: (id) => roles.get(id) ?? null };
}
