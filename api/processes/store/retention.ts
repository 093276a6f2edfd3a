import type { Db } from "#api/db/pool.ts";

/**
 * Position of a finished process in ending order. The time is Postgres text with microseconds, which a JavaScript
 * Date would lose.
 */
export interface FinishedPosition {
  completedAt: string;
  id: number;
}

/** Deletes finished processes that ended more than `days` ago, oldest first. Returns their number. */
export async function deleteFinishedBefore(db: Db, days: number, batch: number): Promise<number> {
  const rows = await db`
    delete from processes where state = 'idle' and exit_state is not null and id = any(array(
      select id from processes
      where exit_state is not null and completed_at < now() - make_interval(secs => ${days * 86_400})
      order by completed_at, id limit ${batch}
    )) returning id`;
  return rows.length;
}

/** Deletes finished processes that ended before the given one, oldest first. Returns their number. */
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

/** Result of an earlier sweep: at most `counted` processes had finished up to this position. */
export interface FinishedCount extends FinishedPosition {
  counted: number;
}

export async function readFinishedCount(db: Db): Promise<FinishedCount | null> {
  const [row] = await db<FinishedCount[]>`
    select counted, completed_at::text as "completedAt", process_id as id from retention_count`;
  return row ?? null;
}

/** Counts processes that finished after one position and up to another, stopping at `most`. */
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

/** Returns the position of the process that finished last, or null if there is none. */
export async function findNewestFinished(db: Db): Promise<FinishedPosition | null> {
  const [row] = await db<FinishedPosition[]>`
    select completed_at::text as "completedAt", id from processes where exit_state is not null
    order by completed_at desc, id desc limit 1`;
  return row ?? null;
}

/** Returns the position `rows` endings before another, or null if there are fewer. */
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

export async function countFinishedUpTo(db: Db, { completedAt, id }: FinishedPosition): Promise<number> {
  const [row] = await db<{ rows: number }[]>`
    select count(*)::int as rows from processes
    where exit_state is not null and (completed_at, id) <= (${completedAt}::text::timestamptz, ${id}::bigint)`;
  return row?.rows ?? 0;
}

/** Does nothing if another server has recorded a count since `before` was read. */
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

/** Deletes idempotency keys older than `maxAgeMs`. Returns their number. */
export async function deleteOldIdempotencyKeys(db: Db, maxAgeMs: number, batch: number): Promise<number> {
  const rows = await db`
    delete from idempotency_keys where ctid = any(array(
      select ctid from idempotency_keys
      where created_at <= now() - make_interval(secs => ${maxAgeMs / 1000}) order by created_at limit ${batch}
    )) returning key`;
  return rows.length;
}
