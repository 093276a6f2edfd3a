/** The statements of recovery: which claims no server runs any more, and what becomes of them. */
import type { Db, Fragment } from "#api/db/pool.ts";
import type { ProcessErrorDetail } from "./model.ts";

/** A process in the hands of one server, by the token it was given with it. */
export interface Claim {
  id: number;
  claim: string;
}

/** Whose claims are looked at, and when no server runs them any more. */
export interface Judging {
  /** Of this server; null: the only one. */
  replica: string | null;
  /** Its own claims of which it runs nothing; null: all of them, for it has just begun. */
  unheld: readonly Claim[] | null;
  /** Claims of another are nobody's when it was not heard of for as long; null: only when it has signed off. */
  maxSilentMs: number | null;
}

/** A condition on `processes p`: nobody holds its claim any more. Without an id a claim is this server's own. */
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

/** The claims of one server, as the database knows them: what runs of them is in its memory. */
export async function listClaims(db: Db, replica: string | null): Promise<Claim[]> {
  return db<Claim[]>`
    select p.id, p.claim from processes p
    where p.state in ('running', 'paused', 'terminating') and (p.replica is null or p.replica = ${replica}::uuid)
      and not (p.state = 'paused' and exists (select from process_checkpoints c where c.process_id = p.id and c.detached))`;
}

/**
 * Ends what nobody runs any more: `running` and `paused` as failed/interrupted, `terminating` as canceled/killed.
 * Paused runs without a child wait for their approvals and are left alone. Returns the ids.
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
      where p.state in ('running', 'paused', 'terminating') and ${isAbandoned(db, judging)}
        and not (p.state = 'paused' and exists (select from process_checkpoints c where c.process_id = p.id and c.detached))
      returning p.id, p.exit_state
    ), details as (
      insert into process_results (process_id, error_detail)
      select id, ${detail}::text::json from ended where exit_state = 'failed'
    )
    select id from ended`;
  return rows.map(({ id }) => id);
}
