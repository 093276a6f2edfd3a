-- The schema after all migrations, printed by: node api/db/schema-dump.ts
-- Not applied by anything; migrations/ is.

create extension pg_trgm;

CREATE OR REPLACE FUNCTION public.claim_queued(environment_id text, replica_id uuid, max_rows integer, max_per_caller integer)
 RETURNS SETOF processes
 LANGUAGE plpgsql
AS $function$
begin
  -- Only a limit needs claims to follow each other: without one, servers that look at once take different rows.
  if max_per_caller is not null then
    perform pg_advisory_xact_lock(hashtextextended('cyrnel claims', 0));
  end if;
  return query
    with recursive callers (caller) as (
      (select coalesce(q.key_id, q.creator) from processes q where q.state = 'queued'
        order by coalesce(q.key_id, q.creator) limit 1)
      union all
      select (
        select coalesce(q.key_id, q.creator) from processes q
        where q.state = 'queued' and coalesce(q.key_id, q.creator) > c.caller
        order by coalesce(q.key_id, q.creator) limit 1
      )
      from callers c where c.caller is not null
    ), busy as (
      select coalesce(r.key_id, r.creator) as caller, count(*) filter (where r.exit_state is null) as runs, count(*) as used
      from (
        (select n.key_id, n.creator, n.exit_state from processes n where n.state in ('running', 'terminating'))
        union all
        (select e.key_id, e.creator, e.exit_state from processes e
          where (select count(caller) from callers) > 1 and e.exit_state is not null
            and e.completed_at > now() - interval '1 second'
          order by e.completed_at desc limit 250)
      ) r group by 1
    ), turns as (
      select q.id, q.priority, q.queued_at,
        coalesce(b.runs, 0) + row_number() over in_line as place, coalesce(b.used, 0) + row_number() over in_line as turn
      from callers c
        left join busy b on b.caller = c.caller
        cross join lateral (
          select n.id, n.priority, n.queued_at from processes n
          where n.state = 'queued' and coalesce(n.key_id, n.creator) = c.caller
          -- Some more than are wanted: others may be taking the first of them.
          order by n.priority desc, n.queued_at, n.id limit max_rows * 2 + 8
        ) q
      where c.caller is not null
      window in_line as (partition by c.caller order by q.priority desc, q.queued_at, q.id)
    )
    update processes as p set state = 'running', environment = environment_id, replica = replica_id,
      claim = case when p.asked then overlay(gen_random_uuid()::text placing left(p.claim::text, 8) from 1 for 8)::uuid
        else gen_random_uuid() end,
      started_at = case when p.asked then coalesce(p.started_at, now()) else now() end,
      queued_at = case when p.asked then now() else p.queued_at end
    where p.state = 'queued' and p.id = any(array(
      select q.id from processes q join turns t on t.id = q.id
      where q.state = 'queued' and (max_per_caller is null or t.place <= max_per_caller)
      order by t.turn, t.priority desc, t.queued_at, t.id
      limit max_rows for update of q skip locked
    ))
    returning p.*;
end
$function$;

CREATE OR REPLACE FUNCTION public.count_stored_bytes()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  of_owner record;
  most bigint := nullif(current_setting('cyrnel.max_stored_bytes', true), '')::bigint;
  used bigint;
  added bigint;
begin
  for of_owner in select distinct project, owner from changed where owner is not null order by 1, 2 loop
    insert into stored_bytes as s (project, owner, bytes) values (of_owner.project, of_owner.owner, 0)
      on conflict (project, owner) do update set bytes = s.bytes;
    if tg_op = 'INSERT' then
      with counted as (
        insert into stored_contents as c (project, owner, digest, size, uses)
        select k.project, of_owner.owner, k.digest, k.size, count(*)
        from changed n join contents k on k.project = n.project and k.digest = n.digest
        where n.project = of_owner.project and n.owner = of_owner.owner
        group by k.project, k.digest, k.size
        on conflict (project, owner, digest) do update set uses = c.uses + excluded.uses
        returning size, uses, xmax = 0 as is_new
      )
      select coalesce(sum(size) filter (where is_new), 0) into added from counted;
      update stored_bytes set bytes = bytes + added where project = of_owner.project and owner = of_owner.owner
        returning bytes into used;
      if added > 0 and used > most then
        raise exception 'the owner would keep % bytes', used using errcode = 'CY413', detail = (used - added)::text;
      end if;
    else
      update stored_contents c set uses = c.uses - fewer.uses
      from (
        select digest, count(*) as uses from changed
        where project = of_owner.project and owner = of_owner.owner group by digest
      ) fewer
      where c.project = of_owner.project and c.owner = of_owner.owner and c.digest = fewer.digest;
      with gone as (
        delete from stored_contents
        where project = of_owner.project and owner = of_owner.owner and uses <= 0
          and digest in (select digest from changed)
        returning size
      )
      update stored_bytes set bytes = bytes - coalesce((select sum(size) from gone), 0)
      where project = of_owner.project and owner = of_owner.owner;
    end if;
  end loop;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.forget_pauses()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update approvals set state = 'expired', decided_at = now(), reason = 'The process ended.'
    where process_id = new.id and state = 'pending';
  delete from process_checkpoints where process_id = new.id;
  delete from process_journal where process_id = new.id;
  delete from process_saved_answers where process_id = new.id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.forget_sealed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from secrets where (owner_kind, owner_id) in (
    select tg_argv[0],
      case tg_table_name
        when 'approvals' then gone ->> 'id' || suffix
        when 'process_checkpoints' then gone ->> 'process_id'
        else (gone ->> 'process_id') || ':' || (gone ->> 'seq')
      end
    from (select to_json(old) gone) row,
      unnest(case tg_table_name when 'approvals' then array['', ':answer'] else array[''] end) suffix
  );
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.keep_progress(process bigint, token uuid, is_over boolean, error json)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.note_approval()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('cyrnel_approvals', json_build_array(new.id, new.process_id, new.state)::text);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.note_component()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  id text;
begin
  if tg_op = 'DELETE' then
    execute format('select ($1).%I', tg_argv[1]) into id using old;
  else
    execute format('select ($1).%I', tg_argv[1]) into id using new;
  end if;
  perform pg_notify('cyrnel_components', json_build_array(tg_argv[0], id)::text);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.note_revision()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update revisions set revision = revision + 1 where kind = tg_argv[0];
  perform pg_notify('cyrnel_revisions', tg_argv[0]);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.refuse_audit_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'DELETE' and current_setting('cyrnel.audit_retention', true) = 'on' then
    return null;
  end if;
  raise exception 'audit records are append-only: % is refused', lower(tg_op) using errcode = 'insufficient_privilege';
