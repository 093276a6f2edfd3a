-- Which bytes of the two streams were printed with console.debug and console.warn: { stdout: [[start, end, level]], stderr: … };
-- null for none, as of most runs. Each part of a run under way has those of the whole streams so far.
alter table process_results add column levels json;
alter table run_progress add column levels json;

create or replace function keep_progress(process bigint, token uuid, is_over boolean, error json) returns void language plpgsql as $$
begin
  insert into process_results as r (process_id, stdout, stderr, stdout_truncated, stderr_truncated, output, outputs,
    packages, warnings, levels, error_detail)
  select process, coalesce(string_agg(g.stdout, '' order by g.part), ''), coalesce(string_agg(g.stderr, '' order by g.part), ''),
    coalesce(bool_or(g.stdout_truncated), false), coalesce(bool_or(g.stderr_truncated), false),
    (
      select ('{' || coalesce(string_agg(m.member, ','), '') || '}')::json from (
        select distinct on (o.name) o.member from run_progress p, json_to_recordset(p.output) as o (name text, member text)
        where p.process_id = process and p.claim = token order by o.name, p.part desc
      ) m
    ),
    coalesce(max(g.outputs), 0), (array_agg(g.packages order by g.part desc))[1], (array_agg(g.warnings order by g.part desc))[1],
    (array_agg(g.levels order by g.part desc))[1], error
  from run_progress g where g.process_id = process and g.claim = token
  having count(*) > 0 or error is not null
  on conflict (process_id) do update set error_detail = excluded.error_detail,
    stdout = case when length(excluded.stdout) > length(r.stdout) then excluded.stdout else r.stdout end,
    stderr = case when length(excluded.stderr) > length(r.stderr) then excluded.stderr else r.stderr end,
    levels = case when excluded.levels is not null or r.levels is not null then json_build_object(
      'stdout', case when length(excluded.stdout) > length(r.stdout) then excluded.levels else r.levels end -> 'stdout',
      'stderr', case when length(excluded.stderr) > length(r.stderr) then excluded.levels else r.levels end -> 'stderr'
    ) end,
    stdout_truncated = r.stdout_truncated or excluded.stdout_truncated,
    stderr_truncated = r.stderr_truncated or excluded.stderr_truncated,
    output = case when excluded.outputs > r.outputs then excluded.output else r.output end,
    outputs = greatest(excluded.outputs, r.outputs),
    packages = coalesce(excluded.packages, r.packages), warnings = coalesce(excluded.warnings, r.warnings);
  insert into tool_calls as t (process_id, seq, position, service_id, tool_id, started_at, duration_ms, waited_ms, status, error,
    http_status, parameters_bytes, result_bytes, parameters, result, warnings)
  select distinct on (c.seq) process, c.seq, c.position, c."serviceId", c."toolId", c."startedAt", c."durationMs",
    coalesce(c."waitedMs", 0), c.status, c.error, c."httpStatus", c."parametersBytes", c."resultBytes", c.parameters::json, c.result::json, c.warnings
  from run_progress g, json_to_recordset(g.calls) as c (
    seq integer, position integer, "serviceId" text, "toolId" text, "startedAt" timestamptz, "durationMs" double precision,
    "waitedMs" double precision, status text, error text, "httpStatus" smallint, "parametersBytes" bigint, "resultBytes" bigint,
    parameters text, result text, warnings json
  )
  where g.process_id = process and g.claim = token
  order by c.seq, g.part desc
  on conflict (process_id, seq) do update set position = excluded.position, duration_ms = excluded.duration_ms,
    waited_ms = excluded.waited_ms, status = excluded.status, error = excluded.error, http_status = excluded.http_status, result_bytes = excluded.result_bytes,
    result = excluded.result, warnings = excluded.warnings
    where t.position is null;
  if is_over then
    update tool_calls t set status = 'unknown', duration_ms = 0, position = n.position,
      error = 'The server ended while the call was under way.'
    from (
      select seq, row_number() over (order by seq) + (
        select coalesce(max(position), -1) from tool_calls where process_id = process
      ) as position
      from tool_calls where process_id = process and tool_calls.position is null
    ) n
    where t.process_id = process and t.seq = n.seq;
  end if;
  delete from run_progress where process_id = process;
end $$;
