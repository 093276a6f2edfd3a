import type { PageRequest } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import type { ModuleType } from "#sdk";
import type { ModuleFilter } from "./model.ts";

export interface ModuleRow {
  position: number;
  id: string;
  type: ModuleType;
  name: string;
  description: string;
  version: string | null;
  isBuiltin: boolean;
  enabled: boolean;
  missing: boolean;
  error: string | null;
  hash: string;
  source: string;
  /** True if an earlier version of the module's files generated the tools of its services. */
  definitionsDue: boolean;
  createdAt: Date;
}

export async function listModuleRows(
  db: Db,
  filter: ModuleFilter,
  page: PageRequest<number>,
): Promise<ModuleRow[]> {
  const { type = null, isBuiltin = null, enabled = null, missing = null, query = null } = filter;
  return db<ModuleRow[]>`
    select ${columns(db)} from modules
    where (${page.from}::bigint is null or position < ${page.from})
      and (${type}::text is null or type = ${type})
      and (${isBuiltin}::boolean is null or is_builtin = ${isBuiltin})
      and (${enabled}::boolean is null or enabled = ${enabled})
      and (${missing}::boolean is null or missing = ${missing})
      and (${query}::text is null
        or position(lower(${query}) in lower(concat_ws(' ', id, name, description))) > 0)
    order by position desc limit ${page.limit}`;
}

export async function findModuleRow(db: Db, id: string): Promise<ModuleRow | null> {
  const [row] = await db<ModuleRow[]>`select ${columns(db)} from modules where id = ${id}`;
  return row ?? null;
}

export async function listEnabledRows(db: Db): Promise<ModuleRow[]> {
  return db<ModuleRow[]>`select ${columns(db)} from modules where enabled and not missing order by position`;
}

export async function listAllRows(db: Db): Promise<ModuleRow[]> {
  return db<ModuleRow[]>`select ${columns(db)} from modules order by position`;
}

export interface RegisteredRow
  extends Pick<
    ModuleRow,
    "id" | "type" | "name" | "description" | "version" | "isBuiltin" | "hash" | "source"
  > {
  isDescribed: boolean;
  error: string | null;
  /** Enables a newly inserted row. An environment is enabled only if no other environment is. */
  enabledAtFirst: boolean;
}

/**
 * Inserts or updates a module's row. Existing flags are kept, but a module whose type or origin (bundled or custom)
 * changed under the same id becomes disabled.
 */
export async function registerModuleRow(db: Db, row: RegisteredRow): Promise<void> {
  const described = row.isDescribed;
  await db`
    insert into modules as stored (id, type, name, description, version, is_builtin, enabled, error, hash, source)
    values (${row.id}, ${row.type}, ${row.name}, ${row.description}, ${row.version}, ${row.isBuiltin},
      ${row.enabledAtFirst} and (${row.type} <> 'environment'
        or not exists (select from modules where type = 'environment' and enabled)),
      ${row.error}, ${row.hash}, ${row.source})
    on conflict (id) do update set is_builtin = excluded.is_builtin,
      type = case when ${described} then excluded.type else stored.type end,
      name = case when ${described} then excluded.name else stored.name end,
      description = case when ${described} then excluded.description else stored.description end,
      version = case when ${described} then excluded.version else stored.version end,
      hash = case when ${described} then excluded.hash else stored.hash end,
      source = case when ${described} then excluded.source else stored.source end,
      enabled = stored.enabled and (stored.type = excluded.type or not ${described})
        and (excluded.is_builtin or not stored.is_builtin),
      definitions_due = stored.definitions_due or (${described} and not excluded.is_builtin
        and stored.type = 'adapter' and stored.hash <> excluded.hash),
      missing = false, error = excluded.error`;
}

export async function setDefinitionsDue(db: Db, id: string): Promise<void> {
  await db`update modules set definitions_due = true where id = ${id} and type = 'adapter'`;
}

export async function clearDefinitionsDue(db: Db, id: string): Promise<void> {
  await db`update modules set definitions_due = false where id = ${id} and definitions_due`;
}

export async function markMissingRows(db: Db, presentIds: string[]): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    update modules set missing = true where id <> all(${presentIds}) and not missing returning id`;
  return rows.map((row) => row.id);
}

export async function setModuleError(db: Db, id: string, error: string | null): Promise<void> {
  await db`update modules set error = ${error} where id = ${id} and error is distinct from ${error}`;
}

export async function setModuleEnabled(db: Db, id: string, enabled: boolean): Promise<void> {
  await db`update modules set enabled = ${enabled}, error = null where id = ${id}`;
}

/**
 * Call before `setModuleEnabled` for an environment, in the same transaction: only one environment may be enabled.
 */
export async function disableOtherEnvironments(db: Db, id: string): Promise<void> {
  await db`update modules set enabled = false where type = 'environment' and enabled and id <> ${id}`;
}

export async function deleteModuleRow(db: Db, id: string): Promise<void> {
  await db`delete from modules where id = ${id} and not is_builtin`;
}

function columns(db: Db) {
  return db`position, id, type, name, description, version, is_builtin as "isBuiltin", enabled, missing, error, hash,
    source, definitions_due as "definitionsDue", created_at as "createdAt"`;
}
