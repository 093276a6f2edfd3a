/** Rows as a service leaves them behind over a month: processes, what they left, their calls, records, keys. Set-based. */
import type { Pool } from "#api/db/pool.ts";

/** The newest processes, which have not ended. */
export const QUEUED = 200;
const RUNNING = 20;
const PAUSED = 5;
const KEYS = 20;
const DAYS = 30;

/**
 * Fills a database that holds no process: one in a hundred failed by its time limit, all of them long ago. Needs a superuser: foreign
 * keys are not checked row by row.
 */
export async function insertProcesses(pool: Pool, count: number): Promise<void> {
  await pool.begin(async (db) => {
    await db`set local session_replication_role = replica`;
    await db`set local work_mem = '256MB'`;
    await db`
      insert into api_keys (id, name, prefix, hash, scopes)
      select 'key_' || lpad(to_hex(n), 20, '0'), 'key ' || n, 'cyr_' || lpad(n::text, 4, '0'), sha256(n::text::bytea), '{}'
      from generate_series(1, ${KEYS}::int) n`;
    await db`
      insert into processes (
        id, ref, code, state, exit_state, reason, claim, environment, timeout_ms, memory_mb, usage, results_bytes,
        created_at, queued_at, started_at, completed_at, creator, key_id, asked
      )
      select n, case when n % 3 = 0 then 'job-' || n end,
        'const order = await load(' || n || ');' || repeat(' // what a client sends', 8),
        state, exit_state,
        case exit_state when 'success' then 'ok' when 'failed' then 'script_error' when 'timeout' then 'timeout'
          when 'canceled' then 'killed' end,
        case when is_run then gen_random_uuid() end, case when is_run then 'typescript-process' end, 30000, 128,
        case when exit_state is not null then
          '{"queuedMs":1.5,"startMs":12.25,"wallMs":250.5,"cpuMs":40,"peakMemoryBytes":41943040,"toolCalls":3}'::json end,
        case when exit_state is null then 0 else 60 end,
        at, case when state <> 'idle' or is_run then at end, case when is_run then at end,
        case when exit_state is not null then at + interval '1 second' end,
        case when n % 10 = 0 then 'anonymous' else 'key' end,
        case when n % 10 <> 0 then 'key_' || lpad(to_hex(1 + n % ${KEYS}), 20, '0') end,
        state = 'paused'
      from (
        select n, state, at, exit_state, state in ('running', 'paused') or exit_state is not null as is_run
        from (
          select n, state, now() - (${count} - n) * (interval '${pool.unsafe(String(DAYS))} days' / ${count}) as at,
            case when state <> 'idle' or n % 100 = 7 then null when n % 100 in (1, 21, 41, 61, 81, 91) then 'failed'
              when n % 20 = 11 and n <= ${count} / 5 then 'timeout' when n % 1000 = 13 then 'canceled' else 'success' end as exit_state
          from (
            select n, case when n > ${count - QUEUED} then 'queued' when n > ${count - QUEUED - RUNNING} then 'running'
              when n > ${count - QUEUED - RUNNING - PAUSED} then 'paused' else 'idle' end as state
            from generate_series(1, ${count}::int) n
          ) numbered
        ) ended
      ) begun`;
    await db`
      insert into process_results (process_id, stdout, outputs, output, result, error_detail)
      select id as process_id, convert_to(repeat('a line that a script has printed' || chr(10), 4), 'UTF8'), 1, '{"order":1}',
        case when exit_state = 'success' then json_build_object('order', id, 'state', 'paid') end,
        case when exit_state = 'failed' then
          '{"name":"TypeError","message":"it failed","stack":null,"line":1,"column":1}'::json end
      from processes where exit_state is not null order by process_id`;
    await db`
      insert into tool_calls (
        process_id, seq, position, service_id, tool_id, started_at, duration_ms, status, parameters_bytes, result_bytes,
        parameters, result
      )
      select p.id as process_id, c as seq, c - 1, 'github', 'getIssue1', p.started_at, 25, 'ok', 20, 30, '{"issue":1}', '{"state":"open"}'
      from processes p, generate_series(1, 3) c where p.exit_state is not null and p.id % 5 = 0 order by process_id, seq`;
    await db`
      insert into approvals (
        id, process_id, run, seq, kind, destructive, digest, message, requested_by, expires_at
      )
      select 'apr_' || lpad(id::text, 22, '0'), id, claim, 1, 'ask', false, sha256(id::text::bytea), 'Go on?', 'key',
        now() + interval '1 day'
      from processes where state = 'paused'`;
    await db`
      insert into approvals (
        id, process_id, run, seq, kind, destructive, digest, message, requested_by, state, expires_at, decided_at, decided_by
      )
      select 'apr_' || lpad(id::text, 22, '0'), id, claim, 1, 'ask', false, sha256(id::text::bytea), 'Go on?', 'key',
        'approved', started_at + interval '1 day', completed_at, 'key'
      from processes where exit_state is not null and id % 20 = 0 order by processes.id`;
    await db`
      insert into idempotency_keys (caller, key, body_hash, process_id, created_at)
      select coalesce(key_id, creator), 'request ' || id, sha256(id::text::bytea), id, created_at
      from processes where created_at > now() - interval '1 day' and id % 2 = 0`;
    // Half are submissions, half calls. What is seldom was long ago, so that whoever walks to it walks far.
    await db`
      insert into audit_log (
        at, actor_kind, actor_id, actor_name, action, object_kind, object_id, outcome, code, request_id, process_id, decision
      )
      select created_at + c * interval '1 millisecond', creator, key_id, coalesce(key_id, creator),
        case when c = 1 then 'tool.call' when is_seldom then 'policy.change' else 'process.create' end,
        case when c = 1 then 'tool' when is_seldom then 'policy' else 'process' end,
        case when c = 1 then 'github.getIssue' || p.id % 100 else p.id::text end,
        case when is_seldom and p.id % 500 = 0 then 'failed' when is_seldom then 'refused' else 'ok' end,
        case when is_seldom then 'forbidden' end, 'request-' || p.id, p.id,
        case when c = 0 then null when not is_seldom then 'allow' when p.id % 500 = 0 then 'block' else 'ask' end
      from (select *, id % 100 = 0 and id <= ${count} / 5 as is_seldom from processes) p, generate_series(0, 1) c
      order by p.id, c`;
    await db`select setval('processes_id_seq', ${count}::bigint)`;
  });
  await pool`vacuum (analyze)`;
}
