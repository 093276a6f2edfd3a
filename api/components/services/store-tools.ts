import type { Db } from "#api/db/pool.ts";
import type { ToolDefinition } from "#sdk";

const MAX_BATCH_TOOLS = 500;
/** Maximum characters of JSON per statement, so that one batch's memory is freed before the next. */
const MAX_BATCH_CHARACTERS = 1024 * 1024;

interface Batch {
  id: string[];
  position: number[];
  name: string[];
  description: string[];
  inputSchema: string[];
  outputSchema: string[];
  adapterDomain: string[];
  /** Text, because the driver would send an array of booleans as a single boolean. */
  destructive: ("true" | "false")[];
  fetchScope: (string | null)[];
}

/**
 * Writes a service's tools in the given order: existing ids keep their flag, new ids get `newEnabled`, and removed
 * ids are deleted. Changed `fetch` rules count as new. Call inside a transaction.
 */
export async function replaceTools(
  db: Db,
  serviceId: string,
  tools: readonly ToolDefinition[],
  newEnabled: boolean,
): Promise<void> {
  const ids = tools.map((tool) => tool.id);
  await db`delete from tools where service_id = ${serviceId} and id <> all(${ids}::text[])`;
  for (const batch of cutBatches(tools)) await writeBatch(db, serviceId, batch, newEnabled);
}

async function writeBatch(db: Db, serviceId: string, batch: Batch, newEnabled: boolean): Promise<void> {
  await db`
    insert into tools as stored
      (service_id, id, position, name, description, input_schema, output_schema, adapter_domain, destructive, fetch_scope,
        enabled)
    select ${serviceId}, made.id, made.place, made.name, made.description, made.input_schema::json,
      made.output_schema::json, made.adapter_domain::json, made.destructive::boolean, made.fetch_scope::json, ${newEnabled}
    from unnest(${batch.id}::text[], ${batch.position}::integer[], ${batch.name}::text[], ${batch.description}::text[],
      ${batch.inputSchema}::text[], ${batch.outputSchema}::text[], ${batch.adapterDomain}::text[],
      ${batch.destructive}::text[], ${batch.fetchScope}::text[])
      as made(id, place, name, description, input_schema, output_schema, adapter_domain, destructive, fetch_scope)
    on conflict (service_id, id) do update set position = excluded.position, name = excluded.name,
      description = excluded.description, input_schema = excluded.input_schema,
      output_schema = excluded.output_schema, adapter_domain = excluded.adapter_domain,
      destructive = excluded.destructive, fetch_scope = excluded.fetch_scope,
      enabled = stored.enabled and (${newEnabled} or (stored.fetch_scope is null and excluded.fetch_scope is null)
        or (stored.fetch_scope::text, stored.adapter_domain::text, stored.destructive)
          is not distinct from (excluded.fetch_scope::text, excluded.adapter_domain::text, excluded.destructive))`;
}

function* cutBatches(tools: readonly ToolDefinition[]): Generator<Batch> {
  let batch = emptyBatch();
  let characters = 0;
  for (const [position, tool] of tools.entries()) {
    const inputSchema = JSON.stringify(tool.inputSchema);
    const outputSchema = JSON.stringify(tool.outputSchema);
    const adapterDomain = JSON.stringify(tool.adapterDomain) ?? "null";
    batch.id.push(tool.id);
    batch.position.push(position);
    batch.name.push(tool.name);
    batch.description.push(tool.description);
    batch.inputSchema.push(inputSchema);
    batch.outputSchema.push(outputSchema);
    batch.adapterDomain.push(adapterDomain);
    batch.destructive.push(tool.destructive ? "true" : "false");
    batch.fetchScope.push(tool.fetch === undefined ? null : JSON.stringify(tool.fetch));
    characters += inputSchema.length + outputSchema.length + adapterDomain.length + tool.description.length;
    if (batch.id.length >= MAX_BATCH_TOOLS || characters >= MAX_BATCH_CHARACTERS) {
      yield batch;
      batch = emptyBatch();
      characters = 0;
    }
  }
  if (batch.id.length > 0) yield batch;
}

function emptyBatch(): Batch {
  return {
    id: [],
    position: [],
    name: [],
    description: [],
    inputSchema: [],
    outputSchema: [],
    adapterDomain: [],
    destructive: [],
    fetchScope: [],
  };
}

export async function readToolDomains(
  db: Db,
  serviceId: string,
): Promise<Record<string, { adapterDomain: unknown }>> {
  const rows = await db<{ id: string; adapterDomain: unknown }[]>`
    select id, adapter_domain as "adapterDomain" from tools where service_id = ${serviceId} order by position`;
  return Object.fromEntries(rows.map(({ id, adapterDomain }) => [id, { adapterDomain }]));
}
