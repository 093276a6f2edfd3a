-- What callers were given before matters only among several of them: a queue of one caller is not made to read it, which took
-- the database as long as the rest of a run. And the last 250 that ended tell whose turn it is as well as a thousand.
create or replace function claim_queued(environment_id text, replica_id uuid, max_rows integer, max_per_caller integer)
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
$$;
