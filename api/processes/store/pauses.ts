/** SQL statements that pause and resume runs, guarded by state and claim like all other process statements. */
import type { Db, Fragment } from "#api/db/pool.ts";
import { allowStoredBytes, toStorageFull } from "#api/db/stored-bytes.ts";
import type { PackageUse, Usage } from "#sdk";
import type { JournaledCall, KeptAnswer } from "../model/calls.ts";
import type { RunSnapshot } from "../model/records.ts";
import { renewedClaim, replaceResults, storeCalls, toJsonList } from "./changes.ts";

export interface CheckpointRow {
  run: string;
  replays: number;
  usage: Usage;
}

export interface JournalRow extends JournaledCall {
  endedAt: Date | null;
}

/**
 * Locks a process. Call first in every transaction that decides about, pauses or detaches a run: it serializes them.
 */
export async function lockProcess(db: Db, id: number): Promise<void> {
  await db`select from processes where id = ${id} for update`;
}

/**
 * Changes a run from `running` (or already `paused`) to `paused` and stores what a replay needs. Returns false if the
 * run has ended or its claim differs.
 */
export async function pauseRun(
  db: Db,
  run: { id: number; claim: string; run: string },
  kept: { replayable: boolean; usage: Usage; unanswered: readonly number[] },
): Promise<boolean> {
  const { count } = await db`
    with paused as (
      update processes set state = 'paused', asked = true
      where id = ${run.id} and claim = ${run.claim}::uuid and state in ('running', 'paused')
      returning id
    )
    insert into process_checkpoints as c (process_id, run, replayable, usage, unanswered)
    select id, ${run.run}::uuid, ${kept.replayable},
      ${JSON.stringify(kept.usage)}::text::json, ${[...kept.unanswered]}::integer[]
    from paused
    on conflict (process_id) do update set replayable = excluded.replayable, detached = false, replays = 0,
      usage = excluded.usage, unanswered = excluded.unanswered`;
  return count === 1;
}

/** Marks a run that continues while an approver is asked, so that its approvals expire when it ends. */
export async function markAsked(db: Db, id: number, claim: string): Promise<boolean> {
  const { count } = await db`
    update processes set asked = true where id = ${id} and claim = ${claim}::uuid and state in ('running', 'paused')`;
  return count === 1;
}

export async function resumeRun(db: Db, id: number, claim: string): Promise<boolean> {
  const { count } = await db`
    update processes set state = 'running'
    where id = ${id} and claim = ${claim}::uuid and state in ('running', 'paused')`;
  return count === 1;
}

/**
 * Detaches a run from its child, unless one of the `waiting` approvals was decided. Call after `lockProcess`. The
 * claim is renewed, so late statements of the old child (such as a kill in flight) change nothing. `gone`: the claim
 * had already been renewed, because the reply to an earlier attempt was lost.
 */
export async function detachRun(
  db: Db,
  { id, claim }: { id: number; claim: string },
  waiting: readonly string[],
  shown: Pick<RunSnapshot, "usage" | "output">,
): Promise<"left" | "stays" | "gone"> {
  const [row] = await db<{ isLeft: boolean; isOwn: boolean }[]>`
    with released as (
      update processes set claim = ${renewedClaim(db)}, usage = ${JSON.stringify(shown.usage)}::text::json,
        results_bytes = ${shown.output.length}
      where id = ${id} and claim = ${claim}::uuid and state = 'paused'
        and exists (select from process_checkpoints where process_id = ${id} and replayable)
        and not exists (select from approvals where id = any(${[...waiting]}::text[]) and state <> 'pending')
      returning id
    ), detached as (
      update process_checkpoints set detached = true where process_id in (select id from released)
    )
    select exists (select from released) as "isLeft",
      exists (select from processes where id = ${id} and claim = ${claim}::uuid) as "isOwn"`;
  if (row?.isLeft) return "left";
  return row?.isOwn ? "stays" : "gone";
}

/** Queues a paused run without a child once the approval is decided. Call after `lockProcess`. */
export async function requeueRun(db: Db, id: number, approval: string): Promise<boolean> {
  const { count } = await db`
    update processes set state = 'queued', queued_at = now()
    where id = ${id} and state = 'paused'
      and exists (select from process_checkpoints where process_id = ${id} and detached)
      and exists (select from approvals where id = ${approval} and state <> 'pending')`;
  return count === 1;
}

