-- How long a call stood still for a person; no part of duration_ms. Calls of before have it in duration_ms.
alter table tool_calls add column if not exists waited_ms double precision not null default 0;
