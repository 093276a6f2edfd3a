-- Of a tool call: the files that it sent from the workspace of its run and saved there, as JSON text.
alter table audit_log add column files text;