export async function cancelDetached(db: Db, id: number): Promise<boolean> {
  const { count } = await db`
    update processes set state = 'idle', exit_state = 'canceled', reason = 'killed', completed_at = now()
    where id = ${id} and state = 'paused'
      and exists (select from process_checkpoints where process_id = ${id} and detached)`;
  return count === 1;
}

/**
 * Starts a replay and counts it, once per detachment. Returns null if there is no checkpoint or another server has
 * claimed the run.
 */
export async function takeCheckpoint(db: Db, id: number, claim: string): Promise<CheckpointRow | null> {
  const [row] = await db<CheckpointRow[]>`
    update process_checkpoints c set detached = false, replays = c.replays + c.detached::int
    from processes p
    where c.process_id = ${id} and c.replayable and p.id = c.process_id and p.claim = ${claim}::uuid
    returning c.run, c.replays, c.usage`;
  return row ?? null;
}

/**
 * Stores calls of a paused run. Calls without a row are stored as `started`; calls whose reply the checkpoint
 * contains are deleted.
 */
export async function keepCalls(
  db: Db,
  id: number,
  calls: readonly JournaledCall[],
  unanswered: readonly number[],
): Promise<void> {
  await db`
    with covered as (
      delete from process_journal where process_id = ${id} and seq <> all(${[...unanswered]}::integer[])
    )
    insert into process_journal (process_id, seq, service_id, tool_id, digest, destructive)
    select ${id}, seq, "serviceId", "toolId", decode(digest, 'hex'), destructive
    from json_to_recordset(${JSON.stringify(calls.map(toJson))}::text::json) as c (
      seq integer, "serviceId" text, "toolId" text, digest text, destructive boolean
    )
    where seq = any(${[...unanswered]}::integer[])
    on conflict do nothing`;
}

/**
 * Journals that a call begins. Returns `none` if the run has no checkpoint, so its calls need no journal. `use` marks
 * the approval as used, which succeeds only once. The process is locked first, as in every pause transaction: a
 * server that takes over or pauses the run either did so before this call or will see it.
 */
export async function beginCall(
  db: Db,
  { id, claim }: { id: number; claim: string },
  call: JournaledCall,
  use: ((when: Fragment) => Fragment) | null,
): Promise<{ outcome: "begun" | "none" | "gone"; isUsed: boolean }> {
  const [row] = await db<{ kept: boolean; isUsed: boolean }[]>`
    with run as (
      select p.id, c.process_id is not null as kept
      from processes p left join process_checkpoints c on c.process_id = p.id
      where p.id = ${id} and p.claim = ${claim}::uuid and p.state in ('running', 'paused')
      for share of p
    ), used as (
      ${use === null ? db`select from run where false` : use(db`select from run`)}
    ), stored as (
      insert into process_journal (process_id, seq, service_id, tool_id, digest, destructive)
      select id, ${call.seq}, ${call.serviceId}, ${call.toolId}, ${call.digest}, ${call.destructive} from run where kept
      on conflict (process_id, seq) do update set started_at = now()
    )
    select kept, exists (select from used) as "isUsed" from run`;
  if (row === undefined) return { outcome: "gone", isUsed: false };
  return { outcome: row.kept ? "begun" : "none", isUsed: row.isUsed };
}

/**
 * Stores the packages the run has imported, replacing its earlier list. Their bundles are retained as long as the run
 * may be replayed.
 */
export async function keepPackages(db: Db, id: number, packages: readonly PackageUse[]): Promise<void> {
  await db`
    insert into process_packages (process_id, name, version, digest)
    select ${id}, name, version, digest
    from json_to_recordset(${JSON.stringify(packages)}::text::json) as u (name text, version text, digest text)
    on conflict (process_id, name, version) do update set digest = excluded.digest`;
}

export async function listPackages(db: Db, id: number): Promise<PackageUse[]> {
  return db<PackageUse[]>`
    select name, version, digest from process_packages where process_id = ${id} order by name, version`;
}

/** Returns a statement that yields a row if the call exists. If it does not, its reply need not be stored. */
export function endCall(db: Db, id: number, seq: number): Fragment {
  return db`update process_journal set ended_at = now() where process_id = ${id} and seq = ${seq} returning seq`;
}

/**
 * References the saved answers of a paused run; their contents are retained until the run ends. Throws storage_full.
 */
