-- The HTTP status that a service answered a tool call with; null: none, or not over HTTP.
alter table tool_calls add column http_status smallint check (http_status between 100 and 599);
alter table audit_log add column http_status smallint;