end
$function$;

CREATE OR REPLACE FUNCTION public.remove_old_audit(older_than interval, max_rows integer)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  removed bigint;
begin
  if older_than < interval '1 day' then
    raise exception 'audit records younger than a day are never removed' using errcode = 'invalid_parameter_value';
  end if;
  perform set_config('cyrnel.audit_retention', 'on', true);
  delete from audit_log where id = any(array(
    select id from audit_log where at < now() - older_than order by at, id limit max_rows
  ));
  get diagnostics removed = row_count;
  perform set_config('cyrnel.audit_retention', 'off', true);
  return removed;
end
$function$;

CREATE OR REPLACE FUNCTION public.schema_hash(source json)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  select encode(sha256(convert_to(source::text, 'UTF8')), 'hex')
$function$;

CREATE OR REPLACE FUNCTION public.waiting_approvals(process bigint)
 RETURNS text[]
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(array_agg(id order by position), '{}') from approvals where process_id = process and state = 'pending'
$function$;

create table api_keys (
  id text not null,
  "position" bigint not null generated always as identity,
  name text not null,
  prefix text not null,
  hash bytea not null,
  scopes text[] not null,
  role_id text,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint api_keys_hash_key UNIQUE (hash),
  constraint api_keys_position_key UNIQUE ("position"),
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_role_id_fkey FOREIGN KEY (role_id) REFERENCES roles(id),
  constraint api_keys_hash_check CHECK ((length(hash) = 32)),
  constraint api_keys_id_check CHECK ((id ~ '^key_[0-9a-f]{20}$'::text)),
  constraint api_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint api_keys_prefix_check CHECK (((length(prefix) >= 4) AND (length(prefix) <= 16)))
);
CREATE INDEX api_keys_by_role ON public.api_keys USING btree (role_id) WHERE (role_id IS NOT NULL);
CREATE INDEX api_keys_live ON public.api_keys USING btree ("position" DESC) WHERE (revoked_at IS NULL);
CREATE TRIGGER api_keys_revision AFTER INSERT OR DELETE OR UPDATE OF name, hash, scopes, role_id, expires_at, revoked_at ON public.api_keys FOR EACH STATEMENT EXECUTE FUNCTION note_revision('keys');

create table approvals (
  id text not null,
  "position" bigint not null generated always as identity,
  process_id bigint not null,
  run uuid not null,
  seq integer not null,
  kind text not null,
  service_id text,
  tool_id text,
  destructive boolean not null,
  digest bytea not null,
  message text not null,
  requested_by text not null,
  policy_id text,
  state text not null default 'pending'::text,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  decided_at timestamp with time zone,
  decided_by text,
  reason text,
  used_at timestamp with time zone,
  started_by text,
  used_by uuid,
  constraint approvals_once UNIQUE (process_id, run, seq),
  constraint approvals_position_key UNIQUE ("position"),
  constraint approvals_pkey PRIMARY KEY (id),
  constraint approvals_process_id_fkey FOREIGN KEY (process_id) REFERENCES processes(id) ON DELETE CASCADE,
  constraint approvals_decided CHECK (((state = 'pending'::text) = (decided_at IS NULL))),
  constraint approvals_decider CHECK (((state <> ALL (ARRAY['approved'::text, 'denied'::text])) OR (decided_by IS NOT NULL))),
  constraint approvals_digest_check CHECK ((length(digest) = 32)),
  constraint approvals_id_check CHECK ((id ~ '^apr_[A-Za-z0-9_-]{22}$'::text)),
  constraint approvals_kind_check CHECK ((kind = ANY (ARRAY['call'::text, 'ask'::text]))),
  constraint approvals_message_check CHECK (((length(message) >= 1) AND (length(message) <= 4000))),
  constraint approvals_path CHECK ((((kind = 'call'::text) = (service_id IS NOT NULL)) AND ((kind = 'call'::text) = (tool_id IS NOT NULL)))),
  constraint approvals_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 1000))),
  constraint approvals_seq_check CHECK ((seq > 0)),
  constraint approvals_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'approved'::text, 'denied'::text, 'expired'::text]))),
  constraint approvals_used CHECK (((used_at IS NULL) OR (state = 'approved'::text)))
);
CREATE INDEX approvals_by_service ON public.approvals USING btree (service_id, "position" DESC) WHERE (service_id IS NOT NULL);
CREATE INDEX approvals_by_state ON public.approvals USING btree (state, "position" DESC);
CREATE INDEX approvals_due ON public.approvals USING btree (expires_at) WHERE (state = 'pending'::text);
CREATE INDEX approvals_pending ON public.approvals USING btree ("position" DESC) WHERE (state = 'pending'::text);
CREATE TRIGGER approvals_forget_sealed AFTER DELETE ON public.approvals FOR EACH ROW EXECUTE FUNCTION forget_sealed('approval');
CREATE TRIGGER approvals_note_change AFTER UPDATE OF state ON public.approvals FOR EACH ROW WHEN ((old.state <> new.state)) EXECUTE FUNCTION note_approval();
CREATE TRIGGER approvals_note_new AFTER INSERT ON public.approvals FOR EACH ROW EXECUTE FUNCTION note_approval();

