import type { PageRequest } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import type { JSONSchema } from "#sdk";
import type { ToolPath } from "./contract.ts";

/** Schemas with more JSON bytes than this are not read. */
export const MAX_SCHEMA_BYTES = 4 * 1024 * 1024;

export interface ToolRow {
  serviceId: string;
  id: string;
  name: string;
  description: string;
  enabled: boolean;
  /** True if the tool and everything it depends on is enabled. */
  effectivelyEnabled: boolean;
  destructive: boolean;
  servicePosition: number;
  position: number;
}

export interface ToolFilter {
  serviceId?: string | undefined;
  enabled?: boolean | undefined;
  effective?: boolean | undefined;
}

export interface ToolPosition {
  service: number;
  tool: number;
  id: string;
}

/** Lists the tools of the most recently installed service first, each service in definition order. */
export async function listToolRows(
  db: Db,
  filter: ToolFilter,
  page: PageRequest<ToolPosition>,
): Promise<ToolRow[]> {
  const { serviceId, effective = false } = filter;
  if (effective && filter.enabled === false) return [];
  const enabled = effective ? true : filter.enabled;
  const { from: after, limit } = page;
  // In the service where the last page ended, only later tools qualify. Services and tools are found by index, one
  // service at a time, until the page is full.
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

/** Returns false if the tool does not exist. */
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

/** Lists services, newest first. `query` is a case-insensitive part of an id, a name or a description. */
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

/** Lists paths to compare a mistyped one with: the tools of one service, or the tools with one id in all services. */
export async function listPathsOfService(db: Db, serviceId: string, limit: number): Promise<string[]> {
  const rows = await db<
    { id: string }[]
  >`select id from tools where service_id = ${serviceId} limit ${limit}`;
  return rows.map((row) => row.id);
}

export async function listPathsOfServices(db: Db, serviceIds: readonly string[]): Promise<ToolPath[]> {
  return db<ToolPath[]>`
    select service_id as "serviceId", id as "toolId" from tools where service_id = any(${[...serviceIds]}::text[])`;
}

export async function listServiceIds(db: Db, limit: number): Promise<string[]> {
  const rows = await db<{ id: string }[]>`select id from services order by position desc limit ${limit}`;
  return rows.map((row) => row.id);
}

/** Columns of `t`, where `s` is its service and `m` that service's adapter. */
function toolColumns(db: Db) {
  return db`t.service_id as "serviceId", t.id, t.name, t.description, t.enabled, t.destructive,
    ${isEffective(db)} as "effectivelyEnabled", s.position as "servicePosition", t.position`;
}

function toolTables(db: Db) {
  return db`from tools t join services s on s.id = t.service_id join modules m on m.id = s.adapter`;
}

function isEffective(db: Db) {
  return db`(t.enabled and ${isServiceEffective(db)})`;
}

function isServiceEffective(db: Db) {
  return db`(s.enabled and not s.stale and m.enabled and not m.missing)`;
}

export interface KnownTool extends ToolPath {
  destructive: boolean;
}

export async function listKnownTools(db: Db): Promise<KnownTool[]> {
  return db<KnownTool[]>`
    select service_id as "serviceId", id as "toolId", destructive from tools order by service_id, position`;
}

export interface DeclarableService {
  id: string;
  description: string;
  toolIds: string[];
  /** Hash of everything a declaration shows of these tools. */
  hash: string;
}

export async function listDeclarable(db: Db, serviceId: string | undefined): Promise<DeclarableService[]> {
  return db<DeclarableService[]>`
    select s.id, s.description, array_agg(t.id order by t.position, t.id) as "toolIds",
      encode(sha256(convert_to(
        string_agg(concat_ws(' ', t.id, t.input_hash, t.output_hash, t.description), E'\n' order by t.position, t.id), 'UTF8'
      )), 'hex') as hash
    from tools t join services s on s.id = t.service_id join modules m on m.id = s.adapter
    where t.enabled and s.enabled and not s.stale and m.enabled and not m.missing
      and (${serviceId ?? null}::text is null or s.id = ${serviceId ?? null})
    group by s.id, s.position, s.description order by s.position desc`;
}

export interface DeclarableTool {
  id: string;
  description: string;
  input: string;
  output: string;
}

/** Reads the schemas of these tools, in their order. A schema that is too large is read as `{}`. */
export async function readDeclarableTools(
  db: Db,
  serviceId: string,
  toolIds: readonly string[],
): Promise<DeclarableTool[]> {
  return db<DeclarableTool[]>`
    select id, left(description, 2000) as description,
      case when octet_length(input_schema::text) <= ${MAX_SCHEMA_BYTES} then input_schema::text else '{}' end as input,
      case when octet_length(output_schema::text) <= ${MAX_SCHEMA_BYTES} then output_schema::text else '{}' end as output
    from tools where service_id = ${serviceId} and id = any(${[...toolIds]}::text[]) order by position, id`;
}

/** Schemas with more JSON bytes than this are neither searched nor shown in a signature. */
const MAX_SEARCHED_SCHEMA_BYTES = 256 * 1024;
const MAX_SEARCHED_DESCRIPTION_CHARACTERS = 2000;

export interface ServiceState {
  id: string;
  /** Changes whenever the service or its definition changes. */
  version: string;
  /** True if its enabled tools can be called. */
  isEffective: boolean;
  off: string[];
}

/** Every installation and every new definition updates the service row, so its `xmin` identifies the version. */
export async function listServiceStates(db: Db): Promise<ServiceState[]> {
  return db<ServiceState[]>`
    select s.id, s.xmin::text as version, (s.enabled and not s.stale and m.enabled and not m.missing) as "isEffective",
      coalesce(o.off, '{}') as off
    from services s join modules m on m.id = s.adapter left join (
      select service_id, array_agg(id) as off from tools where not enabled group by service_id
    ) o on o.service_id = s.id`;
}

export interface SearchedToolRow extends Pick<ToolRow, "id" | "name" | "description" | "destructive"> {
  inputSchema: JSONSchema | null;
}

/** Ordered by tool id. */
export async function readSearchedTools(
  db: Db,
  serviceId: string,
  after: string,
  limit: number,
): Promise<SearchedToolRow[]> {
  return db<SearchedToolRow[]>`
    select id, name, left(description, ${MAX_SEARCHED_DESCRIPTION_CHARACTERS}) as description, destructive,
      ${boundedSchema(db, "input_schema")} as "inputSchema"
    from tools t where service_id = ${serviceId} and id > ${after} order by id limit ${limit}`;
}

export interface FoundToolRow extends ToolRow {
  inputSchema: JSONSchema | null;
  outputSchema: JSONSchema | null;
}

export async function readFoundTools(
  db: Db,
  tools: readonly { serviceId: string; id: string }[],
): Promise<FoundToolRow[]> {
  return db<FoundToolRow[]>`
    select ${toolColumns(db)}, ${boundedSchema(db, "input_schema")} as "inputSchema",
      ${boundedSchema(db, "output_schema")} as "outputSchema"
    ${toolTables(db)}
    join unnest(${tools.map(({ serviceId }) => serviceId)}::text[], ${tools.map(({ id }) => id)}::text[])
      as found(service_id, id) on t.service_id = found.service_id and t.id = found.id`;
}

function boundedSchema(db: Db, column: "input_schema" | "output_schema") {
  return db`case when octet_length(t.${db(column)}::text) <= ${MAX_SEARCHED_SCHEMA_BYTES} then t.${db(column)} end`;
}
