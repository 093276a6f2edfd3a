-- The name of a script among its files, which its imports are relative to. Null for most: script.ts.
alter table processes add column name text;
