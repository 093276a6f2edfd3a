-- The trail is read by time: every way to filter it has its records in that order, so a page costs what it shows wherever
-- in time it begins.
drop index audit_log_by_actor;
drop index audit_log_by_action;
drop index audit_log_by_object;
create index audit_log_by_actor on audit_log (actor_id, at, id);
create index audit_log_by_action on audit_log (action, at, id);
create index audit_log_by_object on audit_log (object_id, at, id);
create index audit_log_by_kind on audit_log (object_kind, at, id);
-- What is looked for most is what is seldom: the usual record is in neither.
create index audit_log_by_outcome on audit_log (outcome, at, id) where outcome <> 'ok';
create index audit_log_by_decision on audit_log (decision, at, id) where decision <> 'allow';
