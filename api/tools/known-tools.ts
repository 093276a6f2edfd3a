/** Every installed tool by its path: what patterns of roles and policies are compared with. */
import type { Db } from "#api/db/pool.ts";

export interface KnownTool {
  serviceId: string;
  toolId: string;
  destructive: boolean;
}

export async function listKnownTools(db: Db): Promise<KnownTool[]> {
  return db<KnownTool[]>`
    select service_id as "serviceId", id as "toolId", destructive from tools order by service_id, position`;
}
