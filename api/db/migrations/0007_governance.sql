-- Counts the changes of what servers hold compiled in memory: a server whose copy has another number loads it anew.
create table revisions (
  kind text primary key check (kind in ('keys', 'roles', 'policies')),
  revision bigint not null default 0
);
insert into revisions (kind) values ('keys'), ('roles'), ('policies');

-- The row lock makes changes of one kind follow each other, so that the order of revisions is the order of commits.
create function note_revision() returns trigger language plpgsql as $$
begin
  update revisions set revision = revision + 1 where kind = tg_argv[0];
  perform pg_notify('cyrnel_revisions', tg_argv[0]);
  return null;
end
$$;

-- Which tools a key may see and call: dotted patterns; deny wins, an empty allow list allows nothing.
create table roles (
  id text primary key check (id ~ '^role_[0-9a-f]{20}$'),
  position bigint generated always as identity unique,
  name text not null unique check (length(name) between 1 and 200),
  allow text[] not null check (cardinality(allow) <= 1000),
  deny text[] not null check (cardinality(deny) <= 1000),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create trigger roles_revision after insert or update or delete on roles
  for each statement execute function note_revision('roles');

-- API keys. A key is 256 random bits, so a plain SHA-256 of it cannot be searched; a slow hash is for passwords.
-- Revoked keys stay: processes and the audit trail name them.
create table api_keys (
  id text primary key check (id ~ '^key_[0-9a-f]{20}$'),
  position bigint generated always as identity unique,
  name text not null check (length(name) between 1 and 200),
  -- The beginning of the key, to tell keys apart.
  prefix text not null check (length(prefix) between 4 and 16),
  hash bytea not null unique check (length(hash) = 32),
  scopes text[] not null,
  role_id text references roles (id),
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  -- Written at most once a minute.
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_by_role on api_keys (role_id) where role_id is not null;
create index api_keys_live on api_keys (position desc) where revoked_at is null;
create trigger api_keys_revision after insert or delete
  or update of name, hash, scopes, role_id, expires_at, revoked_at on api_keys
  for each statement execute function note_revision('keys');

-- Rules over tool calls in the order of `position`: the first that matches decides.
create table policies (
  id text primary key check (id ~ '^pol_[0-9a-f]{20}$'),
  position integer not null,
  service_pattern text not null check (length(service_pattern) between 1 and 200),
  tool_pattern text not null check (length(tool_pattern) between 1 and 200),
  -- Only for calls under this role.
  role_id text references roles (id),
  -- Only for calls of this process. No foreign key: such a rule expires soon, and a cascade would run at every deletion.
  process_id bigint check (process_id > 0),
  decision text not null check (decision in ('allow', 'ask', 'block')),
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  constraint policies_position unique (position) deferrable initially deferred,
  constraint policies_process_rules_expire check (process_id is null or expires_at is not null)
);
create index policies_by_role on policies (role_id) where role_id is not null;
create trigger policies_revision after insert or update or delete on policies
  for each statement execute function note_revision('policies');

-- Whose process it is. Its tool calls see and may do what the role of this key allows, as long as the key is valid.
alter table processes
  add column creator text not null default 'anonymous' check (creator in ('anonymous', 'bootstrap', 'key')),
  add column key_id text references api_keys (id),
  add constraint processes_creator_key check ((creator = 'key') = (key_id is not null));

-- Who did what, on which object, with what outcome. Without foreign keys: it outlives what it names.
create table audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  actor_kind text not null check (actor_kind in ('anonymous', 'bootstrap', 'key', 'system')),
  actor_id text,
  actor_name text not null,
  action text not null,
  object_kind text,
  object_id text,
  outcome text not null check (outcome in ('ok', 'refused', 'failed')),
  -- The error code, where there was one.
  code text,
  request_id text,
  process_id bigint,
  decision text check (decision in ('allow', 'ask', 'block')),
  policy_id text,
  parameters_sha256 bytea check (length(parameters_sha256) = 32),
  -- JSON text, redacted and cut.
  parameters_preview text
);
create index audit_log_by_time on audit_log (at, id);
create index audit_log_by_actor on audit_log (actor_id, id);
create index audit_log_by_action on audit_log (action, id);
create index audit_log_by_object on audit_log (object_kind, object_id, id);
create index audit_log_by_process on audit_log (process_id, id) where process_id is not null;
create index audit_log_by_request on audit_log (request_id, id) where request_id is not null;

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('cyrnel.audit_retention', true) = 'on' then
    return null;
  end if;
  raise exception 'audit records are append-only: % is refused', lower(tg_op) using errcode = 'insufficient_privilege';
end
$$;
create trigger audit_log_append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_audit_change();

-- The only way by which audit records are removed: old ones, the oldest first, at most `max_rows`. Answers how many.
create function remove_old_audit(older_than interval, max_rows integer) returns bigint language plpgsql as $$
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
$$;
