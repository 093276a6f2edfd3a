/** Statements for declarations: what there is to declare, by hash, and the schemas of one service as text. */
import type { Db } from "#api/db/pool.ts";
import { MAX_SCHEMA_BYTES } from "../targets.ts";

/** A service with the tools that can be called. */
export interface DeclarableService {
  id: string;
  description: string;
  /** In the order of the definition. */
  toolIds: string[];
  /** Of everything a declaration shows of these tools. */
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
  /** JSON text. */
  input: string;
  output: string;
}

/** The schemas of these tools, in their order; one that is too large is `{}`. */
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
