-- What of a definition could not be read, one sentence each; texts as JSON.
alter table services add column problems json not null default '[]';