create table audit_log (
  id bigint not null generated always as identity,
  at timestamp with time zone not null,
  actor_kind text not null,
  actor_id text,
  actor_name text not null,
  action text not null,
  object_kind text,
  object_id text,
  outcome text not null,
  code text,
  request_id text,
  process_id bigint,
  decision text,
  policy_id text,
  parameters_sha256 bytea,
  parameters_preview text,
  files text,
  http_status smallint,
  constraint audit_log_pkey PRIMARY KEY (id),
  constraint audit_log_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['anonymous'::text, 'bootstrap'::text, 'key'::text, 'system'::text]))),
  constraint audit_log_decision_check CHECK ((decision = ANY (ARRAY['allow'::text, 'ask'::text, 'block'::text]))),
  constraint audit_log_outcome_check CHECK ((outcome = ANY (ARRAY['ok'::text, 'refused'::text, 'failed'::text, 'canceled'::text, 'unknown'::text]))) NOT VALID,
  constraint audit_log_parameters_sha256_check CHECK ((length(parameters_sha256) = 32))
);
CREATE INDEX audit_log_by_action ON public.audit_log USING btree (action, at, id);
CREATE INDEX audit_log_by_actor ON public.audit_log USING btree (actor_id, at, id);
CREATE INDEX audit_log_by_decision ON public.audit_log USING btree (decision, at, id) WHERE (decision <> 'allow'::text);
CREATE INDEX audit_log_by_kind ON public.audit_log USING btree (object_kind, at, id);
CREATE INDEX audit_log_by_object ON public.audit_log USING btree (object_id, at, id);
CREATE INDEX audit_log_by_outcome ON public.audit_log USING btree (outcome, at, id) WHERE (outcome <> 'ok'::text);
CREATE INDEX audit_log_by_process ON public.audit_log USING btree (process_id, id) WHERE (process_id IS NOT NULL);
CREATE INDEX audit_log_by_request ON public.audit_log USING btree (request_id, id) WHERE (request_id IS NOT NULL);
CREATE INDEX audit_log_by_time ON public.audit_log USING btree (at, id);
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

create table blob_chunks (
  project text not null default 'default'::text,
  blob uuid not null,
  ends_at bigint not null,
  bytes bytea not null,
  constraint blob_chunks_pkey PRIMARY KEY (project, blob, ends_at),
  constraint blob_chunks_project_blob_fkey FOREIGN KEY (project, blob) REFERENCES blobs(project, id) ON DELETE CASCADE
);
alter table blob_chunks alter column bytes set storage external;

create table blobs (
  project text not null default 'default'::text,
  id uuid not null default gen_random_uuid(),
  place text not null,
  doomed boolean not null default false,
  upload text,
  touched_at timestamp with time zone not null default now(),
  constraint blobs_pkey PRIMARY KEY (project, id)
);
CREATE INDEX blobs_by_touch ON public.blobs USING btree (touched_at);

create table contents (
  project text not null default 'default'::text,
  digest text not null,
  size bigint not null,
  blob uuid not null,
  used_at timestamp with time zone not null default now(),
  constraint contents_pkey PRIMARY KEY (project, digest),
  constraint contents_project_blob_fkey FOREIGN KEY (project, blob) REFERENCES blobs(project, id)
);
CREATE INDEX contents_by_blob ON public.contents USING btree (project, blob);

create table files (
  project text not null default 'default'::text,
  owner text not null,
  digest text not null,
  name text,
  content_type text not null,
  created_at timestamp with time zone not null default now(),
  used_at timestamp with time zone not null default now(),
  "position" bigint not null generated always as identity,
  constraint files_pkey PRIMARY KEY (project, owner, digest),
  constraint files_project_digest_fkey FOREIGN KEY (project, digest) REFERENCES contents(project, digest)
);
CREATE INDEX files_by_digest ON public.files USING btree (project, digest);
CREATE INDEX files_by_owner ON public.files USING btree (project, owner, "position");
CREATE INDEX files_by_position ON public.files USING btree (project, "position");
CREATE INDEX files_by_use ON public.files USING btree (used_at);
CREATE TRIGGER files_count AFTER INSERT ON public.files REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_stored_bytes();
CREATE TRIGGER files_uncount AFTER DELETE ON public.files REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_stored_bytes();

