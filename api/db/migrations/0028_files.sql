-- Files that are given to scripts, and what scripts leave: contents known by their digest, each stored once in a project.
-- A content is there from the moment its row is: its bytes lie in a blob that was complete before.

-- Where bytes are written to. What is being written is touched now and then; a blob that no content has, and that nothing
-- has touched for a while, is what a server or client left that died in between.
create table blobs (
  project text not null default 'default',
  id uuid not null default gen_random_uuid(),
  -- 'postgres', or the folder of a bucket: s3://bucket/prefix
  place text not null,
  -- Given up: it is being removed, and becomes no content any more.
  doomed boolean not null default false,
  -- Of a bucket, the upload in parts that is or was under way: what is left of it has to be given up there.
  upload text,
  touched_at timestamptz not null default now(),
  primary key (project, id)
);
create index blobs_by_touch on blobs (touched_at);

-- Of blobs in Postgres. Contents do not compress: they are not tried, so that a part can be read without the whole.
create table blob_chunks (
  project text not null default 'default',
  blob uuid not null,
  ends_at bigint not null,
  bytes bytea not null,
  primary key (project, blob, ends_at),
  foreign key (project, blob) references blobs on delete cascade
);
alter table blob_chunks alter column bytes set storage external;

-- Digests are SHA-256 in hex. used_at: when something was last made to refer to it.
create table contents (
  project text not null default 'default',
  digest text not null,
  size bigint not null,
  blob uuid not null,
  used_at timestamptz not null default now(),
  primary key (project, digest),
  foreign key (project, blob) references blobs
);
create index contents_by_blob on contents (project, blob);

-- Uploads: of each key its own. owner: the id of a key, `bootstrap` or `anonymous`.
create table files (
  project text not null default 'default',
  owner text not null,
  digest text not null,
  name text,
  content_type text not null,
  created_at timestamptz not null default now(),
  used_at timestamptz not null default now(),
  position bigint not null generated always as identity,
  primary key (project, owner, digest),
  foreign key (project, digest) references contents
);
create index files_by_digest on files (project, digest);
create index files_by_position on files (project, position);
create index files_by_owner on files (project, owner, position);
create index files_by_use on files (used_at);

-- What a script is given, and what it left: what keeps contents from being swept.
create table process_files (
  project text not null default 'default',
  process_id bigint not null references processes on delete cascade,
  name text not null,
  digest text not null,
  size bigint not null,
  content_type text not null,
  primary key (process_id, name),
  foreign key (project, digest) references contents
);
create index process_files_by_digest on process_files (project, digest);

create table process_artifacts (
  project text not null default 'default',
  process_id bigint not null references processes on delete cascade,
  name text not null,
  digest text not null,
  size bigint not null,
  content_type text not null,
  primary key (process_id, name),
  foreign key (project, digest) references contents
);
create index process_artifacts_by_digest on process_artifacts (project, digest);

-- The same as records show it, so that to show it and to run takes no other statement. Null: none.
alter table processes add column files json;
alter table process_results add column artifacts json;
