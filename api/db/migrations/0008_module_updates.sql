-- The files of an adapter have changed and the tools of its services were made by the ones before: they are made anew
-- when it is next activated.
alter table modules add column definitions_due boolean not null default false;
