import type { PageRequest } from "#api/bounds/page.ts";
import type { Db, Fragment } from "#api/db/pool.ts";
import type { ApprovalFilter, ApprovalSummary } from "./model.ts";

type State = ApprovalSummary["state"];

export interface ApprovalRow {
  id: string;
  position: number;
  processId: number;
  run: string;
  seq: number;
  kind: "call" | "ask";
  serviceId: string | null;
  toolId: string | null;
  destructive: boolean;
  digest: Buffer;
  message: string;
  requestedBy: string;
  requestedByName: string | null;
  startedBy: string;
  policyId: string | null;
  state: State;
  createdAt: Date;
  expiresAt: Date;
  decidedAt: Date | null;
  decidedBy: string | null;
  reason: string | null;
  usedAt: Date | null;
}

export type NewApprovalRow = Pick<
  ApprovalRow,
  | "id"
  | "processId"
  | "run"
  | "seq"
  | "kind"
  | "serviceId"
  | "toolId"
  | "destructive"
  | "digest"
  | "message"
  | "policyId"
>;

/**
 * Keeps existing rows, because an earlier attempt may have been committed and its reply lost. The requester is read
 * from the process.
 */
export async function insertApprovals(db: Db, rows: readonly NewApprovalRow[], ttlMs: number): Promise<void> {
  if (rows.length === 0) return;
  const json = JSON.stringify(rows.map((row) => ({ ...row, digest: row.digest.toString("hex") })));
  await db`
    insert into approvals (
      id, process_id, run, seq, kind, service_id, tool_id, destructive, digest, message, policy_id, requested_by,
      started_by, created_at, expires_at
    )
    select a.id, a."processId", a.run, a.seq, a.kind, a."serviceId", a."toolId", a.destructive, decode(a.digest, 'hex'),
      a.message, a."policyId", coalesce(p.key_id, p.creator), coalesce(p.started_by, p.key_id, p.creator),
      clock_timestamp(), clock_timestamp() + make_interval(secs => ${ttlMs / 1000})
    from json_to_recordset(${json}::text::json) as a (
      id text, "processId" bigint, run uuid, seq integer, kind text, "serviceId" text, "toolId" text,
      destructive boolean, digest text, message text, "policyId" text
    ) join processes p on p.id = a."processId"
    order by a.seq
    on conflict (id) do nothing`;
}

export async function findApproval(db: Db, id: string): Promise<ApprovalRow | null> {
  const [row] = await db<ApprovalRow[]>`select ${columns(db)} from approvals where id = ${id}`;
  return row ?? null;
}

export async function listApprovals(
  db: Db,
  { state, processId, serviceId }: ApprovalFilter,
  { from: before, limit }: PageRequest<number>,
): Promise<ApprovalRow[]> {
  return db<ApprovalRow[]>`
    select ${columns(db)} from approvals
    where true ${state === undefined ? db`` : state === "pending" ? db`and state = 'pending'` : db`and state = ${state}`}
      ${processId === undefined ? db`` : db`and process_id = ${processId}`}
      ${serviceId === undefined ? db`` : db`and service_id = ${serviceId}`}
      ${before === null ? db`` : db`and position < ${before}`}
    order by position desc limit ${limit}`;
}

/** Lists the approvals of a run that has a checkpoint, in order of asking. */
export async function listOfRun(db: Db, processId: number): Promise<ApprovalRow[]> {
  return db<ApprovalRow[]>`
    select ${columns(db)} from approvals
    where process_id = ${processId} and run = (select run from process_checkpoints where process_id = ${processId})
    order by position`;
}

/** Lists the events of the last run that asked an approver, in chronological order. */
export async function listEvents(db: Db, processId: number): Promise<{ id: string; state: State }[]> {
  return db<{ id: string; state: State }[]>`
    with last as (
      select id, position, state, created_at, decided_at from approvals
      where process_id = ${processId}
        and run = (select run from approvals where process_id = ${processId} order by position desc limit 1)
    )
    select id, 'pending' as state, created_at as at, position from last
    union all
    select id, state, decided_at as at, position from last where state <> 'pending'
    order by at, position`;
}

