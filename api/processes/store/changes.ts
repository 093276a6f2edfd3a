/**
 * SQL statements that change processes, one function each. Every state change is a single statement guarded by the
 * allowed previous states and, for a run, by its claim token.
 */

import type { Db } from "#api/db/pool.ts";
import { allowStoredBytes, toStorageFull } from "#api/db/stored-bytes.ts";
import type { TrailCall } from "../model/calls.ts";
import type { ProcessArtifact } from "../model/files.ts";
import type {
  IdempotencyKey,
  NewProcess,
  Placement,
  ProcessRow,
  RunEnding,
  Submitted,
} from "../model/records.ts";
import { HELD_STATES, type ProcessState, statesBefore } from "../model/states.ts";

/** Returns a new claim for a continuing run. It keeps the prefix that identifies the run to readers. */
export function renewedClaim(db: Db) {
  return db`overlay(gen_random_uuid()::text placing left(claim::text, 8) from 1 for 8)::uuid`;
}

/**
 * Returns the columns of a process row. `isSettled`: the process is new or finished, so pending approvals are not
 * looked up.
 */
export function processColumns(db: Db, isSettled = false) {
  const approvals = isSettled
    ? db`'{}'::text[]`
    : db`case when p.asked and p.state <> 'idle' then waiting_approvals(p.id) else '{}' end`;
  return db`p.id, p.ref, p.state, p.exit_state as "exitState", p.reason, p.claim, p.replica, p.environment,
    p.timeout_ms as "timeoutMs", p.memory_mb as "memoryMb", p.cpu_ms as "cpuMs", p.key_id as "keyId",
    coalesce(p.key_id, p.creator) as "submittedBy", coalesce(p.started_by, p.key_id, p.creator) as "startedBy",
    p.trace_parent as "traceParent", p.usage, p.asked,
    ${approvals} as approvals, p.created_at as "createdAt", p.queued_at as "queuedAt", p.started_at as "startedAt", p.completed_at as "completedAt"`;
}

export function submittedColumns(db: Db) {
  return db`p.code, p.input::text as input, p.input_schema::text as "inputSchema", p.files::text as files, p.name`;
}

export type InsertOutcome =
  | { kind: "stored"; row: ProcessRow }
  | { kind: "ref_taken" }
  | { kind: "key_known" };

/**
 * Stores a process as `idle` or `queued`, or as `running` if it has a placement. Stores nothing if the idempotency
 * key is already known and younger than `keyTtlMs`; concurrent duplicates wait for each other on the key. Throws
 * storage_full.
 */
export async function insertProcess(
  db: Db,
  input: NewProcess,
  run: Placement | "queued" | null,
  idempotency: (IdempotencyKey & { keyTtlMs: number }) | null,
): Promise<InsertOutcome> {
  const placement = run === "queued" ? null : run;
  const { maxStoredBytes = null } = input;
  const values = db`
    ${input.ref ?? null}, ${input.code}, ${placement ? "running" : (run ?? "idle")}, ${placement?.claim ?? null}::uuid,
    ${placement?.environment ?? null}, ${input.timeoutMs}::int, ${input.memoryMb}::int, ${input.cpuMs}::int,
    case when ${run !== null}::boolean then now() end, case when ${placement !== null}::boolean then now() end,
    ${input.creator.kind}, ${input.creator.keyId}, ${placement?.replica ?? null}::uuid, ${input.priority ?? 0}::smallint, ${input.traceParent ?? null},
    ${input.input ?? null}::text::json, ${input.inputSchema ?? null}::text::json, ${input.files ?? null}::text::json,
    ${input.name ?? null}::text`;
  const columns = db`ref, code, state, claim, environment, timeout_ms, memory_mb, cpu_ms, queued_at, started_at,
    creator, key_id, replica, priority, trace_parent, input, input_schema, files, name`;
  const insert = idempotency
    ? db`insert into processes as p (id, ${columns}) select process_id, ${values} from fresh_key
        returning ${processColumns(db, true)}`
    : db`insert into processes as p (${columns}) values (${values}) returning ${processColumns(db, true)}`;
  try {
    const [row] =
      idempotency || input.files
        ? await db<ProcessRow[]>`with
            ${idempotency ? freshKey(db, idempotency) : db``} ${idempotency && input.files ? db`,` : db``}
            ${input.files ? db`p as (${insert}), ${givenFiles(db, input.files, maxStoredBytes)} select * from p` : insert}`
        : ((await insert) as unknown as ProcessRow[]);
    return row ? { kind: "stored", row } : { kind: "key_known" };
  } catch (error) {
    if (isRefTaken(error)) return { kind: "ref_taken" };
    throw toStorageFull(error, maxStoredBytes);
  }
}

