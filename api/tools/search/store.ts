/** Statements of the search over tools: what has changed since a service was read, its tools, and the rows of a page. */
import type { Db } from "#api/db/pool.ts";
import type { JSONSchema } from "#sdk";
import { type ToolRow, toolColumns, toolTables } from "../store.ts";

/** Schemas larger than this, as JSON text, are neither searched nor shown in a signature. */
const MAX_SEARCHED_SCHEMA_BYTES = 256 * 1024;
const MAX_SEARCHED_DESCRIPTION_CHARACTERS = 2000;

/** A service, as a search needs to know it. */
export interface ServiceState {
  id: string;
  /** Another one after each change of the service or its definition. */
  version: string;
  /** Whether its tools can be called, as far as they are enabled. */
  isEffective: boolean;
  /** Ids of tools that are switched off. */
  off: string[];
}

/** Every installation and every new definition writes the row of the service, so its transaction tells what was read. */
export async function listServiceStates(db: Db): Promise<ServiceState[]> {
  return db<ServiceState[]>`
    select s.id, s.xmin::text as version, (s.enabled and not s.stale and m.enabled and not m.missing) as "isEffective",
      coalesce(o.off, '{}') as off
    from services s join modules m on m.id = s.adapter left join (
      select service_id, array_agg(id) as off from tools where not enabled group by service_id
    ) o on o.service_id = s.id`;
}

export interface SearchedToolRow {
  id: string;
  name: string;
  description: string;
  destructive: boolean;
  inputSchema: JSONSchema | null;
}

/** The next tools of a service after one, by id. */
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

/** Those that are still there, in any order. */
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
