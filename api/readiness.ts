/** What has to hold for this server to be sent requests: the checks behind `GET /health/ready`. */
import { listAppliedMigrations, listMigrations } from "./db/migrate.ts";
import type { Pool } from "./db/pool.ts";
import type { ReadinessCheck } from "./http/health.ts";
import type { Environments } from "./modules/environments.ts";

export interface ReadinessSources {
  database: { pool: Pool; readonly reachable: boolean };
  environments: Pick<Environments, "active">;
  /** Since the other servers could last hear of this one, by its own clock. */
  silentMs(): number;
  /** Finished runs that the database has not taken yet. */
  countUnstored(): number;
  isDraining(): boolean;
}

/** A run that is begun later might be taken for that of a lost server. Several signs of life may be missed before. */
const MAX_SILENT_MS = 15_000;
/** A question that hangs for longer is asked anew. */
const MAX_SHARED_MS = 1000;

/** Each answers null, or what is wrong in a sentence. */
export async function listReadinessChecks({
  database,
  environments,
  silentMs,
  countUnstored,
  isDraining,
}: ReadinessSources): Promise<ReadinessCheck[]> {
  const known = await listMigrations();
  const listApplied = shareWhilePending(() => listAppliedMigrations(database.pool));
  return [
    {
      name: "database",
      check: async () => {
        if (!database.reachable) return "the database does not answer";
        await listApplied();
        return null;
      },
    },
    {
      name: "migrations",
      check: async () => {
        if (!database.reachable) return null;
        const applied = await listApplied();
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
    {
      name: "replicas",
      check: () => {
        const seconds = Math.round(silentMs() / 1000);
        return silentMs() <= MAX_SILENT_MS
          ? null
          : `other servers have not heard of this one for ${seconds} s and may take its runs for lost`;
      },
    },
    { name: "draining", check: () => (isDraining() ? "the server is shutting down" : null) },
  ];
}

/** However many ask: one question at a time, so that those to a database that hangs do not pile up. */
function shareWhilePending<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let pending: { answer: Promise<Answer>; sinceMs: number } | null = null;
  return () => {
    if (pending !== null && performance.now() - pending.sinceMs < MAX_SHARED_MS) return pending.answer;
    const asked = { answer: ask(), sinceMs: performance.now() };
    pending = asked;
    const forget = () => {
      if (pending === asked) pending = null;
    };
    asked.answer.then(forget, forget);
    return asked.answer;
  };
}
