-- What runs of a process are given, and what it has to fit: as it was sent, and null for most processes.
alter table processes add column input json, add column input_schema json;
