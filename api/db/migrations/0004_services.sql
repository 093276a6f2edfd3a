-- Services: what an adapter module made of a definition. Switched on by an operator, never by the installation.
create table services (
  id text primary key check (id ~ '^[A-Za-z_$][A-Za-z0-9_$]*$' and length(id) <= 100),
  -- Order of installation: what lists and cursors go by.
  position bigint generated always as identity unique,
  name text not null,
  description text not null,
  adapter text not null references modules (id) on delete cascade,
  -- SHA-256 of the definition, hexadecimal.
  hash text not null check (hash ~ '^[0-9a-f]{64}$'),
  -- Registry URL; empty for a direct installation.
  source text not null default '',
  -- As it was installed, compressed (zstd): what `sync` and an update of the adapter make the tools of.
  definition bytea not null,
  -- The adapter's own data, and schemas that may hold any character: `json`, because `jsonb` refuses NUL.
  adapter_domain json not null,
  config_schema json not null check (json_typeof(config_schema) = 'object'),
  secrets_schema json not null check (json_typeof(secrets_schema) = 'object'),
  enabled boolean not null default false,
  -- The adapter has changed and could not make the tools anew.
  stale boolean not null default false,
  -- Why it is stale, or why the adapter does not hold it although it is enabled.
  error text check (length(error) between 1 and 4000),
  created_at timestamptz not null default now()
);
create index services_by_adapter on services (adapter, id);

-- Settings of a service. No row: version 0, nothing set.
create table service_settings (
  service_id text primary key references services (id) on delete cascade,
  config json not null check (json_typeof(config) = 'object'),
  -- The entity tag: counts the changes.
  version integer not null check (version > 0),
  updated_at timestamptz not null default now()
);

create table tools (
  service_id text not null references services (id) on delete cascade,
  id text not null check (id ~ '^[A-Za-z_$][A-Za-z0-9_$]*$' and length(id) <= 200),
  -- Its place in the definition.
  position integer not null check (position >= 0),
  name text not null,
  description text not null,
  input_schema json not null check (json_typeof(input_schema) = 'object'),
  output_schema json not null check (json_typeof(output_schema) = 'object'),
  adapter_domain json not null,
  destructive boolean not null default false,
  enabled boolean not null default true,
  primary key (service_id, id)
);
