-- Warnings of a run as its record shows them, and of one call; null without any.
alter table process_results add column warnings json;
alter table tool_calls add column warnings json;
