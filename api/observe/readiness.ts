import type { Environments } from "#api/components/modules/environments.ts";
import { listAppliedMigrations, listMigrations } from "#api/db/migrate.ts";
import type { Pool } from "#api/db/pool.ts";
import { probeWriting } from "#api/db/reachability.ts";
import type { ReadinessCheck } from "./health.ts";

export interface ReadinessSources {
  database: { pool: Pool; watch: { readonly reachable: boolean } };
  environments: Pick<Environments, "active" | "refusal">;
  /** Milliseconds since this server's last heartbeat, by its own clock. */
  replicas: { readonly silentMs: number };
  /** Milliseconds since the last successful statement on the connections that requests and runs use. */
  selfCheck: { readonly silentMs: number };
  processes: { health(): { unstored: number; claimWaitMs: number } };
  lifecycle: { readonly leaving: boolean };
}

/**
 * Longest time without a successful heartbeat. Beyond it, other servers could treat a new run as belonging to a lost
 * server. Tolerates several missed heartbeats.
 */
const MAX_SILENT_MS = 15_000;
const MAX_UNANSWERED_MS = 5000;
/**
 * Longest time to claim a queued run. A claim takes milliseconds, and one lost with its connection is repeated
 * sooner.
 */
const MAX_CLAIM_WAIT_MS = 10_000;
/** Messages by SQLSTATE: read_only_sql_transaction, and those for a database without space. */
const NOT_WRITABLE: Readonly<Record<string, string>> = {
  "25006": "the database is read-only",
  "53100": "the disk of the database is full",
  "53200": "the database has no memory left",
  "53300": "the database has no connection left",
  "53400": "the database has reached one of its limits, such as temp_file_limit",
};
/** Time after which a hanging request is no longer shared and another one starts. */
const MAX_SHARED_MS = 1000;

/** Lists the readiness checks. Each returns null or a sentence that describes the problem. */
export async function listReadinessChecks(sources: ReadinessSources): Promise<ReadinessCheck[]> {
  const { database, environments, replicas, selfCheck, processes, lifecycle } = sources;
  const known = await listMigrations();
  const listApplied = shareWhilePending(() => listAppliedMigrations(database.pool));
  // Never run two probes at once: a probe waiting for a lock occupies one of the few connections until its time
  // limit.
  const probe = shareWhilePending(() => probeWriting(database.pool), Number.POSITIVE_INFINITY);
  return [
    {
      name: "database",
      check: async () => {
        if (!database.watch.reachable) return "the database does not answer";
        await listApplied();
        return null;
      },
    },
    {
      name: "writes",
      check: async () => {
        if (!database.watch.reachable) return null;
        try {
          await probe();
          return null;
        } catch (error) {
          const reason = NOT_WRITABLE[(error as { code?: string }).code ?? ""];
          if (reason === undefined) throw error;
          return reason;
        }
      },
    },
    {
      name: "connections",
      check: () =>
        !database.watch.reachable || selfCheck.silentMs <= MAX_UNANSWERED_MS
          ? null
          : `the database has not answered statements of requests and runs for ${inSeconds(selfCheck.silentMs)}`,
    },
    {
      name: "queue",
      check: () => {
        const { claimWaitMs } = processes.health();
        return claimWaitMs <= MAX_CLAIM_WAIT_MS
          ? null
          : `queued processes could not be claimed for ${inSeconds(claimWaitMs)}`;
      },
    },
    {
      name: "migrations",
      check: async () => {
        if (!database.watch.reachable) return null;
        const applied = await listApplied();
        if (applied.join() === known.join()) return null;
        return `the schema is at ${applied.at(-1) ?? "nothing"}, this program knows ${known.at(-1) ?? "nothing"}${isNewer(applied, known) ? ": a newer program has changed it, so this server starts no more runs; stop it" : ""}`;
      },
    },
    {
      name: "environment",
      check: () =>
        environments.active()
          ? null
          : `no environment is active; ${environments.refusal() ?? "enable one: POST /modules/:id/enabled"}`,
    },
    {
      name: "results",
      check: () => {
        const { unstored } = processes.health();
        return unstored === 0
          ? null
          : `${unstored} finished runs wait in memory until the database accepts them`;
      },
    },
    {
      name: "replicas",
      check: () => {
        return replicas.silentMs <= MAX_SILENT_MS
          ? null
          : `this server has sent no heartbeat for ${inSeconds(replicas.silentMs)}; others may consider its runs lost`;
      },
    },
    { name: "draining", check: () => (lifecycle.leaving ? "the server is shutting down" : null) },
  ];
}

function isNewer(applied: readonly string[], known: readonly string[]): boolean {
  return (applied.at(-1) ?? "") > (known.at(-1) ?? "");
}

function inSeconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

/** Lets all callers share one request, so that requests to a hanging database do not pile up. */
function shareWhilePending<Answer>(
  ask: () => Promise<Answer>,
  maxSharedMs = MAX_SHARED_MS,
): () => Promise<Answer> {
  let pending: { answer: Promise<Answer>; sinceMs: number } | null = null;
  return () => {
    if (pending !== null && performance.now() - pending.sinceMs < maxSharedMs) return pending.answer;
    const asked = { answer: ask(), sinceMs: performance.now() };
    pending = asked;
    const forget = () => {
      if (pending === asked) pending = null;
    };
    asked.answer.then(forget, forget);
    return asked.answer;
  };
}
