-- Tools are searched in memory, by each server for itself: the columns, words and functions of the search by the database go,
-- and installing a service no longer fills them. The extension pg_trgm stays where an earlier version has made it.
drop trigger tools_learn_words on tools;
drop trigger tools_relearn_words on tools;
drop trigger tools_forget_words on tools;
drop function learn_tool_words();
drop function forget_tool_words();
drop function if exists similar_tool_words(text, integer);
drop table tool_vocabulary;
alter table tools drop column search;
drop function tool_words(text);

-- Few tools are switched off, and each search asks which.
create index tools_switched_off on tools (service_id, id) where not enabled;