create table idempotency_keys (
  caller text not null,
  key text not null,
  body_hash bytea not null,
  process_id bigint not null,
  created_at timestamp with time zone not null default now(),
  constraint idempotency_keys_pkey PRIMARY KEY (caller, key),
  constraint idempotency_keys_process_id_fkey FOREIGN KEY (process_id) REFERENCES processes(id) ON DELETE CASCADE
);
CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys USING btree (created_at);
CREATE INDEX idempotency_keys_by_process ON public.idempotency_keys USING btree (process_id);

create table left_contents (
  project text not null default 'default'::text,
  process_id bigint not null,
  owner text not null,
  digest text not null,
  constraint left_contents_pkey PRIMARY KEY (process_id, digest),
  constraint left_contents_process_id_fkey FOREIGN KEY (process_id) REFERENCES processes(id) ON DELETE CASCADE
);
CREATE TRIGGER left_contents_count AFTER INSERT ON public.left_contents REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_stored_bytes();
CREATE TRIGGER left_contents_uncount AFTER DELETE ON public.left_contents REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_stored_bytes();

create table module_settings (
  module_id text not null,
  config json not null,
  version integer not null,
  updated_at timestamp with time zone not null default now(),
  constraint module_settings_pkey PRIMARY KEY (module_id),
  constraint module_settings_module_id_fkey FOREIGN KEY (module_id) REFERENCES modules(id) ON DELETE CASCADE,
  constraint module_settings_config_check CHECK ((json_typeof(config) = 'object'::text)),
  constraint module_settings_version_check CHECK ((version > 0))
);
CREATE TRIGGER module_settings_note AFTER INSERT OR DELETE OR UPDATE ON public.module_settings FOR EACH ROW EXECUTE FUNCTION note_component('module', 'module_id');

create table modules (
  id text not null,
  "position" bigint not null generated always as identity,
  type text not null,
  name text not null,
  description text not null,
  version text,
  is_builtin boolean not null,
  enabled boolean not null,
  missing boolean not null default false,
  error text,
  hash text not null,
  source text not null default ''::text,
  created_at timestamp with time zone not null default now(),
  definitions_due boolean not null default false,
  constraint modules_position_key UNIQUE ("position"),
  constraint modules_pkey PRIMARY KEY (id),
  constraint modules_error_check CHECK (((length(error) >= 1) AND (length(error) <= 4000))),
  constraint modules_hash_check CHECK ((hash ~ '^[0-9a-f]{64}$'::text)),
  constraint modules_id_check CHECK (((id ~ '^[A-Za-z_$][A-Za-z0-9_$-]*$'::text) AND (length(id) <= 100))),
  constraint modules_name_check CHECK ((name <> ''::text)),
  constraint modules_type_check CHECK ((type = ANY (ARRAY['adapter'::text, 'environment'::text])))
);
CREATE UNIQUE INDEX modules_one_enabled_environment ON public.modules USING btree (type) WHERE ((type = 'environment'::text) AND enabled);
CREATE TRIGGER modules_note AFTER INSERT OR DELETE ON public.modules FOR EACH ROW EXECUTE FUNCTION note_component('module', 'id');
CREATE TRIGGER modules_note_change AFTER UPDATE ON public.modules FOR EACH ROW WHEN ((((old.enabled IS DISTINCT FROM new.enabled) OR (old.hash IS DISTINCT FROM new.hash)) OR (old.source IS DISTINCT FROM new.source))) EXECUTE FUNCTION note_component('module', 'id');

create table package_bundles (
  project text not null default 'default'::text,
  digest text not null,
  mappings text,
  used_at timestamp with time zone not null default now(),
  constraint package_bundles_pkey PRIMARY KEY (project, digest),
  constraint package_bundles_project_digest_fkey FOREIGN KEY (project, digest) REFERENCES contents(project, digest),
  constraint package_bundles_project_mappings_fkey FOREIGN KEY (project, mappings) REFERENCES contents(project, digest)
);
CREATE INDEX package_bundles_by_mappings ON public.package_bundles USING btree (project, mappings);

create table package_installations (
  project text not null default 'default'::text,
  id text not null,
  "position" bigint not null generated always as identity,
  name text not null,
  range text not null,
  lock_hash text not null default ''::text,
  state text not null,
  step text not null,
  done integer not null default 0,
  total integer,
  version text,
  error text,
  created_by text not null,
  created_at timestamp with time zone not null default now(),
  touched_at timestamp with time zone not null default now(),
  completed_at timestamp with time zone,
  constraint package_installations_pkey PRIMARY KEY (project, id),
  constraint package_installations_state_check CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'failed'::text])))
);
CREATE INDEX package_installations_by_position ON public.package_installations USING btree (project, "position");
CREATE UNIQUE INDEX package_installations_under_way ON public.package_installations USING btree (project, name, range, lock_hash) WHERE (state = 'running'::text);

create table packages (
  project text not null default 'default'::text,
  name text not null,
  version text not null,
  digest text not null,
  types text,
  source text not null,
  details json not null,
  installed_by text not null,
  installed_at timestamp with time zone not null default now(),
  constraint packages_pkey PRIMARY KEY (project, name, version),
  constraint packages_project_digest_fkey FOREIGN KEY (project, digest) REFERENCES package_bundles(project, digest),
  constraint packages_project_types_fkey FOREIGN KEY (project, types) REFERENCES contents(project, digest)
);
CREATE INDEX packages_by_digest ON public.packages USING btree (project, digest);
CREATE INDEX packages_by_types ON public.packages USING btree (project, types);
CREATE TRIGGER packages_revision AFTER INSERT OR DELETE OR UPDATE ON public.packages FOR EACH STATEMENT EXECUTE FUNCTION note_revision('packages');