/** Decides a pending approval. Returns null if it is already decided or expired. */
export async function decideApproval(
  db: Db,
  id: string,
  decision: { state: "approved" | "denied"; by: string; reason: string | null },
): Promise<ApprovalRow | null> {
  const [row] = await db<ApprovalRow[]>`
    update approvals set state = ${decision.state}, decided_at = clock_timestamp(), decided_by = ${decision.by},
      reason = ${decision.reason}
    where id = ${id} and state = 'pending' and expires_at > clock_timestamp()
    returning ${columns(db)}`;
  return row ?? null;
}

/** Lists pending approvals whose time is over. */
export async function listDue(db: Db, limit: number): Promise<{ id: string; processId: number }[]> {
  return db<{ id: string; processId: number }[]>`
    select id, process_id as "processId" from approvals
    where state = 'pending' and expires_at <= clock_timestamp() order by expires_at limit ${limit}`;
}

/** Lists pending approvals whose tool no longer exists, for one service or, with `serviceId` null, for all. */
export async function listOrphans(
  db: Db,
  serviceId: string | null,
  limit: number,
): Promise<{ id: string; processId: number }[]> {
  return db<{ id: string; processId: number }[]>`
    select id, process_id as "processId" from approvals a
    where state = 'pending' and kind = 'call' ${serviceId === null ? db`` : db`and service_id = ${serviceId}`}
      and not exists (select from tools t where t.service_id = a.service_id and t.id = a.tool_id)
    order by position limit ${limit}`;
}

export async function expireApproval(db: Db, id: string, reason: string): Promise<ApprovalRow | null> {
  const [row] = await db<ApprovalRow[]>`
    update approvals set state = 'expired', decided_at = clock_timestamp(), reason = ${reason}
    where id = ${id} and state = 'pending' returning ${columns(db)}`;
  return row ?? null;
}

/** Expires pending approvals that no run waits for. */
export async function withdrawApprovals(db: Db, ids: readonly string[], reason: string): Promise<void> {
  await db`
    update approvals set state = 'expired', decided_at = clock_timestamp(), reason = ${reason}
    where id = any(${[...ids]}::text[]) and state = 'pending'`;
}

/**
 * Returns a statement that marks an approval as used. It yields no row if another use was first, the request is not
 * approved, or `when` yields no row. `use` must be the same for every attempt, so that an attempt whose reply was
 * lost does not count as another use.
 */
export function useApproval(db: Db, id: string, use: string, when?: Fragment): Fragment {
  return db`
    update approvals set used_at = coalesce(used_at, clock_timestamp()), used_by = ${use}::uuid
    where id = ${id} and state = 'approved' and (used_at is null or used_by = ${use}::uuid)
      ${when === undefined ? db`` : db`and exists (${when})`}
    returning id`;
}

/** Returns those of `ids` that are decided. */
export async function listDecided(
  db: Db,
  ids: readonly string[],
): Promise<Pick<ApprovalRow, "id" | "processId" | "state" | "reason">[]> {
  return db`
    select id, process_id as "processId", state, reason from approvals
    where id = any(${[...ids]}::text[]) and state <> 'pending'`;
}

function columns(db: Db) {
  return db`id, position, process_id as "processId", run, seq, kind, service_id as "serviceId", tool_id as "toolId",
    destructive, digest, message, requested_by as "requestedBy",
    (select name from api_keys where api_keys.id = requested_by) as "requestedByName",
    coalesce(started_by, requested_by) as "startedBy", policy_id as "policyId", state,
    created_at as "createdAt", expires_at as "expiresAt", decided_at as "decidedAt", decided_by as "decidedBy", reason,
    used_at as "usedAt"`;
}

/** Returns the number of pending approvals, the age of the oldest in milliseconds, and the number of paused runs. */
export async function measureWaiting(
  db: Db,
): Promise<{ approvals: number; oldestMs: number; paused: number }> {
  const [row] = await db<{ approvals: number; oldestMs: number; paused: number }[]>`
    select count(*)::int as approvals,
      coalesce(extract(epoch from now() - min(created_at)) * 1000, 0)::double precision as "oldestMs",
      (select count(*)::int from processes where state = 'paused') as paused
    from approvals where state = 'pending'`;
  return row ?? { approvals: 0, oldestMs: 0, paused: 0 };
}
