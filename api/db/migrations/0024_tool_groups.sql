-- A tool may stand in a group of its definition: its id is then up to 8 identifiers joined by dots (TOOL_ID_PATTERN of the SDK).
alter table tools
  drop constraint tools_id_check,
  add constraint tools_id_check
    check (id ~ '^[A-Za-z_$][A-Za-z0-9_$]*(\.[A-Za-z_$][A-Za-z0-9_$]*){0,7}$' and length(id) <= 200);