create table policies (
  id text not null,
  "position" integer not null,
  service_pattern text not null,
  tool_pattern text not null,
  role_id text,
  process_id bigint,
  decision text not null,
  expires_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  no_role boolean not null default false,
  approval_id text,
  replaces text,
  key_ids text[] not null default '{}'::text[],
  constraint policies_position UNIQUE ("position") DEFERRABLE INITIALLY DEFERRED,
  constraint policies_pkey PRIMARY KEY (id),
  constraint policies_role_id_fkey FOREIGN KEY (role_id) REFERENCES roles(id),
  constraint policies_decision_check CHECK ((decision = ANY (ARRAY['allow'::text, 'ask'::text, 'block'::text]))),
  constraint policies_id_check CHECK ((id ~ '^pol_[0-9a-f]{20}$'::text)),
  constraint policies_one_role CHECK (((NOT no_role) OR (role_id IS NULL))),
  constraint policies_process_id_check CHECK ((process_id > 0)),
  constraint policies_process_rules_expire CHECK (((process_id IS NULL) OR (expires_at IS NOT NULL))),
  constraint policies_process_rules_remembered CHECK (((process_id IS NULL) OR (approval_id IS NOT NULL))),
  constraint policies_remembered CHECK (((approval_id IS NULL) OR ((decision = 'allow'::text) AND (expires_at IS NOT NULL) AND (no_role OR (role_id IS NOT NULL))))),
  constraint policies_service_pattern_check CHECK (((length(service_pattern) >= 1) AND (length(service_pattern) <= 200))),
  constraint policies_tool_pattern_check CHECK (((length(tool_pattern) >= 1) AND (length(tool_pattern) <= 200)))
);
CREATE INDEX policies_by_role ON public.policies USING btree (role_id) WHERE (role_id IS NOT NULL);
CREATE TRIGGER policies_revision AFTER INSERT OR DELETE OR UPDATE ON public.policies FOR EACH STATEMENT EXECUTE FUNCTION note_revision('policies');

create table process_artifacts (
  project text not null default 'default'::text,
  process_id bigint not null,
  name text not null,
  digest text not null,
  size bigint not null,
  content_type text not null,
  constraint process_artifacts_pkey PRIMARY KEY (process_id, name),
  constraint process_artifacts_process_id_fkey FOREIGN KEY (process_id) REFERENCES processes(id) ON DELETE CASCADE,
  constraint process_artifacts_project_digest_fkey FOREIGN KEY (project, digest) REFERENCES contents(project, digest)
);
CREATE INDEX process_artifacts_by_digest ON public.process_artifacts USING btree (project, digest);

create table process_checkpoints (
  process_id bigint not null,
  run uuid not null,
  replayable boolean not null,
  detached boolean not null default false,
  replays smallint not null default 0,
  usage json not null,
  paused_at timestamp with time zone not null default now(),
  unanswered integer[] not null default '{}'::integer[],
  constraint process_checkpoints_pkey PRIMARY KEY (process_id),
  constraint process_checkpoints_process_id_fkey FOREIGN KEY (process_id) REFERENCES processes(id) ON DELETE CASCADE,
  constraint process_checkpoints_replays_check CHECK ((replays >= 0))
);
CREATE TRIGGER process_checkpoints_forget_sealed AFTER DELETE ON public.process_checkpoints FOR EACH ROW EXECUTE FUNCTION forget_sealed('call_log');

create table process_files (
  project text not null default 'default'::text,
  process_id bigint not null,
  name text not null,
  digest text not null,
  size bigint not null,
  content_type text not null,
  owner text,
  constraint process_files_pkey PRIMARY KEY (process_id, name),
  constraint process_files_process_id_fkey FOREIGN KEY (process_id) REFERENCES processes(id) ON DELETE CASCADE,
  constraint process_files_project_digest_fkey FOREIGN KEY (project, digest) REFERENCES contents(project, digest)
);
CREATE INDEX process_files_by_digest ON public.process_files USING btree (project, digest);
CREATE TRIGGER process_files_count AFTER INSERT ON public.process_files REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_stored_bytes();
CREATE TRIGGER process_files_uncount AFTER DELETE ON public.process_files REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_stored_bytes();

create table process_journal (
  process_id bigint not null,
  seq integer not null,
  service_id text not null,
  tool_id text not null,
  digest bytea not null,
  destructive boolean not null,
  started_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  constraint process_journal_pkey PRIMARY KEY (process_id, seq),
  constraint process_journal_process_id_fkey FOREIGN KEY (process_id) REFERENCES processes(id) ON DELETE CASCADE,
  constraint process_journal_digest_check CHECK ((length(digest) = 32)),
  constraint process_journal_seq_check CHECK ((seq > 0))
);
CREATE TRIGGER process_journal_forget_sealed AFTER DELETE ON public.process_journal FOR EACH ROW EXECUTE FUNCTION forget_sealed('call_log');

