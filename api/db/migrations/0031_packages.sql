-- npm packages that scripts may import. What a script gets is one text, a bundle, known by the digest of its code; its bytes
-- are contents as those of files are.

-- Kept while an installed package or a process that may be repeated names it, and for a while after.
create table package_bundles (
  project text not null default 'default',
  digest text not null,
  -- The content with its source positions. Null: none.
  mappings text,
  used_at timestamptz not null default now(),
  primary key (project, digest),
  foreign key (project, digest) references contents,
  foreign key (project, mappings) references contents (project, digest)
);
create index package_bundles_by_mappings on package_bundles (project, mappings);

create table packages (
  project text not null default 'default',
  name text not null,
  version text not null,
  digest text not null,
  -- The content with its declarations, by file. Null: none.
  types text,
  -- 'registry', or 'starter': it came with the server.
  source text not null,
  -- Its description, licences, tree, sizes and what was found out about it.
  details json not null,
  -- The id of a key, `bootstrap`, `anonymous` or `system`.
  installed_by text not null,
  installed_at timestamptz not null default now(),
  primary key (project, name, version),
  foreign key (project, digest) references package_bundles,
  foreign key (project, types) references contents (project, digest)
);
create index packages_by_digest on packages (project, digest);
create index packages_by_types on packages (project, types);

-- Names of the starter set that an operator has removed: no later start stores them again.
create table removed_starters (
  project text not null default 'default',
  name text not null,
  primary key (project, name)
);

-- Installations, under way and over. Of one that is under way its server says now and then that it still works on it.
create table package_installations (
  project text not null default 'default',
  id text not null,
  position bigint not null generated always as identity,
  name text not null,
  range text not null,
  -- SHA-256 of the lock file that it was asked for with; empty without one.
  lock_hash text not null default '',
  state text not null check (state in ('running', 'done', 'failed')),
  step text not null,
  done int not null default 0,
  total int,
  version text,
  error text,
  created_by text not null,
  created_at timestamptz not null default now(),
  touched_at timestamptz not null default now(),
  completed_at timestamptz,
  primary key (project, id)
);
create unique index package_installations_under_way on package_installations (project, name, range, lock_hash)
  where state = 'running';
create index package_installations_by_position on package_installations (project, position);

-- What a process that may be repeated has imported: its bundles stay.
create table process_packages (
  project text not null default 'default',
  process_id bigint not null references processes on delete cascade,
  name text not null,
  version text not null,
  digest text not null,
  primary key (process_id, name, version)
);
create index process_packages_by_digest on process_packages (project, digest);

-- What records show of the packages that the last run has imported. Null: none.
alter table process_results add column packages json;

-- Which packages scripts of a key with this role may import: names, or patterns such as @scope/*.
alter table roles add column packages text[] not null default '{*}';

-- Every server holds the names of installed packages in memory.
alter table revisions drop constraint revisions_kind_check,
  add constraint revisions_kind_check check (kind in ('keys', 'roles', 'policies', 'packages'));
insert into revisions (kind) values ('packages');
create trigger packages_revision after insert or update or delete on packages
  for each statement execute function note_revision('packages');
