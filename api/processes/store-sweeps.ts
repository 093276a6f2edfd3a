/** Statements over many processes at once: recovery at start, retention. Each is one batch; callers repeat them. */
import type { Db } from "#api/db/pool.ts";
import type { ProcessErrorDetail } from "./model.ts";

/**
 * Ends what nobody runs any more: `running` and `paused` as failed/interrupted, `terminating` as canceled/killed. Only
 * for the one server that owns the database. Paused runs without a child wait for their approvals and are left alone.
 * `except` names what it is running itself; `olderThanMs` null is any age.
 * Returns how many.
 */
export async function endAbandonedRuns(
  db: Db,
  error: ProcessErrorDetail | null,
  { except, olderThanMs }: { except: readonly number[]; olderThanMs: number | null },
): Promise<number> {
  const detail = JSON.stringify(error);
  const [row] = await db<{ count: number }[]>`
    with ended as (
      update processes set state = 'idle', completed_at = now(),
        exit_state = case when state = 'terminating' then 'canceled' else 'failed' end,
        reason = case when state = 'terminating' then 'killed' else 'interrupted' end,
        results_bytes = case when state = 'terminating' then 0 else ${detail.length}::int end
      where state in ('running', 'paused', 'terminating') and id <> all(${[...except]}::bigint[])
        and not (state = 'paused' and exists (select from process_checkpoints where process_id = id and detached))
        and (${olderThanMs === null}::boolean or started_at <= now() - make_interval(secs => ${(olderThanMs ?? 0) / 1000}))
      returning id, exit_state
    ), details as (
      insert into process_results (process_id, error_detail)
      select id, ${detail}::text::json from ended where exit_state = 'failed'
    )
    select count(*)::int as count from ended`;
  return row?.count ?? 0;
}

export async function countQueued(db: Db): Promise<number> {
  const [row] = await db<
    { count: number }[]
  >`select count(*)::int as count from processes where state = 'queued'`;
  return row?.count ?? 0;
}

/** Deletes finished processes that ended more than `days` ago, oldest first. Returns how many. */
export async function deleteFinishedBefore(db: Db, days: number, batch: number): Promise<number> {
  const rows = await db`
    delete from processes where state = 'idle' and exit_state is not null and id = any(array(
      select id from processes
      where exit_state is not null and completed_at < now() - make_interval(secs => ${days * 86_400})
      order by completed_at, id limit ${batch}
    )) returning id`;
  return rows.length;
}

/** Deletes the oldest finished processes beyond the `max` newest. Returns how many. */
export async function deleteFinishedBeyond(db: Db, max: number, batch: number): Promise<number> {
  const rows = await db`
    delete from processes where state = 'idle' and exit_state is not null and id = any(array(
      select id from processes where exit_state is not null
      order by completed_at desc, id desc offset ${max} limit ${batch}
    )) returning id`;
  return rows.length;
}

/** Forgets idempotency keys older than `maxAgeMs`. Returns how many. */
export async function deleteOldIdempotencyKeys(db: Db, maxAgeMs: number, batch: number): Promise<number> {
  const rows = await db`
    delete from idempotency_keys where ctid = any(array(
      select ctid from idempotency_keys
      where created_at <= now() - make_interval(secs => ${maxAgeMs / 1000}) order by created_at limit ${batch}
    )) returning key`;
  return rows.length;
}
