-- The servers that share this database. A row is written anew every few seconds; one that is not is a lost server's.
create table replicas (
  id uuid primary key,
  -- For people: host name and process id.
  name text not null check (length(name) between 1 and 200),
  version text not null,
  -- Where the others reach it; null until it listens.
  address text,
  -- What they have to show there. Whoever reads this database has everything anyway.
  token bytea not null check (length(token) = 32),
  -- Which process on which machine it is, where that can be told: another server there sees at once that it is gone.
  place json,
  -- Ids of the keys for secrets: the one that seals, and all that open.
  secrets_key text,
  secrets_keys text[] not null default '{}',
  slots integer check (slots >= 0),
  -- Module id -> {state, error}, as they are on this server.
  modules json not null default '{}',
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);

-- Since when there was always a server to be heard of: before, the database may have been away for all of them, and
-- nobody's silence means anything.
create table replica_watch (
  id boolean primary key default true check (id),
  heard_since timestamptz not null default now()
);
insert into replica_watch default values;

-- Work that is done now and then, by whichever server finds that it is due.
create table sweep_turns (
  name text primary key,
  taken_at timestamptz not null default now()
);

-- Who holds the claim. Without a foreign key: the row of a lost server may go first.
alter table processes add column replica uuid;

-- The queue of each caller: the oldest of the highest priority first.
create index processes_queue_by_caller on processes ((coalesce(key_id, creator)), priority desc, queued_at, id)
  where state = 'queued';

-- Claims queued processes for one server. Callers share: the next is the one with the fewest runs, each with its oldest
-- process of the highest priority. A function, because after its lock each statement sees what was committed before.
create function claim_queued(environment_id text, replica_id uuid, max_rows integer, max_per_caller integer)
returns setof processes language plpgsql as $$
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
      select coalesce(r.key_id, r.creator) as caller, count(*) as runs
      from processes r where r.state in ('running', 'terminating') group by 1
    ), turns as (
      select q.id, q.priority, q.queued_at, coalesce(b.runs, 0)
        + row_number() over (partition by c.caller order by q.priority desc, q.queued_at, q.id) as turn
      from callers c
        left join busy b on b.caller = c.caller
        cross join lateral (
          select n.id, n.priority, n.queued_at from processes n
          where n.state = 'queued' and coalesce(n.key_id, n.creator) = c.caller
          -- Some more than are wanted: others may be taking the first of them.
          order by n.priority desc, n.queued_at, n.id limit max_rows * 2 + 8
        ) q
      where c.caller is not null
    )
    update processes as p set state = 'running', environment = environment_id, replica = replica_id,
      claim = case when p.asked then overlay(gen_random_uuid()::text placing left(p.claim::text, 8) from 1 for 8)::uuid
        else gen_random_uuid() end,
      started_at = case when p.asked then coalesce(p.started_at, now()) else now() end,
      queued_at = case when p.asked then now() else p.queued_at end
    where p.state = 'queued' and p.id = any(array(
      select q.id from processes q join turns t on t.id = q.id
      where q.state = 'queued' and (max_per_caller is null or t.turn <= max_per_caller)
      order by t.turn, t.priority desc, t.queued_at, t.id
      limit max_rows for update of q skip locked
    ))
    returning p.*;
end
$$;

-- Servers are told which module or service has changed, after the commit that changed it; they read the rest.
-- Arguments: what it is, and the column that names it.
create function note_component() returns trigger language plpgsql as $$
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
$$;
create trigger modules_note after insert or delete on modules
  for each row execute function note_component('module', 'id');
create trigger modules_note_change after update on modules
  for each row when ((old.enabled, old.hash, old.source) is distinct from (new.enabled, new.hash, new.source))
  execute function note_component('module', 'id');
create trigger module_settings_note after insert or delete or update on module_settings
  for each row execute function note_component('module', 'module_id');
create trigger services_note after insert or delete on services
  for each row execute function note_component('service', 'id');
create trigger services_note_change after update on services
  for each row when (
    (old.enabled, old.stale, old.hash, old.adapter_domain::text)
    is distinct from (new.enabled, new.stale, new.hash, new.adapter_domain::text)
  )
  execute function note_component('service', 'id');
create trigger service_settings_note after insert or delete or update on service_settings
  for each row execute function note_component('service', 'service_id');
create trigger tools_note after update of enabled on tools
  for each row when (old.enabled <> new.enabled) execute function note_component('service', 'service_id');
create trigger module_secrets_note after insert or update on secrets
  for each row when (new.owner_kind = 'module') execute function note_component('module', 'owner_id');
create trigger service_secrets_note after insert or update on secrets
  for each row when (new.owner_kind = 'service') execute function note_component('service', 'owner_id');