create table process_packages (
  project text not null default 'default'::text,
  process_id bigint not null,
  name text not null,
  version text not null,
  digest text not null,
  constraint process_packages_pkey PRIMARY KEY (process_id, name, version),
  constraint process_packages_process_id_fkey FOREIGN KEY (process_id) REFERENCES processes(id) ON DELETE CASCADE
);
CREATE INDEX process_packages_by_digest ON public.process_packages USING btree (project, digest);

create table process_results (
  process_id bigint not null,
  stdout bytea not null default '\x'::bytea,
  stderr bytea not null default '\x'::bytea,
  stdout_truncated boolean not null default false,
  stderr_truncated boolean not null default false,
  output json not null default '{}'::json,
  outputs integer not null default 0,
  result json,
  error_detail json,
  artifacts json,
  packages json,
  warnings json,
  levels json,
  constraint process_results_pkey PRIMARY KEY (process_id),
  constraint process_results_process_id_fkey FOREIGN KEY (process_id) REFERENCES processes(id) ON DELETE CASCADE,
  constraint process_results_outputs_check CHECK ((outputs >= 0))
);

create table process_saved_answers (
  project text not null default 'default'::text,
  process_id bigint not null,
  seq integer not null,
  name text not null,
  digest text not null,
  size bigint not null,
  content_type text not null,
  owner text,
  constraint process_saved_answers_pkey PRIMARY KEY (process_id, seq),
  constraint process_saved_answers_process_id_fkey FOREIGN KEY (process_id) REFERENCES processes(id) ON DELETE CASCADE,
  constraint process_saved_answers_project_digest_fkey FOREIGN KEY (project, digest) REFERENCES contents(project, digest),
  constraint process_saved_answers_seq_check CHECK ((seq > 0))
);
CREATE INDEX process_saved_answers_by_digest ON public.process_saved_answers USING btree (project, digest);
CREATE TRIGGER process_saved_answers_count AFTER INSERT ON public.process_saved_answers REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_stored_bytes();
CREATE TRIGGER process_saved_answers_uncount AFTER DELETE ON public.process_saved_answers REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_stored_bytes();

create table processes (
  id bigint not null generated by default as identity,
  ref text,
  code text not null,
  state text not null,
  exit_state text,
  reason text,
  claim uuid,
  environment text,
  timeout_ms integer,
  memory_mb integer,
  cpu_ms integer,
  priority smallint not null default 0,
  usage json,
  results_bytes bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  queued_at timestamp with time zone,
  started_at timestamp with time zone,
  completed_at timestamp with time zone,
  creator text not null default 'anonymous'::text,
  key_id text,
  asked boolean not null default false,
  replica uuid,
  trace_parent text,
  started_by text,
  input json,
  input_schema json,
  files json,
  name text,
  constraint processes_ref_key UNIQUE (ref),
  constraint processes_pkey PRIMARY KEY (id),
  constraint processes_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id),
  constraint processes_state CHECK ((
CASE state
    WHEN 'idle'::text THEN true
    WHEN 'queued'::text THEN ((exit_state IS NULL) AND (queued_at IS NOT NULL))
    ELSE ((state = ANY (ARRAY['running'::text, 'paused'::text, 'terminating'::text])) AND (exit_state IS NULL) AND (claim IS NOT NULL) AND (started_at IS NOT NULL))
END AND ((exit_state IS NULL) = (reason IS NULL)) AND ((exit_state IS NULL) = (completed_at IS NULL)) AND
CASE exit_state
    WHEN 'success'::text THEN (reason = 'ok'::text)
    WHEN 'timeout'::text THEN (reason = 'timeout'::text)
    WHEN 'canceled'::text THEN (reason = ANY (ARRAY['killed'::text, 'queue_timeout'::text]))
    WHEN 'failed'::text THEN (reason = ANY (ARRAY['script_error'::text, 'unhandled_rejection'::text, 'syntax_error'::text, 'memory_limit'::text, 'cpu_limit'::text, 'output_limit'::text, 'crashed'::text, 'sandbox_violation'::text, 'approval_denied'::text, 'approval_expired'::text, 'replay_divergence'::text, 'interrupted'::text, 'interrupted_call'::text]))
    ELSE (exit_state IS NULL)
END AND ((creator = 'key'::text) = (key_id IS NOT NULL)))) NOT VALID
);
CREATE INDEX processes_by_exit_state ON public.processes USING btree (exit_state, id);
CREATE INDEX processes_by_submitter ON public.processes USING btree (COALESCE(key_id, creator), id);
CREATE INDEX processes_finished ON public.processes USING btree (completed_at, id) WHERE (exit_state IS NOT NULL);
CREATE INDEX processes_live ON public.processes USING btree (state, id) WHERE (state <> 'idle'::text);
CREATE INDEX processes_queue ON public.processes USING btree (priority DESC, queued_at, id) WHERE (state = 'queued'::text);
CREATE INDEX processes_queue_by_caller ON public.processes USING btree (COALESCE(key_id, creator), priority DESC, queued_at, id) WHERE (state = 'queued'::text);
CREATE TRIGGER processes_forget_pauses AFTER UPDATE OF state ON public.processes FOR EACH ROW WHEN ((old.asked AND (new.state = 'idle'::text) AND (old.state <> 'idle'::text))) EXECUTE FUNCTION forget_pauses();

create table removed_starters (
  project text not null default 'default'::text,
  name text not null,
  constraint removed_starters_pkey PRIMARY KEY (project, name)
);

