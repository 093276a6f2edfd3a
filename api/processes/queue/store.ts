/** The statements about the queue: who takes which process, how long it is, and where in it a process is. */
import type { Db } from "#api/db/pool.ts";
import { type ProcessRow, processColumns } from "../store.ts";
import type { Claim } from "../store-sweeps.ts";

export interface ClaimRequest {
  environment: string;
  /** Of this server; null: the only one. */
  replica: string | null;
  maxRows: number;
  /** Runs of one caller at once, over all servers. Null: no limit. */
  maxPerCaller: number | null;
}

/**
 * Claims queued processes, each with a token of its own: of the caller who has the fewest runs, and had in the last
 * second, first; of one caller the highest priority first, then the oldest.
 */
export async function claimQueued(db: Db, request: ClaimRequest): Promise<(ProcessRow & { code: string })[]> {
  const { environment, replica, maxRows, maxPerCaller } = request;
  return db<(ProcessRow & { code: string })[]>`
    select ${processColumns(db)}, p.code
    from claim_queued(${environment}, ${replica}::uuid, ${maxRows}::int, ${maxPerCaller}::int) p`;
}

/** Claims of which nothing was begun go back to where they were in the queue. Returns the ids. */
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

export async function countQueued(db: Db): Promise<number> {
  const [row] = await db<
    { count: number }[]
  >`select count(*)::int as count from processes where state = 'queued'`;
  return row?.count ?? 0;
}

/** Where processes are in the queue, from 1, in the order in which they will be taken as things are now. */
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
