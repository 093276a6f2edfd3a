/** The statements on `audit_log`, one function each. There is none that changes a record: the database refuses it. */
import type { Db } from "#api/db/pool.ts";
import type { AuditFilter } from "./model.ts";

/** A record as it is stored, before it has an id. */
export interface AuditRow {
  at: Date;
  actorKind: "anonymous" | "bootstrap" | "key" | "system";
  actorId: string | null;
  actorName: string;
  action: string;
  objectKind: string | null;
  objectId: string | null;
  outcome: "ok" | "refused" | "failed";
  code: string | null;
  requestId: string | null;
  processId: number | null;
  decision: "allow" | "ask" | "block" | null;
  policyId: string | null;
  parametersSha256: Buffer | null;
  /** JSON text. */
  parametersPreview: string | null;
}
export type StoredAuditRow = AuditRow & { id: number };

/** All of them, or none. */
export async function insertAuditRows(db: Db, rows: readonly AuditRow[]): Promise<void> {
  const records = rows.map(({ parametersSha256, ...row }) => ({
    ...row,
    parametersSha256: parametersSha256?.toString("hex") ?? null,
  }));
  await db`
    insert into audit_log (
      at, actor_kind, actor_id, actor_name, action, object_kind, object_id, outcome, code, request_id, process_id,
      decision, policy_id, parameters_sha256, parameters_preview
    )
    select r.at, r."actorKind", r."actorId", r."actorName", r.action, r."objectKind", r."objectId", r.outcome, r.code,
      r."requestId", r."processId", r.decision, r."policyId", decode(r."parametersSha256", 'hex'), r."parametersPreview"
    from json_to_recordset(${JSON.stringify(records)}::text::json) as r (
      at timestamptz, "actorKind" text, "actorId" text, "actorName" text, action text, "objectKind" text,
      "objectId" text, outcome text, code text, "requestId" text, "processId" bigint, decision text, "policyId" text,
      "parametersSha256" text, "parametersPreview" text
    )`;
}

/** Newest first, before an id (null is the start). */
export async function listAuditRows(
  db: Db,
  filter: AuditFilter,
  page: { before: number | null; limit: number },
): Promise<StoredAuditRow[]> {
  return db<StoredAuditRow[]>`
    select ${columns(db)} from audit_log where ${conditions(db, filter)}
      ${page.before === null ? db`` : db`and id < ${page.before}`}
    order by id desc limit ${page.limit}`;
}

/** Oldest first, after an id, up to one. */
export async function readAuditRows(
  db: Db,
  filter: AuditFilter,
  page: { after: number; upTo: number; limit: number },
): Promise<StoredAuditRow[]> {
  return db<StoredAuditRow[]>`
    select ${columns(db)} from audit_log where ${conditions(db, filter)}
      and id > ${page.after} and id <= ${page.upTo}
    order by id limit ${page.limit}`;
}

/** The id of the newest record; 0 without any. */
export async function readLastAuditId(db: Db): Promise<number> {
  const [row] = await db<{ id: number | null }[]>`select max(id) as id from audit_log`;
  return row?.id ?? 0;
}

/** Removes records older than `days`, the oldest first. Returns how many. */
export async function removeOldAuditRows(db: Db, days: number, batch: number): Promise<number> {
  const [row] = await db<{ removed: number }[]>`
    select remove_old_audit(make_interval(days => ${days}::int), ${batch}::int) as removed`;
  return row?.removed ?? 0;
}

function conditions(db: Db, filter: AuditFilter) {
  const { actor, action, objectKind, objectId, outcome, decision, processId, requestId, from, to } = filter;
  const prefix = action?.endsWith(".*") ? action.slice(0, -1) : null;
  return db`true
    ${actor === undefined ? db`` : db`and actor_id = ${actor}`}
    ${action === undefined ? db`` : prefix === null ? db`and action = ${action}` : db`and starts_with(action, ${prefix})`}
    ${objectKind === undefined ? db`` : db`and object_kind = ${objectKind}`}
    ${objectId === undefined ? db`` : db`and object_id = ${objectId}`}
    ${outcome === undefined ? db`` : db`and outcome = ${outcome}`}
    ${decision === undefined ? db`` : db`and decision = ${decision}`}
    ${processId === undefined ? db`` : db`and process_id = ${processId}`}
    ${requestId === undefined ? db`` : db`and request_id = ${requestId}`}
    ${from === undefined ? db`` : db`and at >= ${from}`}
    ${to === undefined ? db`` : db`and at < ${to}`}`;
}

function columns(db: Db) {
  return db`id, at, actor_kind as "actorKind", actor_id as "actorId", actor_name as "actorName", action,
    object_kind as "objectKind", object_id as "objectId", outcome, code, request_id as "requestId",
    process_id as "processId", decision, policy_id as "policyId", parameters_sha256 as "parametersSha256",
    parameters_preview as "parametersPreview"`;
}