create table replica_watch (
  id boolean not null default true,
  heard_since timestamp with time zone not null default now(),
  constraint replica_watch_pkey PRIMARY KEY (id),
  constraint replica_watch_id_check CHECK (id)
);

create table replicas (
  id uuid not null,
  name text not null,
  version text not null,
  address text,
  token bytea not null,
  place json,
  secrets_key text,
  secrets_keys text[] not null default '{}'::text[],
  slots integer,
  modules json not null default '{}'::json,
  started_at timestamp with time zone not null default now(),
  seen_at timestamp with time zone not null default now(),
  draining boolean not null default false,
  constraint replicas_pkey PRIMARY KEY (id),
  constraint replicas_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint replicas_slots_check CHECK ((slots >= 0)),
  constraint replicas_token_check CHECK ((length(token) = 32))
);

create table retention_count (
  id boolean not null default true,
  counted bigint not null,
  completed_at timestamp with time zone not null,
  process_id bigint not null,
  constraint retention_count_pkey PRIMARY KEY (id),
  constraint retention_count_counted_check CHECK ((counted >= 0)),
  constraint retention_count_id_check CHECK (id)
);

create table revisions (
  kind text not null,
  revision bigint not null default 0,
  constraint revisions_pkey PRIMARY KEY (kind),
  constraint revisions_kind_check CHECK ((kind = ANY (ARRAY['keys'::text, 'roles'::text, 'policies'::text, 'packages'::text])))
);

create table roles (
  id text not null,
  "position" bigint not null generated always as identity,
  name text not null,
  allow text[] not null,
  deny text[] not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  packages text[] not null default '{*}'::text[],
  constraint roles_name_key UNIQUE (name),
  constraint roles_position_key UNIQUE ("position"),
  constraint roles_pkey PRIMARY KEY (id),
  constraint roles_allow_check CHECK ((cardinality(allow) <= 1000)),
  constraint roles_deny_check CHECK ((cardinality(deny) <= 1000)),
  constraint roles_id_check CHECK ((id ~ '^[A-Za-z][A-Za-z0-9_-]{0,63}$'::text)),
  constraint roles_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);
CREATE TRIGGER roles_revision AFTER INSERT OR DELETE OR UPDATE ON public.roles FOR EACH STATEMENT EXECUTE FUNCTION note_revision('roles');

create table run_progress (
  process_id bigint not null,
  claim uuid not null,
  part integer not null,
  stdout bytea not null,
  stderr bytea not null,
  stdout_truncated boolean not null,
  stderr_truncated boolean not null,
  output json not null,
  outputs integer not null,
  calls json not null,
  usage json not null,
  packages json,
  warnings json,
  levels json,
  constraint run_progress_pkey PRIMARY KEY (process_id, claim, part),
  constraint run_progress_process_id_fkey FOREIGN KEY (process_id) REFERENCES processes(id) ON DELETE CASCADE
);

create table schema_migrations (
  id integer not null default nextval('schema_migrations_id_seq'::regclass),
  name character varying(255) not null,
  run_on timestamp without time zone not null,
  constraint schema_migrations_pkey PRIMARY KEY (id)
);

create table secrets (
  owner_kind text not null,
  owner_id text not null,
  sealed json not null,
  version integer not null,
  updated_at timestamp with time zone not null default now(),
  constraint secrets_pkey PRIMARY KEY (owner_kind, owner_id),
  constraint secrets_owner_id_check CHECK ((owner_id <> ''::text)),
  constraint secrets_owner_kind_check CHECK ((owner_kind = ANY (ARRAY['service'::text, 'module'::text, 'approval'::text, 'call_log'::text]))),
  constraint secrets_sealed_check CHECK ((json_typeof(sealed) = 'object'::text)),
  constraint secrets_version_check CHECK ((version > 0))
);
CREATE INDEX secrets_by_key ON public.secrets USING btree (((sealed ->> 'kid'::text)));
CREATE TRIGGER module_secrets_note AFTER INSERT OR UPDATE ON public.secrets FOR EACH ROW WHEN ((new.owner_kind = 'module'::text)) EXECUTE FUNCTION note_component('module', 'owner_id');
CREATE TRIGGER service_secrets_note AFTER INSERT OR UPDATE ON public.secrets FOR EACH ROW WHEN ((new.owner_kind = 'service'::text)) EXECUTE FUNCTION note_component('service', 'owner_id');

create table service_settings (
  service_id text not null,
  config json not null,
  version integer not null,
  updated_at timestamp with time zone not null default now(),
  constraint service_settings_pkey PRIMARY KEY (service_id),
  constraint service_settings_service_id_fkey FOREIGN KEY (service_id) REFERENCES services(id) ON DELETE CASCADE,
  constraint service_settings_config_check CHECK ((json_typeof(config) = 'object'::text)),
  constraint service_settings_version_check CHECK ((version > 0))
);
CREATE TRIGGER service_settings_note AFTER INSERT OR DELETE OR UPDATE ON public.service_settings FOR EACH ROW EXECUTE FUNCTION note_component('service', 'service_id');

