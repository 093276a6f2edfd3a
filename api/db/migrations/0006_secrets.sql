-- Secrets of services, modules and parked calls. Only ciphertext; the key is never in the database.
create table secrets (
  owner_kind text not null check (owner_kind in ('service', 'module', 'approval', 'call_log')),
  owner_id text not null check (owner_id <> ''),
  -- {v, kid, alg, iv, tag, ciphertext}; bound to owner_kind and owner_id: it does not open in another row.
  sealed json not null check (json_typeof(sealed) = 'object'),
  -- Counts the changes of the values; a rotation of the key is none.
  version integer not null check (version > 0),
  updated_at timestamptz not null default now(),
  primary key (owner_kind, owner_id)
);

-- What a rotation still has to do.
create index secrets_by_key on secrets ((sealed ->> 'kid'));
