-- A server that was told to stop takes nothing more: the others, and people, see it in its row.
alter table replicas add column draining boolean not null default false;
