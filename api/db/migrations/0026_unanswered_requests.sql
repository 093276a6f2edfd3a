-- A run that its server has left is repeated when a request without a reply was decided. Which requests have none is now
-- stored with the checkpoint. It was guessed from the times of pause and decision, and a decision just before a second
-- pause was overlooked. paused_at stays for servers of the version before.
alter table process_checkpoints add column unanswered integer[] not null default '{}';
update process_checkpoints c set unanswered = coalesce((
  select array_agg(a.seq) from approvals a
  where a.process_id = c.process_id and a.run = c.run and (a.decided_at is null or a.decided_at >= c.paused_at)
), '{}');
