-- Modules the server knows: bundled ones and, with them, what an operator decided about each. Rows outlive their module.
create table modules (
  id text primary key check (id ~ '^[A-Za-z_$][A-Za-z0-9_$-]*$' and length(id) <= 100),
  -- Order of registration: what lists and cursors go by.
  position bigint generated always as identity unique,
  type text not null check (type in ('adapter', 'environment')),
  name text not null check (name <> ''),
  description text not null,
  version text,
  is_builtin boolean not null,
  enabled boolean not null,
  -- The row's module was not found at the last start.
  missing boolean not null default false,
  -- Why the module did not load or could not be activated.
  error text check (length(error) between 1 and 4000),
  -- SHA-256, hexadecimal: of the manifest of a bundled module.
  hash text not null check (hash ~ '^[0-9a-f]{64}$'),
  -- Registry URL; empty without one.
  source text not null default '',
  created_at timestamptz not null default now()
);

-- Scripts run in exactly one environment, or in none.
create unique index modules_one_enabled_environment on modules (type) where type = 'environment' and enabled;

-- Settings of a module. No row: version 0, nothing set.
create table module_settings (
  module_id text primary key references modules (id) on delete cascade,
  config json not null check (json_typeof(config) = 'object'),
  -- The entity tag: counts the changes.
  version integer not null check (version > 0),
  updated_at timestamptz not null default now()
);
