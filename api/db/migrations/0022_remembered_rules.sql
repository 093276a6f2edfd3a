-- A rule is for every caller, for those of one role, or for those without a role. One that was remembered of an approval
-- replaces the `ask` of one rule (null: of the default), as long as all of its keys count.
select from revisions where kind = 'policies' for update;

-- What the version before remembered was an `allow` before all others, for everybody where the key had no role, and is not
-- told apart from other rules that let one tool through for a while: what they let through is asked about again.
delete from policies where decision = 'allow' and expires_at is not null and strpos(service_pattern || tool_pattern, '*') = 0;

alter table policies
  add column no_role boolean not null default false,
  -- Where it was remembered; without a foreign key: the rule may outlive it.
  add column approval_id text,
  add column replaces text,
  add column key_ids text[] not null default '{}',
  add constraint policies_one_role check (not no_role or role_id is null),
  add constraint policies_remembered check (
    approval_id is null or (decision = 'allow' and expires_at is not null and (no_role or role_id is not null))
  ),
  add constraint policies_process_rules_remembered check (process_id is null or approval_id is not null);
