import type { PageRequest } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import type { JSONSchema } from "#sdk";
import type { ServiceFilter } from "./model.ts";

export interface ServiceRow {
  position: number;
  id: string;
  name: string;
  description: string;
  adapter: string;
  hash: string;
  source: string;
  enabled: boolean;
  stale: boolean;
  error: string | null;
  problems: string[];
  createdAt: Date;
}

export interface ServiceSchemas {
  configSchema: JSONSchema;
  secretsSchema: JSONSchema;
}

export async function listServiceRows(
  db: Db,
  filter: ServiceFilter,
  page: PageRequest<number>,
): Promise<ServiceRow[]> {
  const { enabled = null, stale = null, adapter = null, query = null } = filter;
  return db<ServiceRow[]>`
    select ${columns(db)} from services
    where (${page.from}::bigint is null or position < ${page.from})
      and (${enabled}::boolean is null or enabled = ${enabled})
      and (${stale}::boolean is null or stale = ${stale})
      and (${adapter}::text is null or adapter = ${adapter})
      and (${query}::text is null
        or position(lower(${query}) in lower(concat_ws(' ', id, name, description))) > 0)
    order by position desc limit ${page.limit}`;
}

export async function findServiceRow(db: Db, id: string): Promise<ServiceRow | null> {
  const [row] = await db<ServiceRow[]>`select ${columns(db)} from services where id = ${id}`;
  return row ?? null;
}

export async function findServiceDetails(db: Db, id: string): Promise<(ServiceRow & ServiceSchemas) | null> {
  const [row] = await db<(ServiceRow & ServiceSchemas)[]>`
    select ${columns(db)}, config_schema as "configSchema", secrets_schema as "secretsSchema"
    from services where id = ${id}`;
  return row ?? null;
}

export async function listAllServiceIds(db: Db): Promise<string[]> {
  const rows = await db<{ id: string }[]>`select id from services order by id`;
  return rows.map(({ id }) => id);
}

export async function listServiceIds(
  db: Db,
  adapter: string,
  only: { enabled?: boolean } = {},
): Promise<string[]> {
  const { enabled = null } = only;
  const rows = await db<{ id: string }[]>`
    select id from services
    where adapter = ${adapter} and (${enabled}::boolean is null or enabled = ${enabled}) order by position`;
  return rows.map((row) => row.id);
}

export async function readDefinition(db: Db, id: string): Promise<Buffer | null> {
  const [row] = await db<{ definition: Buffer }[]>`select definition from services where id = ${id}`;
  return row?.definition ?? null;
}

export async function readAdapterDomain(db: Db, id: string): Promise<unknown> {
  const [row] = await db<
    { domain: unknown }[]
  >`select adapter_domain as domain from services where id = ${id}`;
  return row?.domain ?? null;
}

export interface StoredDefinition {
  hash: string;
  packed: Buffer;
}

/** JSON columns are text that the caller has serialized once. */
export interface MadeService {
  name: string;
  description: string;
  adapterDomain: string;
  configSchema: string;
  secretsSchema: string;
  problems: string;
}

export async function insertService(
  db: Db,
  row: MadeService & StoredDefinition & { id: string; adapter: string; source: string },
): Promise<boolean> {
  const inserted = await db`
    insert into services (id, name, description, adapter, hash, source, definition, adapter_domain, config_schema,
      secrets_schema, problems)
    values (${row.id}, ${row.name}, ${row.description}, ${row.adapter}, ${row.hash}, ${row.source}, ${row.packed},
      ${row.adapterDomain}::text::json, ${row.configSchema}::text::json, ${row.secretsSchema}::text::json, ${row.problems}::text::json)
    on conflict (id) do nothing returning id`;
  return inserted.length === 1;
}

/**
 * Writes a regenerated service: it is no longer stale and keeps its flags and settings. A null `definition` keeps the
 * stored one. Returns false if the service was deleted.
 */
export async function replaceService(
  db: Db,
  id: string,
  row: MadeService,
  definition: StoredDefinition | null,
): Promise<boolean> {
  const updated = await db`
    update services set name = ${row.name}, description = ${row.description},
      hash = coalesce(${definition?.hash ?? null}, hash),
      definition = coalesce(${definition?.packed ?? null}::bytea, definition), adapter_domain = ${row.adapterDomain}::text::json,
      config_schema = ${row.configSchema}::text::json, secrets_schema = ${row.secretsSchema}::text::json,
      problems = ${row.problems}::text::json,
      stale = false, error = null
    where id = ${id} returning id`;
  return updated.length === 1;
}

export async function setServiceEnabled(db: Db, id: string, enabled: boolean): Promise<void> {
  await db`
    update services set enabled = ${enabled}, error = case when stale then error else null end where id = ${id}`;
}

export async function setServiceError(db: Db, id: string, error: string | null): Promise<void> {
  await db`update services set error = ${error} where id = ${id} and not stale and error is distinct from ${error}`;
}

export async function markStale(db: Db, id: string, error: string): Promise<void> {
  await db`update services set stale = true, error = ${error} where id = ${id}`;
}

export async function deleteService(db: Db, id: string): Promise<void> {
  await db`delete from services where id = ${id}`;
}

function columns(db: Db) {
  return db`position, id, name, description, adapter, hash, source, enabled, stale, error, problems, created_at as "createdAt"`;
}
