-- Tools of a service in the order in which they are listed: a page begins anywhere and reads what it shows.
create index tools_listed on tools (service_id, position, id collate "C");
create index tools_listed_by_flag on tools (service_id, enabled, position, id collate "C");