create table services (
  id text not null,
  "position" bigint not null generated always as identity,
  name text not null,
  description text not null,
  adapter text not null,
  hash text not null,
  source text not null default ''::text,
  definition bytea not null,
  adapter_domain json not null,
  config_schema json not null,
  secrets_schema json not null,
  enabled boolean not null default false,
  stale boolean not null default false,
  error text,
  created_at timestamp with time zone not null default now(),
  problems json not null default '[]'::json,
  constraint services_position_key UNIQUE ("position"),
  constraint services_pkey PRIMARY KEY (id),
  constraint services_adapter_fkey FOREIGN KEY (adapter) REFERENCES modules(id) ON DELETE CASCADE,
  constraint services_config_schema_check CHECK ((json_typeof(config_schema) = 'object'::text)),
  constraint services_error_check CHECK (((length(error) >= 1) AND (length(error) <= 4000))),
  constraint services_hash_check CHECK ((hash ~ '^[0-9a-f]{64}$'::text)),
  constraint services_id_check CHECK (((id ~ '^[A-Za-z_$][A-Za-z0-9_$]*$'::text) AND (length(id) <= 100))),
  constraint services_secrets_schema_check CHECK ((json_typeof(secrets_schema) = 'object'::text))
);
CREATE INDEX services_by_adapter ON public.services USING btree (adapter, id);
CREATE TRIGGER services_note AFTER INSERT OR DELETE ON public.services FOR EACH ROW EXECUTE FUNCTION note_component('service', 'id');
CREATE TRIGGER services_note_change AFTER UPDATE ON public.services FOR EACH ROW WHEN (((((old.enabled IS DISTINCT FROM new.enabled) OR (old.stale IS DISTINCT FROM new.stale)) OR (old.hash IS DISTINCT FROM new.hash)) OR ((old.adapter_domain)::text IS DISTINCT FROM (new.adapter_domain)::text))) EXECUTE FUNCTION note_component('service', 'id');

create table stored_bytes (
  project text not null default 'default'::text,
  owner text not null,
  bytes bigint not null,
  constraint stored_bytes_pkey PRIMARY KEY (project, owner)
);

create table stored_contents (
  project text not null default 'default'::text,
  owner text not null,
  digest text not null,
  size bigint not null,
  uses bigint not null,
  constraint stored_contents_pkey PRIMARY KEY (project, owner, digest)
);

create table sweep_turns (
  name text not null,
  taken_at timestamp with time zone not null default now(),
  constraint sweep_turns_pkey PRIMARY KEY (name)
);

create table tool_calls (
  process_id bigint not null,
  seq integer not null,
  "position" integer,
  service_id text not null,
  tool_id text not null,
  started_at timestamp with time zone not null,
  duration_ms double precision,
  status text,
  error text,
  parameters_bytes bigint not null,
  result_bytes bigint not null,
  parameters json,
  result json,
  waited_ms double precision not null default 0,
  warnings json,
  http_status smallint,
  constraint tool_calls_pkey PRIMARY KEY (process_id, seq),
  constraint tool_calls_process_id_fkey FOREIGN KEY (process_id) REFERENCES processes(id) ON DELETE CASCADE,
  constraint tool_calls_duration_ms_check CHECK ((duration_ms >= (0)::double precision)),
  constraint tool_calls_http_status_check CHECK (((http_status >= 100) AND (http_status <= 599))),
  constraint tool_calls_parameters_bytes_check CHECK ((parameters_bytes >= 0)),
  constraint tool_calls_position_check CHECK (("position" >= 0)),
  constraint tool_calls_result_bytes_check CHECK ((result_bytes >= 0)),
  constraint tool_calls_seq_check CHECK ((seq > 0)),
  constraint tool_calls_status_check CHECK ((status = ANY (ARRAY['ok'::text, 'error'::text, 'denied'::text, 'canceled'::text, 'unknown'::text]))) NOT VALID
);

create table tools (
  service_id text not null,
  id text not null,
  "position" integer not null,
  name text not null,
  description text not null,
  input_schema json not null,
  output_schema json not null,
  adapter_domain json not null,
  destructive boolean not null default false,
  enabled boolean not null default true,
  input_hash text not null generated always as (schema_hash(input_schema)) stored,
  output_hash text not null generated always as (schema_hash(output_schema)) stored,
  fetch_scope json,
  constraint tools_pkey PRIMARY KEY (service_id, id),
  constraint tools_service_id_fkey FOREIGN KEY (service_id) REFERENCES services(id) ON DELETE CASCADE,
  constraint tools_id_check CHECK (((id ~ '^[A-Za-z_$][A-Za-z0-9_$]*(\.[A-Za-z_$][A-Za-z0-9_$]*){0,7}$'::text) AND (length(id) <= 200))),
  constraint tools_input_schema_check CHECK ((json_typeof(input_schema) = 'object'::text)),
  constraint tools_output_schema_check CHECK ((json_typeof(output_schema) = 'object'::text)),
  constraint tools_position_check CHECK (("position" >= 0))
);
CREATE INDEX tools_listed ON public.tools USING btree (service_id, "position", id COLLATE "C");
CREATE INDEX tools_listed_by_flag ON public.tools USING btree (service_id, enabled, "position", id COLLATE "C");
CREATE INDEX tools_switched_off ON public.tools USING btree (service_id, id) WHERE (NOT enabled);
CREATE INDEX tools_with_fetch ON public.tools USING btree (service_id) WHERE (fetch_scope IS NOT NULL);
CREATE TRIGGER tools_note AFTER UPDATE OF enabled ON public.tools FOR EACH ROW WHEN ((old.enabled <> new.enabled)) EXECUTE FUNCTION note_component('service', 'service_id');
