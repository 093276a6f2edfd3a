-- Requests of fetch() that a tool makes: {origins, pathPrefix, methods}. Null for most.
alter table tools add column fetch_scope json;
create index tools_with_fetch on tools (service_id) where fetch_scope is not null;
