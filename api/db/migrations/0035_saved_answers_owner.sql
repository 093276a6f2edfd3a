-- Answers that were saved as files count for the key as well, as long as the run may be repeated.
alter table process_saved_answers add column owner text;
update process_saved_answers a set owner = coalesce(p.key_id, p.creator) from processes p where p.id = a.process_id;

insert into stored_contents as s (project, owner, digest, size, uses)
select a.project, a.owner, a.digest, c.size, count(*)
from process_saved_answers a join contents c on c.project = a.project and c.digest = a.digest
where a.owner is not null
group by a.project, a.owner, a.digest, c.size
on conflict (project, owner, digest) do update set uses = s.uses + excluded.uses;
insert into stored_bytes (project, owner, bytes)
select project, owner, sum(size) from stored_contents group by project, owner
on conflict (project, owner) do update set bytes = excluded.bytes;

create trigger process_saved_answers_count after insert on process_saved_answers
  referencing new table as changed for each statement execute function count_stored_bytes();
create trigger process_saved_answers_uncount after delete on process_saved_answers
  referencing old table as changed for each statement execute function count_stored_bytes();
