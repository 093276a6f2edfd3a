-- Whether the run has asked a person: then process_checkpoints has a row of it, until it ends.
alter table processes add column asked boolean not null default false;

-- What is needed to let a paused run go on without the child it paused in. The checkpoint itself and the call trail are
-- sealed in `secrets` (call_log, process id).
create table process_checkpoints (
  process_id bigint primary key references processes (id) on delete cascade,
  -- The first claim of the run: what its approvals name. Replays have claims of their own.
  run uuid not null,
  -- Whether the run can be repeated in another child, or lives only as long as the one it paused in.
  replayable boolean not null,
  -- Whether no child holds the run any more: the next decision queues it.
  detached boolean not null default false,
  -- Replays since the last pause: a run that never gets to its next one is not repeated for ever.
  replays smallint not null default 0 check (replays >= 0),
  usage json not null,
  paused_at timestamptz not null default now()
);

-- Calls of runs that have paused, from before the adapter is called; their replies are sealed in `secrets`
-- (call_log, process id:seq). What a checkpoint holds with its reply is no longer here.
create table process_journal (
  process_id bigint not null references processes (id) on delete cascade,
  -- Order of issue among everything the script asked of the host, from 1.
  seq integer not null check (seq > 0),
  service_id text not null,
  tool_id text not null,
  -- SHA-256 of the tool and its parameters.
  digest bytea not null check (length(digest) = 32),
  destructive boolean not null,
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (process_id, seq)
);

-- Parked calls and questions, each decided once. Parameters, schema and answer are sealed in `secrets`
-- (approval, id and id:answer).
create table approvals (
  id text primary key check (id ~ '^apr_[A-Za-z0-9_-]{22}$'),
  -- Order of asking: what lists and cursors go by.
  position bigint generated always as identity unique,
  process_id bigint not null references processes (id) on delete cascade,
  run uuid not null,
  seq integer not null check (seq > 0),
  kind text not null check (kind in ('call', 'ask')),
  service_id text,
  tool_id text,
  destructive boolean not null,
  -- SHA-256 of what was asked for.
  digest bytea not null check (length(digest) = 32),
  message text not null check (length(message) between 1 and 4000),
  -- Whose process it is: that key does not decide.
  requested_by text not null,
  policy_id text,
  state text not null default 'pending' check (state in ('pending', 'approved', 'denied', 'expired')),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  decided_at timestamptz,
  decided_by text,
  reason text check (length(reason) between 1 and 1000),
  -- When the run began to do what was approved: a call at most once.
  used_at timestamptz,
  constraint approvals_once unique (process_id, run, seq),
  constraint approvals_path check ((kind = 'call') = (service_id is not null) and (kind = 'call') = (tool_id is not null)),
  constraint approvals_decided check ((state = 'pending') = (decided_at is null)),
  constraint approvals_decider check (state not in ('approved', 'denied') or decided_by is not null),
  constraint approvals_used check (used_at is null or state = 'approved')
);
create index approvals_pending on approvals (position desc) where state = 'pending';
create index approvals_due on approvals (expires_at) where state = 'pending';
create index approvals_by_state on approvals (state, position desc);
create index approvals_by_service on approvals (service_id, position desc) where service_id is not null;

create function waiting_approvals(process bigint) returns text[] language sql stable as $$
  select coalesce(array_agg(id order by position), '{}') from approvals where process_id = process and state = 'pending'
$$;

-- However a run ends: what it still asks is over, and what it would have been repeated from goes.
create function forget_pauses() returns trigger language plpgsql as $$
begin
  update approvals set state = 'expired', decided_at = now(), reason = 'The process ended.'
    where process_id = new.id and state = 'pending';
  delete from process_checkpoints where process_id = new.id;
  delete from process_journal where process_id = new.id;
  return null;
end
$$;
create trigger processes_forget_pauses after update of state on processes
  for each row when (old.asked and new.state = 'idle' and old.state <> 'idle') execute function forget_pauses();

create function forget_sealed() returns trigger language plpgsql as $$
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
$$;
create trigger approvals_forget_sealed after delete on approvals
  for each row execute function forget_sealed('approval');
create trigger process_checkpoints_forget_sealed after delete on process_checkpoints
  for each row execute function forget_sealed('call_log');
create trigger process_journal_forget_sealed after delete on process_journal
  for each row execute function forget_sealed('call_log');

-- Whoever waits for a decision, here or on another server, is told; in the order of commits.
create function note_approval() returns trigger language plpgsql as $$
begin
  perform pg_notify('cyrnel_approvals', json_build_array(new.id, new.process_id, new.state)::text);
  return null;
end
$$;
create trigger approvals_note_new after insert on approvals
  for each row execute function note_approval();
create trigger approvals_note_change after update of state on approvals
  for each row when (old.state <> new.state) execute function note_approval();
