-- How many finished processes there were up to the one that had ended last at the last look: not more than that are there
-- now. So a sweep counts only those that have ended since.
create table retention_count (
  id boolean primary key default true check (id),
  counted bigint not null check (counted >= 0),
  completed_at timestamptz not null,
  process_id bigint not null
);
