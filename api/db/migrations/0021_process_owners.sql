-- Who started the last run: the id of a key, `bootstrap` or `anonymous`. Null: who submitted the process. A run may do
-- what both may, and neither decides its approvals. Locked in the order in which servers do.
alter table processes add column started_by text;

-- What a key sees that sees its own processes only, newest first.
create index processes_by_submitter on processes ((coalesce(key_id, creator)), id);

alter table approvals add column started_by text;

-- Keys of the version before could read, run, kill and delete the processes of all; they still can.
select from revisions where kind = 'keys' for update;
update api_keys set scopes = array_append(scopes, 'processes:all')
  where scopes && array['processes:read', 'processes:write'] and not 'processes:all' = any(scopes);
