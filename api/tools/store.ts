/** The statements on `tools`, one function each. Calls have theirs in targets.ts, the search in search/store.ts. */
import type { PageRequest } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import type { JSONSchema } from "#sdk";
import type { ToolPath } from "./gate.ts";

/** A tool as a listing shows it. */
export interface ToolRow {
  serviceId: string;
  id: string;
  name: string;
  description: string;
  enabled: boolean;
  /** Its own flag, and everything it depends on. */
  effectivelyEnabled: boolean;
  destructive: boolean;
  /** Where it stands in the unranked listing. */
  servicePosition: number;
  position: number;
}

export interface ToolFilter {
  serviceId?: string | undefined;
  enabled?: boolean | undefined;
  /** Only tools that can be called. */
  effective?: boolean | undefined;
}

/** Where a page of the unranked listing ends. */
export interface ToolPosition {
  service: number;
  tool: number;
  id: string;
}

/** Tools of the service installed last first, each in the order of its definition. */
export async function listToolRows(
  db: Db,
  filter: ToolFilter,
  page: PageRequest<ToolPosition>,
): Promise<ToolRow[]> {
  const { serviceId, effective = false } = filter;
  if (effective && filter.enabled === false) return [];
  const enabled = effective ? true : filter.enabled;
  const { from: after, limit } = page;
  // Of the service in which the page before has ended only what comes after; services and tools are found by index, one
  // service after the other, until the page is full.
  const beyond =
    after === null
      ? db``
      : db`and (t.position, t.id collate "C") > (
          case when s.position = ${after.service}::bigint then ${after.tool}::int else -1 end,
          case when s.position = ${after.service}::bigint then ${after.id} else '' end)`;
  return db<ToolRow[]>`
    select ${toolColumns(db)}
    from services s join modules m on m.id = s.adapter cross join lateral (
      select * from tools t where t.service_id = s.id ${enabled === undefined ? db`` : db`and t.enabled = ${enabled}`}
        ${beyond}
      order by t.position, t.id collate "C" limit ${limit}
    ) t
    where true ${serviceId === undefined ? db`` : db`and s.id = ${serviceId}`}
      ${effective ? db`and ${isServiceEffective(db)}` : db``}
      ${after === null ? db`` : db`and s.position <= ${after.service}`}
    order by s.position desc, t.position, t.id collate "C" limit ${limit}`;
}

export interface ToolDetailsRow extends ToolRow {
  inputSchema: JSONSchema;
  outputSchema: JSONSchema;
}

export async function findToolDetails(
  db: Db,
  { serviceId, toolId }: ToolPath,
): Promise<ToolDetailsRow | null> {
  const [row] = await db<ToolDetailsRow[]>`
    select ${toolColumns(db)}, t.input_schema as "inputSchema", t.output_schema as "outputSchema" ${toolTables(db)}
    where t.service_id = ${serviceId} and t.id = ${toolId}`;
  return row ?? null;
}

export async function hasService(db: Db, id: string): Promise<boolean> {
  const [row] = await db`select from services where id = ${id}`;
  return row !== undefined;
}

/** False: there is no such tool. */
export async function setToolEnabled(db: Db, path: ToolPath, enabled: boolean): Promise<boolean> {
  const rows = await db`
    update tools set enabled = ${enabled} where service_id = ${path.serviceId} and id = ${path.toolId} returning id`;
  return rows.length > 0;
}

export interface ServiceSummaryRow {
  id: string;
  name: string;
  description: string;
  isEffective: boolean;
}

/** The newest first. `query` is a part of an id, a name or a description, in any case. */
export async function listServiceSummaries(
  db: Db,
  filter: { query?: string | undefined; effective?: boolean },
  limit: number,
): Promise<ServiceSummaryRow[]> {
  const { query = null, effective = false } = filter;
  return db<ServiceSummaryRow[]>`
    select s.id, s.name, s.description, ${isServiceEffective(db)} as "isEffective"
    from services s join modules m on m.id = s.adapter
    where (${query}::text is null or position(lower(${query}) in lower(concat_ws(' ', s.id, s.name, s.description))) > 0)
      and (not ${effective}::boolean or ${isServiceEffective(db)})
    order by s.position desc limit ${limit}`;
}

export async function findServiceSummary(db: Db, id: string): Promise<ServiceSummaryRow | null> {
  const [row] = await db<ServiceSummaryRow[]>`
    select s.id, s.name, s.description, ${isServiceEffective(db)} as "isEffective"
    from services s join modules m on m.id = s.adapter where s.id = ${id}`;
  return row ?? null;
}

/** Paths to compare a mistyped one with: of one service, or of every service the tools of this id. */
export async function listPathsOfService(db: Db, serviceId: string, limit: number): Promise<string[]> {
  const rows = await db<
    { id: string }[]
  >`select id from tools where service_id = ${serviceId} limit ${limit}`;
  return rows.map((row) => row.id);
}

/** Of several services. */
export async function listPathsOfServices(db: Db, serviceIds: readonly string[]): Promise<ToolPath[]> {
  return db<ToolPath[]>`
    select service_id as "serviceId", id as "toolId" from tools where service_id = any(${[...serviceIds]}::text[])`;
}

export async function listServiceIds(db: Db, limit: number): Promise<string[]> {
  const rows = await db<{ id: string }[]>`select id from services order by position desc limit ${limit}`;
  return rows.map((row) => row.id);
}

/** Of `t`, with `s` its service and `m` the adapter of that. */
export function toolColumns(db: Db) {
  return db`t.service_id as "serviceId", t.id, t.name, t.description, t.enabled, t.destructive,
    ${isEffective(db)} as "effectivelyEnabled", s.position as "servicePosition", t.position`;
}

export function toolTables(db: Db) {
  return db`from tools t join services s on s.id = t.service_id join modules m on m.id = s.adapter`;
}

function isEffective(db: Db) {
  return db`(t.enabled and ${isServiceEffective(db)})`;
}

function isServiceEffective(db: Db) {
  return db`(s.enabled and not s.stale and m.enabled and not m.missing)`;
}

/** Every installed tool by its path: what patterns of roles and policies are compared with. */
export interface KnownTool extends ToolPath {
  destructive: boolean;
}

export async function listKnownTools(db: Db): Promise<KnownTool[]> {
  return db<KnownTool[]>`
    select service_id as "serviceId", id as "toolId", destructive from tools order by service_id, position`;
}