function freshKey(db: Db, { caller, key, bodyHash, keyTtlMs }: IdempotencyKey & { keyTtlMs: number }) {
  return db`fresh_key as (
    insert into idempotency_keys as k (caller, key, body_hash, process_id)
    values (${caller}, ${key}, ${bodyHash}, nextval('processes_id_seq'))
    on conflict (caller, key) do update
      set body_hash = excluded.body_hash, process_id = excluded.process_id, created_at = now()
      where k.created_at <= now() - make_interval(secs => ${keyTtlMs / 1000})
    returning process_id
  )`;
}

/**
 * References the given files so that their contents are stored as long as the process. `files` has the form records
 * show.
 */
function givenFiles(db: Db, files: string, maxStoredBytes: number | null) {
  return db`${allowStoredBytes(db, maxStoredBytes)}, given as (
    insert into process_files (process_id, owner, name, digest, size, content_type)
    select p.id, p."submittedBy", f.name, substr(f.id, length('sha256-') + 1), f.size, f."contentType"
    from allowed, p, json_to_recordset(${files}::text::json) as f (name text, id text, size bigint, "contentType" text)
  )`;
}

function isRefTaken(error: unknown): boolean {
  return (
    error instanceof Error && "constraint_name" in error && error.constraint_name === "processes_ref_key"
  );
}

/** Finds the process of an idempotency key. Returns null if the key is unknown or older than `keyTtlMs`. */
export async function findIdempotencyKey(
  db: Db,
  caller: string,
  key: string,
  keyTtlMs: number,
): Promise<{ processId: number; bodyHash: Buffer } | null> {
  const [row] = await db<{ processId: number; bodyHash: Buffer }[]>`
    select process_id as "processId", body_hash as "bodyHash" from idempotency_keys
    where caller = ${caller} and key = ${key}
      and created_at > now() - make_interval(secs => ${keyTtlMs / 1000})`;
  return row ?? null;
}

/**
 * Restarts an idle process as `queued` or `running` and clears the results of its last run. Returns null if it may
 * not be restarted. `startedBy`: see `ProcessRow`. `input` is JSON text that replaces the input; null leaves it
 * unchanged.
 */
export async function restartProcess(
  db: Db,
  id: number,
  placement: Placement | null,
  { force, startedBy, input = null }: { force: boolean; startedBy: string; input?: string | null },
  traceParent: string | null = null,
): Promise<(ProcessRow & Submitted) | null> {
  const [row] = await db<(ProcessRow & Submitted)[]>`
    with restarted as (
      update processes as p set state = ${placement ? "running" : "queued"}, claim = ${placement?.claim ?? null}::uuid,
        environment = ${placement?.environment ?? null}, replica = ${placement?.replica ?? null}::uuid, exit_state = null, reason = null, usage = null,
        results_bytes = 0, asked = false, trace_parent = ${traceParent}, started_by = ${startedBy}, queued_at = now(), started_at = case when ${placement !== null}::boolean then now() end,
        completed_at = null${input === null ? db`` : db`, input = ${input}::text::json`}
      where id = ${id} and state = 'idle' and (${force}::boolean or exit_state is null)
        ${input === null ? db`and (input is not null or input_schema is null)` : db``}
      returning ${processColumns(db)}, ${submittedColumns(db)}
    ), cleared_results as (
      delete from process_results where process_id in (select id from restarted)
    ), cleared_artifacts as (
      delete from process_artifacts where process_id in (select id from restarted)
    ), cleared_packages as (
      delete from process_packages where process_id in (select id from restarted)
    ), cleared_left as (
      delete from left_contents where process_id in (select id from restarted)
    ), cleared_calls as (
      delete from tool_calls where process_id in (select id from restarted)
    )
    select * from restarted`;
  return row ?? null;
}