export async function keepSaved(
  db: Db,
  id: number,
  answers: readonly KeptAnswer[],
  maxStoredBytes: number | null,
): Promise<void> {
  if (answers.length === 0) return;
  await db`
    with ${allowStoredBytes(db, maxStoredBytes)}
    insert into process_saved_answers (process_id, owner, seq, name, digest, size, content_type)
    select p.id, coalesce(p.key_id, p.creator), a.seq, a.name, substr(a.id, length('sha256-') + 1), a.size,
      a."contentType"
    from allowed, processes p, json_to_recordset(${JSON.stringify(answers)}::text::json) as a (
      seq integer, id text, name text, size bigint, "contentType" text
    )
    where p.id = ${id} and p.state in ('running', 'paused')
    on conflict do nothing`.catch((error) => {
    throw toStorageFull(error, maxStoredBytes);
  });
}

export async function listSaved(db: Db, id: number): Promise<KeptAnswer[]> {
  return db<KeptAnswer[]>`
    select seq, name, 'sha256-' || digest as id, size, content_type as "contentType" from process_saved_answers
    where process_id = ${id} order by seq`;
}

export async function listJournal(db: Db, id: number): Promise<JournalRow[]> {
  return db<JournalRow[]>`
    select seq, service_id as "serviceId", tool_id as "toolId", digest, destructive, ended_at as "endedAt"
    from process_journal where process_id = ${id} order by seq`;
}

export async function countPaused(db: Db, max: number): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select count(*)::int as count from (select from processes where state = 'paused' limit ${max}) paused`;
  return row?.count ?? 0;
}

/** Stores what a run without a child shows, replacing the parts stored before. */
export async function storeSnapshot(db: Db, id: number, shown: RunSnapshot): Promise<void> {
  await db`
    with parts as (delete from run_progress where process_id = ${id})
    insert into process_results (process_id, stdout, stderr, stdout_truncated, stderr_truncated, output, outputs, packages, warnings, levels)
    values (${id}, ${shown.stdout}, ${shown.stderr}, ${shown.truncated.stdout}, ${shown.truncated.stderr},
      ${shown.output}::text::json, ${shown.outputs}, ${toJsonList(shown.packages)}::text::json,
      ${toJsonList(shown.warnings)}::text::json, ${shown.levels && JSON.stringify(shown.levels)}::text::json)
    ${replaceResults(db)}`;
  await storeCalls(db, id, shown.calls);
}

/**
 * Recovers the replayable runs of a dead server. Paused runs lose their child. Runs that were running, or whose
 * script has not yet received a decision, are queued. `withDecided` also queues runs without a child that were
 * decided while being detached; this reads every paused run. `abandoned` is true if no server holds `processes p`.
 * Returns the ids of queued runs.
 */
export async function recoverPausedRuns(
  db: Db,
  abandoned: Fragment,
  withDecided: boolean,
): Promise<number[]> {
  const rows = await db<{ id: number; state: string }[]>`
    with lost as (
      select p.id, p.claim as left_claim, is_due, coalesce(g.usage, c.usage) as left_usage
      from processes p join process_checkpoints c on c.process_id = p.id
        cross join lateral (
          select p.state = 'running'
            or not exists (select from approvals a where a.process_id = p.id and a.run = c.run and a.state = 'pending')
            or exists (
              select from approvals a
              where a.process_id = p.id and a.run = c.run and a.state <> 'pending' and a.seq = any(c.unanswered)
            ) as is_due
        ) due
        left join lateral (
          select usage from run_progress where process_id = p.id and claim = p.claim order by part desc limit 1
        ) g on true
      where p.state in ('running', 'paused') and c.replayable
        and case when p.state = 'paused' and c.detached then ${withDecided}::boolean and is_due else ${abandoned} end
    ), released as (
      update processes p set claim = ${renewedClaim(db)}, state = case when is_due then 'queued' else p.state end,
        queued_at = case when is_due then now() else p.queued_at end, usage = lost.left_usage
      from lost where p.id = lost.id and p.state in ('running', 'paused')
      returning p.id, p.state, lost.left_claim
    ), detached as (
      update process_checkpoints set detached = true where process_id in (select id from released)
    ), uncounted as (
      delete from left_contents where process_id in (select id from released where state = 'queued')
    )
    select id, state, keep_progress(id, left_claim, false, null) from released`;
  return rows.filter(({ state }) => state === "queued").map(({ id }) => id);
}

function toJson({ seq, serviceId, toolId, digest, destructive }: JournaledCall) {
  return { seq, serviceId, toolId, digest: digest.toString("hex"), destructive };
}
