/** The statements of recovery: which claims are nobody's any more, and what becomes of them. */
import type { Db, Fragment } from "#api/db/pool.ts";
import type { ProcessErrorDetail } from "./model.ts";

/** Whose claims are looked at, and when they are nobody's any more. */
export interface Judging {
  /** Of this server; null: the only one. */
  replica: string | null;
  /** Processes that it holds. */
  held: readonly number[];
  /** Its own claims that it does not hold are nobody's when they are as old; null: at any age. */
  ownOlderThanMs: number | null;
  /** Claims of another are nobody's when it was not heard of for as long; null: only when it has signed off. */
  maxSilentMs: number | null;
}

/** A condition on `processes p`: nobody holds its claim any more. Without an id a claim is this server's own. */
export function isAbandoned(db: Db, { replica, held, ownOlderThanMs, maxSilentMs }: Judging): Fragment {
  return db`(
    case when p.replica is null or p.replica = ${replica}::uuid then
      p.id <> all(${[...held]}::bigint[]) and (
        ${ownOlderThanMs === null}::boolean
        or greatest(p.queued_at, p.started_at) <= now() - make_interval(secs => ${(ownOlderThanMs ?? 0) / 1000})
      )
    else not exists (
      select from replicas r where r.id = p.replica and (
        ${maxSilentMs === null}::boolean or r.seen_at > now() - make_interval(secs => ${(maxSilentMs ?? 0) / 1000})
      )
    ) end
  )`;
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
