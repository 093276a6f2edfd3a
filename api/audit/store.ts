/** Writes `audit_log` and deletes expired records. The database rejects statements that change a record. */
import type { Db } from "#api/db/pool.ts";
import { removeInBatches, type Sweep, startSweeps } from "#api/db/sweeps.ts";
import type { AuditOutcome } from "./model.ts";

const SWEEP_INTERVAL_MS = 60 * 60_000;
const BATCH_RECORDS = 1000;

export interface AuditRow {
  at: Date;
  actorKind: "anonymous" | "bootstrap" | "key" | "system";
  actorId: string | null;
  actorName: string;
  action: string;
  objectKind: string | null;
  objectId: string | null;
  outcome: AuditOutcome;
  code: string | null;
  httpStatus: number | null;
  requestId: string | null;
  processId: number | null;
  decision: "allow" | "ask" | "block" | null;
  policyId: string | null;
  parametersSha256: Buffer | null;
  parametersPreview: string | null;
  files: string | null;
}

export async function insertAuditRows(db: Db, rows: readonly AuditRow[]): Promise<void> {
  const records = rows.map(({ parametersSha256, ...row }) => ({
    ...row,
    parametersSha256: parametersSha256?.toString("hex") ?? null,
  }));
  await db`
    insert into audit_log (
      at, actor_kind, actor_id, actor_name, action, object_kind, object_id, outcome, code, request_id, process_id,
      decision, policy_id, parameters_sha256, parameters_preview, files, http_status
    )
    select r.at, r."actorKind", r."actorId", r."actorName", r.action, r."objectKind", r."objectId", r.outcome, r.code,
      r."requestId", r."processId", r.decision, r."policyId", decode(r."parametersSha256", 'hex'), r."parametersPreview",
      r.files, r."httpStatus"
    from json_to_recordset(${JSON.stringify(records)}::text::json) as r (
      at timestamptz, "actorKind" text, "actorId" text, "actorName" text, action text, "objectKind" text,
      "objectId" text, outcome text, code text, "requestId" text, "processId" bigint, decision text, "policyId" text,
      "parametersSha256" text, "parametersPreview" text, files text,
      "httpStatus" smallint
    )`;
}

export interface AuditRetentionOptions {
  /** Number of days to keep records; null keeps them forever. */
  retentionDays: number | null;
  log: Sweep["log"];
  alsoSweep: () => Promise<void>;
}

/**
 * Deletes records older than `days` through the only database function that may delete them, and returns their
 * number. Stops early when the signal aborts.
 */
export function sweepAudit(db: Db, days: number, signal?: AbortSignal): Promise<number> {
  return removeInBatches((maxRows) => removeOldAuditRows(db, days, maxRows), BATCH_RECORDS, signal);
}

export function startAuditRetention(db: Db, options: AuditRetentionOptions): AsyncDisposable {
  const { retentionDays, log, alsoSweep } = options;
  return startSweeps(db, {
    name: "audit",
    everyMs: SWEEP_INTERVAL_MS,
    what: "audit records",
    log,
    async remove(signal) {
      await alsoSweep();
      return retentionDays === null ? 0 : sweepAudit(db, retentionDays, signal);
    },
  });
}

export async function removeOldAuditRows(db: Db, days: number, batch: number): Promise<number> {
  const [row] = await db<{ removed: number }[]>`
    select remove_old_audit(make_interval(days => ${days}::int), ${batch}::int) as removed`;
  return row?.removed ?? 0;
}
