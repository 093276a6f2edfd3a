import type { Db } from "#api/db/pool.ts";
import type { Owner } from "../ports.ts";
import type { Config } from "./schema.ts";

const TABLES = {
  module: { name: "module_settings", owner: "module_id" },
  service: { name: "service_settings", owner: "service_id" },
} as const;

export interface ConfigRow {
  config: Config;
  version: number;
}

export async function readConfig(db: Db, { kind, id }: Owner): Promise<ConfigRow> {
  const table = TABLES[kind];
  const [row] = await db<ConfigRow[]>`
    select config, version from ${db(table.name)} where ${db(table.owner)} = ${id}`;
  return row ?? { config: {}, version: 0 };
}

/**
 * Writes only if the stored version is `expectedVersion`. Returns the new version, or null if another change came
 * first.
 */
export async function writeConfig(
  db: Db,
  { kind, id }: Owner,
  config: Config,
  expectedVersion: number,
): Promise<number | null> {
  const table = TABLES[kind];
  const text = JSON.stringify(config);
  const [row] =
    expectedVersion === 0
      ? await db<{ version: number }[]>`
          insert into ${db(table.name)} (${db(table.owner)}, config, version) values (${id}, ${text}::text::json, 1)
          on conflict (${db(table.owner)}) do nothing returning version`
      : await db<{ version: number }[]>`
          update ${db(table.name)} set config = ${text}::text::json, version = version + 1, updated_at = now()
          where ${db(table.owner)} = ${id} and version = ${expectedVersion} returning version`;
  return row?.version ?? null;
}
