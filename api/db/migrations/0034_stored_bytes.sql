-- What each key keeps in the store of files: the contents that its uploads, what its processes were given and what they left
-- refer to, each counted once. Triggers count, so that whatever removes a row gives its bytes back.

create table stored_bytes (
  project text not null default 'default',
  owner text not null,
  bytes bigint not null,
  primary key (project, owner)
);

-- uses: rows of files, process_files and left_contents that refer to the content for this owner.
create table stored_contents (
  project text not null default 'default',
  owner text not null,
  digest text not null,
  size bigint not null,
  uses bigint not null,
  primary key (project, owner, digest)
);

-- Whose process it is, so that it is known when the process is gone.
alter table process_files add column owner text;
update process_files f set owner = coalesce(p.key_id, p.creator) from processes p where p.id = f.process_id;

-- What a process left, counted before its ending names it: two runs that end at once cannot both take the last room.
create table left_contents (
  project text not null default 'default',
  process_id bigint not null references processes on delete cascade,
  owner text not null,
  digest text not null,
  primary key (process_id, digest)
);

-- A statement that says how much is allowed (cyrnel.max_stored_bytes) is refused where it adds more. The owner's row is locked
-- first: statements of one owner wait for each other, and each sees what the others have added.
create function count_stored_bytes() returns trigger language plpgsql as $$
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
end $$;

-- What is there already.
insert into left_contents (project, process_id, owner, digest)
select distinct a.project, a.process_id, coalesce(p.key_id, p.creator), a.digest
from process_artifacts a join processes p on p.id = a.process_id;
insert into stored_contents (project, owner, digest, size, uses)
select r.project, r.owner, r.digest, c.size, count(*)
from (
  select project, owner, digest from files
  union all select project, owner, digest from process_files
  union all select project, owner, digest from left_contents
) r join contents c on c.project = r.project and c.digest = r.digest
where r.owner is not null
group by r.project, r.owner, r.digest, c.size;
insert into stored_bytes (project, owner, bytes)
select project, owner, sum(size) from stored_contents group by project, owner;

create trigger files_count after insert on files
  referencing new table as changed for each statement execute function count_stored_bytes();
create trigger files_uncount after delete on files
  referencing old table as changed for each statement execute function count_stored_bytes();
create trigger process_files_count after insert on process_files
  referencing new table as changed for each statement execute function count_stored_bytes();
create trigger process_files_uncount after delete on process_files
  referencing old table as changed for each statement execute function count_stored_bytes();
create trigger left_contents_count after insert on left_contents
  referencing new table as changed for each statement execute function count_stored_bytes();
create trigger left_contents_uncount after delete on left_contents
  referencing old table as changed for each statement execute function count_stored_bytes();
