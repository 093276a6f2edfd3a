-- Answers that became files of a workspace, of runs that have paused: a run that is repeated finds them again. They go when it ends.
create table process_saved_answers (
  project text not null default 'default',
  process_id bigint not null references processes (id) on delete cascade,
  -- Of the call, among everything that the script asked of the host, from 1.
  seq integer not null check (seq > 0),
  name text not null,
  digest text not null,
  size bigint not null,
  content_type text not null,
  primary key (process_id, seq),
  foreign key (project, digest) references contents
);
create index process_saved_answers_by_digest on process_saved_answers (project, digest);

create or replace function forget_pauses() returns trigger language plpgsql as $$
begin
  update approvals set state = 'expired', decided_at = now(), reason = 'The process ended.'
    where process_id = new.id and state = 'pending';
  delete from process_checkpoints where process_id = new.id;
  delete from process_journal where process_id = new.id;
  delete from process_saved_answers where process_id = new.id;
  return null;
end
$$;
