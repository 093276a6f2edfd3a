/** What has to hold for this server to be sent requests: the checks behind `GET /health/ready`. */
import { listAppliedMigrations, listMigrations } from "./db/migrate.ts";
import type { Pool } from "./db/pool.ts";
import type { ReadinessCheck } from "./http/health.ts";
import type { Environments } from "./modules/environments.ts";

export interface ReadinessSources {
  database: { pool: Pool; readonly reachable: boolean };
  environments: Pick<Environments, "active">;
  /** Finished runs that the database has not taken yet. */
  countUnstored(): number;
  isDraining(): boolean;
}

/** Each answers null, or what is wrong in a sentence. */
export async function listReadinessChecks({
  database,
  environments,
  countUnstored,
  isDraining,
}: ReadinessSources): Promise<ReadinessCheck[]> {
  const known = await listMigrations();
  return [
    {
      name: "database",
      check: async () => {
        if (!database.reachable) return "the database does not answer";
        await database.pool`select 1`;
        return null;
      },
    },
    {
      name: "migrations",
      check: async () => {
        const applied = await listAppliedMigrations(database.pool);
        if (applied.join() === known.join()) return null;
        return `the schema is at ${applied.at(-1) ?? "nothing"}, this program is at ${known.at(-1) ?? "nothing"}`;
      },
    },
    {
      name: "environment",
      check: () =>
        environments.active() ? null : "no environment is active; enable one: POST /modules/:id/enabled",
    },
    {
      name: "results",
      check: () => {
        const unstored = countUnstored();
        return unstored === 0
          ? null
          : `${unstored} finished runs wait in memory until the database takes them`;
      },
    },
    { name: "draining", check: () => (isDraining() ? "the server is shutting down" : null) },
  ];
}
