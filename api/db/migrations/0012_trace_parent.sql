-- Which trace the request that started the last run belongs to, so that the run can join it on whichever server it runs.
alter table processes
  add column trace_parent text check (trace_parent ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$');