/** Returns null if the process is not queued. */
export async function cancelQueued(db: Db, id: number): Promise<ProcessRow | null> {
  const [row] = await db<ProcessRow[]>`
    update processes as p set state = 'idle', exit_state = 'canceled', reason = 'killed', completed_at = now()
    where id = ${id} and state = 'queued'
    returning ${processColumns(db)}`;
  return row ?? null;
}

/**
 * Marks a run held by another server as `terminating`, so that its server ends it. Returns false if the run has ended
 * or has no child.
 */
export async function terminateElsewhere(db: Db, id: number, replica: string | null): Promise<boolean> {
  const { count } = await db`
    update processes set state = 'terminating'
    where id = ${id} and replica is not distinct from ${replica}::uuid and state in ('running', 'paused')
      and not (state = 'paused' and exists (select from process_checkpoints where process_id = id and detached))`;
  return count === 1;
}

/** Reads the claims and states of the runs this server holds, by process id. */
export async function readClaims(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, { claim: string | null; state: ProcessState }>> {
  const rows = await db<{ id: number; claim: string | null; state: ProcessState }[]>`
    select id, claim, state from processes where id = any(${[...ids]}::bigint[])`;
  return new Map(rows.map(({ id, claim, state }) => [id, { claim, state }]));
}

/**
 * Changes the state of a run in progress. Returns null if the run has ended, its claim differs, or the change is not
 * allowed.
 */
export async function changeHeldState(
  db: Db,
  id: number,
  claim: string,
  to: (typeof HELD_STATES)[number],
): Promise<ProcessRow | null> {
  const from = statesBefore(to).filter((state) => (HELD_STATES as readonly ProcessState[]).includes(state));
  const [row] = await db<ProcessRow[]>`
    update processes as p set state = ${to}
    where id = ${id} and claim = ${claim}::uuid and state = any(${from})
    returning ${processColumns(db)}`;
  return row ?? null;
}

/**
 * Ends a run and stores its results in one statement. Returns null if the run has already ended or its claim differs.
 */
export async function finishRun(db: Db, ending: RunEnding): Promise<ProcessRow | null> {
  const errorDetail = ending.error === null ? null : JSON.stringify(ending.error);
  const resultsBytes = ending.output.length + (ending.result?.length ?? 0) + (errorDetail?.length ?? 0);
  const [row] = await db<ProcessRow[]>`
    with finished as (
      update processes as p set state = 'idle', exit_state = ${ending.exitState}, reason = ${ending.reason},
        memory_mb = ${ending.memoryMb}::int, usage = ${JSON.stringify(ending.usage)}::text::json,
        results_bytes = ${resultsBytes}, completed_at = now()
      where id = ${ending.id} and claim = ${ending.claim}::uuid and state in ('running', 'paused', 'terminating')
      returning ${processColumns(db, true)}
    ), results as (
      insert into process_results (
        process_id, stdout, stderr, stdout_truncated, stderr_truncated, output, outputs, result, error_detail,
        artifacts, packages, warnings, levels
      )
      select id, ${ending.stdout}, ${ending.stderr}, ${ending.truncated.stdout}, ${ending.truncated.stderr},
        ${ending.output}::text::json, ${ending.outputs}, ${ending.result}::text::json, ${errorDetail}::text::json,
        ${toJsonList(ending.artifacts)}::text::json, ${toJsonList(ending.packages)}::text::json,
        ${toJsonList(ending.warnings)}::text::json, ${ending.levels && JSON.stringify(ending.levels)}::text::json
      from finished ${ending.hasProgress ? replaceResults(db) : db``}
    )${ending.calls.length === 0 ? db`` : callsOfFinished(db, ending.calls, ending.hasProgress === true)}
    ${ending.hasProgress ? db`, parts as (delete from run_progress where process_id in (select id from finished))` : db``}
    ${ending.artifacts.length === 0 ? db`` : artifactsOfFinished(db, ending.artifacts)}
    select * from finished`;
  return row ?? null;
}

/** Returns null for an empty list. */
export function toJsonList(items: readonly unknown[]): string | null {
  return items.length === 0 ? null : JSON.stringify(items);
}

/** For a run whose results are partly stored already. */
export function replaceResults(db: Db) {
  return db`on conflict (process_id) do update set stdout = excluded.stdout, stderr = excluded.stderr,
    stdout_truncated = excluded.stdout_truncated, stderr_truncated = excluded.stderr_truncated,
    output = excluded.output, outputs = excluded.outputs, result = excluded.result, error_detail = excluded.error_detail,
    artifacts = excluded.artifacts, packages = excluded.packages, warnings = excluded.warnings,
    levels = excluded.levels`;
}

export async function storeCalls(db: Db, id: number, calls: readonly TrailCall[]): Promise<void> {
  if (calls.length === 0) return;
  await db`with finished as (select ${id}::bigint as id)${callsOfFinished(db, calls, true)} select from finished`;
}

/** Part of `finishRun` that references the contents of the run's artifacts. */
function artifactsOfFinished(db: Db, artifacts: readonly ProcessArtifact[]) {
  return db`, artifacts as (
      insert into process_artifacts (process_id, name, digest, size, content_type)
      select finished.id, a.name, a.sha256, a.size, a."contentType"
      from finished, json_to_recordset(${JSON.stringify(artifacts)}::text::json)
        as a (name text, sha256 text, size bigint, "contentType" text)
    )`;
}

/**
 * Part of `finishRun` that stores the call trail; most runs have none. `replaces`: some of it may already be stored.
 */
function callsOfFinished(db: Db, calls: readonly TrailCall[], replaces: boolean) {
  return db`, calls as (
      insert into tool_calls (
        process_id, seq, position, service_id, tool_id, started_at, duration_ms, waited_ms, status, error,
        http_status, parameters_bytes, result_bytes, parameters, result, warnings
      )
      select finished.id, c.seq, c.position, c."serviceId", c."toolId", c."startedAt", c."durationMs",
        coalesce(c."waitedMs", 0), c.status, c.error,
        c."httpStatus", c."parametersBytes", c."resultBytes", c.parameters::json, c.result::json, c.warnings
      from finished, json_to_recordset(${JSON.stringify(calls)}::text::json) as c (
        seq integer, position integer, "serviceId" text, "toolId" text, "startedAt" timestamptz,
        "durationMs" double precision, "waitedMs" double precision, status text, error text, "httpStatus" smallint, "parametersBytes" bigint, "resultBytes" bigint,
        parameters text, result text, warnings json
      )
      ${
        replaces
          ? db`on conflict (process_id, seq) do update set position = excluded.position,
              duration_ms = excluded.duration_ms, waited_ms = excluded.waited_ms, status = excluded.status,
              error = excluded.error, http_status = excluded.http_status, service_id = excluded.service_id, tool_id = excluded.tool_id,
              parameters_bytes = excluded.parameters_bytes, parameters = excluded.parameters,
              result_bytes = excluded.result_bytes, result = excluded.result, warnings = excluded.warnings`
          : db``
      }
    )`;
}

/** Returns false if the process is not idle or does not exist. */
export async function deleteProcess(db: Db, id: number): Promise<boolean> {
  const rows = await db`delete from processes where id = ${id} and state = 'idle' returning id`;
  return rows.length === 1;
}
