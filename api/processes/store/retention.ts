/** The statements of retention: what is too old or too much, in batches; callers repeat them. */
import type { Db } from "#api/db/pool.ts";

/** Where a finished process stands in the order of ending. The time is the database's own text, to the microsecond: a date of JavaScript is cut. */
export interface FinishedPosition {
  completedAt: string;
  id: number;
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

/** Deletes finished processes that ended before one, which stays; the oldest first. Returns how many. */
export async function deleteFinishedUpTo(
  db: Db,
  { completedAt, id }: FinishedPosition,
  batch: number,
): Promise<number> {
  const rows = await db`
    delete from processes where state = 'idle' and exit_state is not null and id = any(array(
      select id from processes
      where exit_state is not null and (completed_at, id) < (${completedAt}::text::timestamptz, ${id}::bigint)
      order by completed_at, id limit ${batch}
    )) returning id`;
  return rows.length;
}

/** What a sweep knew: at most `counted` processes had finished up to one. */
export interface FinishedCount extends FinishedPosition {
  counted: number;
}

/** Null: not counted yet. */
export async function readFinishedCount(db: Db): Promise<FinishedCount | null> {
  const [row] = await db<FinishedCount[]>`
    select counted, completed_at::text as "completedAt", process_id as id from retention_count`;
  return row ?? null;
}

/** How many have finished after one and up to another; counts to `most`. */
export async function countFinishedBetween(
  db: Db,
  after: FinishedPosition,
  upTo: FinishedPosition,
  most: number,
): Promise<number> {
  const [row] = await db<{ rows: number }[]>`
    select count(*)::int as rows from (
      select from processes
      where exit_state is not null and (completed_at, id) > (${after.completedAt}::text::timestamptz, ${after.id}::bigint)
        and (completed_at, id) <= (${upTo.completedAt}::text::timestamptz, ${upTo.id}::bigint)
      limit ${most}
    ) finished`;
  return row?.rows ?? 0;
}

/** Of all finished processes the one that ended last; null without any. */
export async function findNewestFinished(db: Db): Promise<FinishedPosition | null> {
  const [row] = await db<FinishedPosition[]>`
    select completed_at::text as "completedAt", id from processes where exit_state is not null
    order by completed_at desc, id desc limit 1`;
  return row ?? null;
}

/** The one that ended `rows` before another; null where there are not as many. */
export async function stepBack(
  db: Db,
  { completedAt, id }: FinishedPosition,
  rows: number,
): Promise<FinishedPosition | null> {
  const [row] = await db<FinishedPosition[]>`
    select completed_at::text as "completedAt", id from processes
    where exit_state is not null and (completed_at, id) <= (${completedAt}::text::timestamptz, ${id}::bigint)
    order by completed_at desc, id desc offset ${rows} limit 1`;
  return row ?? null;
}

/** How many ended up to one, itself included. */
export async function countFinishedUpTo(db: Db, { completedAt, id }: FinishedPosition): Promise<number> {
  const [row] = await db<{ rows: number }[]>`
    select count(*)::int as rows from processes
    where exit_state is not null and (completed_at, id) <= (${completedAt}::text::timestamptz, ${id}::bigint)`;
  return row?.rows ?? 0;
}

/** Unless another has noted something since `before` was read. */
export async function recordFinishedCount(
  db: Db,
  before: FinishedCount | null,
  { counted, completedAt, id }: FinishedCount,
): Promise<void> {
  await db`
    insert into retention_count as c (counted, completed_at, process_id)
    values (${counted}, ${completedAt}::text::timestamptz, ${id})
    on conflict (id) do update set counted = excluded.counted, completed_at = excluded.completed_at,
      process_id = excluded.process_id
      where (c.counted, c.completed_at, c.process_id)
        = (${before?.counted ?? null}::bigint, ${before?.completedAt ?? null}::text::timestamptz, ${before?.id ?? null}::bigint)`;
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
