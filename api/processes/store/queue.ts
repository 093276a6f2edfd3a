import type { Db, Fragment } from "#api/db/pool.ts";
import type { Claim, ProcessRow, Submitted } from "../model/records.ts";
import type { ProcessErrorDetail } from "../model/schemas.ts";
import type { ProcessState } from "../model/states.ts";
import { processColumns, submittedColumns } from "./changes.ts";

export interface ClaimRequest {
  environment: string;
  /** Id of this server, or null if it is the only one. */
  replica: string | null;
  maxRows: number;
  maxPerCaller: number | null;
  /** Prevents claims once the database has a later migration. By default the schema is not checked. */
  knownSchema?: string | null;
}

/**
 * Claims queued processes, each with its own token. The caller with the fewest runs, including those of the last
 * second, goes first. For one caller, the highest priority goes first, then the oldest.
 */
export async function claimQueued(db: Db, request: ClaimRequest): Promise<(ProcessRow & Submitted)[]> {
  const { environment, replica, maxRows, maxPerCaller, knownSchema = null } = request;
  return db<(ProcessRow & Submitted)[]>`
    select ${processColumns(db)}, ${submittedColumns(db)}
    from claim_queued(${environment}, ${replica}::uuid,
      case when exists (select from schema_migrations where name > ${knownSchema}) then 0 else ${maxRows}::int end,
      ${maxPerCaller}::int) p`;
}

/** Returns claims whose run never started to their previous place in the queue. Returns the requeued ids. */
export async function returnClaims(db: Db, claims: readonly Claim[]): Promise<number[]> {
  if (claims.length === 0) return [];
  const rows = await db<{ id: number }[]>`
    update processes p set state = 'queued', replica = null,
      claim = case when p.asked then p.claim end, environment = null,
      started_at = case when p.asked then p.started_at end
    from json_to_recordset(${JSON.stringify(claims)}::text::json) as c (id bigint, claim uuid)
    where p.id = c.id and p.claim = c.claim and p.state = 'running'
    returning p.id`;
  return rows.map(({ id }) => id);
}

/** Counts the queued processes of each key (or `anonymous`, `bootstrap`). */
export async function countQueued(db: Db): Promise<Map<string, number>> {
  const rows = await db<{ key: string; count: number }[]>`
    select coalesce(key_id, creator) as key, count(*)::int as count from processes where state = 'queued' group by 1`;
  return new Map(rows.map(({ key, count }) => [key, count]));
}

/** Finds the queue positions of processes, from 1, in the order in which they would be claimed now. */
export async function findPositions(db: Db, ids: readonly number[]): Promise<Map<number, number>> {
  if (ids.length === 0) return new Map();
  const rows = await db<{ id: number; position: number }[]>`
    with busy as (
      select coalesce(key_id, creator) as caller, count(*) as runs
      from (
        (select key_id, creator from processes where state in ('running', 'terminating'))
        union all
        (select key_id, creator from processes
          where exit_state is not null and completed_at > now() - interval '1 second'
          order by completed_at desc limit 250)
      ) given group by 1
    ), turns as (
      select q.id, q.priority, q.queued_at, coalesce(b.runs, 0) + row_number() over (
        partition by coalesce(q.key_id, q.creator) order by q.priority desc, q.queued_at, q.id
      ) as turn
      from processes q left join busy b on b.caller = coalesce(q.key_id, q.creator)
      where q.state = 'queued'
    ), line as (
      select id, row_number() over (order by turn, priority desc, queued_at, id) as position from turns
    )
    select id, position from line where id = any(${[...ids]}::bigint[])`;
  return new Map(rows.map(({ id, position }) => [id, position]));
}

export interface Judging {
  replica: string | null;
  /**
   * Claims of this server whose runs are not in its memory. Null means all its claims, because it has just started.
   */
  unheld: readonly Claim[] | null;
  /** Silence after which another server's claims count as lost. Null: only after that server has signed off. */
  maxSilentMs: number | null;
}

/**
 * Returns a condition on `processes p`: no server holds its claim any more. A claim without a server id is this
 * server's own.
 */
export function isAbandoned(db: Db, { replica, unheld, maxSilentMs }: Judging): Fragment {
  return db`(
    case when p.replica is null or p.replica = ${replica}::uuid then
      ${unheld === null}::boolean or exists (
        select from json_to_recordset(${JSON.stringify(unheld ?? [])}::text::json) as c (id bigint, claim uuid)
        where c.id = p.id and c.claim = p.claim
      )
    else not exists (
      select from replicas r where r.id = p.replica and (
        ${maxSilentMs === null}::boolean or r.seen_at > now() - make_interval(secs => ${(maxSilentMs ?? 0) / 1000})
      )
    ) end
  )`;
}

export async function listClaims(
  db: Db,
  replica: string | null,
): Promise<(Claim & { state: ProcessState })[]> {
  return db<(Claim & { state: ProcessState })[]>`
    select p.id, p.claim, p.state from processes p
    where p.state in ('running', 'paused', 'terminating') and (p.replica is null or p.replica = ${replica}::uuid)
      and not (p.state = 'paused' and exists (select from process_checkpoints c where c.process_id = p.id and c.detached))`;
}

/**
 * Ends runs that no server holds: `running` and `paused` as failed/interrupted, `terminating` as canceled/killed.
 * Paused runs without a child wait for their approvals and are skipped. Partial results stay stored. Returns the ids.
 */
export async function endAbandonedRuns(
  db: Db,
  error: ProcessErrorDetail | null,
  judging: Judging,
): Promise<number[]> {
  const detail = JSON.stringify(error);
  const rows = await db<{ id: number }[]>`
    with ended as (
      update processes p set state = 'idle', completed_at = now(),
        exit_state = case when p.state = 'terminating' then 'canceled' else 'failed' end,
        reason = case when p.state = 'terminating' then 'killed' else 'interrupted' end,
        results_bytes = case when p.state = 'terminating' then 0 else ${detail.length}::int end
          + coalesce((select sum(length(g.output::text)) from run_progress g where g.process_id = p.id and g.claim = p.claim), 0),
        usage = coalesce(
          (select g.usage from run_progress g where g.process_id = p.id and g.claim = p.claim order by g.part desc limit 1),
          p.usage
        )
      where p.state in ('running', 'paused', 'terminating') and ${isAbandoned(db, judging)}
        and not (p.state = 'paused' and exists (select from process_checkpoints c where c.process_id = p.id and c.detached))
      returning p.id, p.claim, p.exit_state
    ), uncounted as (
      delete from left_contents where process_id in (select id from ended)
    )
    select id, keep_progress(id, claim, true, case when exit_state = 'failed' then ${detail}::text::json end) from ended`;
  return rows.map(({ id }) => id);
}
