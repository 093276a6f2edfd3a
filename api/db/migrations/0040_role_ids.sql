-- A caller may choose the id of a role; until now each was made by the server.
alter table roles
  drop constraint roles_id_check,
  add constraint roles_id_check check (id ~ '^[A-Za-z][A-Za-z0-9_-]{0,63}$');
