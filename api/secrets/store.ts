import type { Db, Fragment } from "../db/pool.ts";
import type { Sealed, SecretOwner } from "./sealing.ts";

export interface SecretsRow {
  ownerKind: SecretOwner["kind"];
  ownerId: string;
  sealed: unknown;
  version: number;
}

export async function readSecrets(db: Db, owner: SecretOwner): Promise<SecretsRow | null> {
  const [row] = await db<SecretsRow[]>`
    select ${columns(db)} from secrets where owner_kind = ${owner.kind} and owner_id = ${owner.id}`;
  return row ?? null;
}

export async function listSecrets(
  db: Db,
  kinds: readonly SecretOwner["kind"][],
  after: SecretOwner | null,
  limit: number,
): Promise<SecretsRow[]> {
  return db<SecretsRow[]>`
    select ${columns(db)} from secrets
    where owner_kind = any(${kinds as string[]})
      and (${after === null} or (owner_kind, owner_id) > (${after?.kind ?? ""}, ${after?.id ?? ""}))
    order by owner_kind, owner_id limit ${limit}`;
}

export async function listSealedWithOther(
  db: Db,
  kid: string,
  after: SecretOwner | null,
  limit: number,
): Promise<SecretsRow[]> {
  return db<SecretsRow[]>`
    select ${columns(db)} from secrets
    where sealed ->> 'kid' is distinct from ${kid}
      and (${after === null} or (owner_kind, owner_id) > (${after?.kind ?? ""}, ${after?.id ?? ""}))
    order by owner_kind, owner_id limit ${limit}`;
}

/** Writes only if the stored version is `expectedVersion` (0 means no row). Returns the new version, or null. */
export async function writeSecrets(
  db: Db,
  owner: SecretOwner,
  sealed: Sealed,
  expectedVersion: number,
): Promise<number | null> {
  const text = JSON.stringify(sealed);
  const [row] =
    expectedVersion === 0
      ? await db<{ version: number }[]>`
          insert into secrets (owner_kind, owner_id, sealed, version)
          values (${owner.kind}, ${owner.id}, ${text}::text::json, 1)
          on conflict (owner_kind, owner_id) do nothing returning version`
      : await db<{ version: number }[]>`
          update secrets set sealed = ${text}::text::json, version = version + 1, updated_at = now()
          where owner_kind = ${owner.kind} and owner_id = ${owner.id} and version = ${expectedVersion}
          returning version`;
  return row?.version ?? null;
}

/** Writes regardless of the stored version, but only if the statement `when` returns a row. */
export async function keepSealed(
  db: Db,
  entries: readonly { owner: SecretOwner; sealed: Sealed }[],
  when?: Fragment,
): Promise<void> {
  if (entries.length === 0) return;
  const kinds = entries.map(({ owner }) => owner.kind as string);
  const ids = entries.map(({ owner }) => owner.id);
  const texts = entries.map(({ sealed }) => JSON.stringify(sealed));
  await db`
    ${when === undefined ? db`` : db`with due as (${when})`}
    insert into secrets as kept (owner_kind, owner_id, sealed, version)
    select kind, id, sealed::json, 1 from unnest(${kinds}::text[], ${ids}::text[], ${texts}::text[]) as given (kind, id, sealed)
    ${when === undefined ? db`` : db`where exists (select from due)`}
    on conflict (owner_kind, owner_id) do update
      set sealed = excluded.sealed, version = kept.version + 1, updated_at = now()`;
}

export async function readSealed(
  db: Db,
  kind: SecretOwner["kind"],
  ids: readonly string[],
): Promise<SecretsRow[]> {
  return db<SecretsRow[]>`
    select ${columns(db)} from secrets where owner_kind = ${kind} and owner_id = any(${[...ids]}::text[])`;
}

/** Replaces a sealed value, but only if its row has not changed since it was read. */
export async function replaceSealed(db: Db, row: SecretsRow, sealed: Sealed): Promise<boolean> {
  const { count } = await db`
    update secrets set sealed = ${JSON.stringify(sealed)}::text::json
    where owner_kind = ${row.ownerKind} and owner_id = ${row.ownerId} and version = ${row.version}
      and sealed::jsonb = ${JSON.stringify(row.sealed)}::text::jsonb`;
  return count === 1;
}

export async function deleteSecrets(db: Db, owner: SecretOwner): Promise<void> {
  await db`delete from secrets where owner_kind = ${owner.kind} and owner_id = ${owner.id}`;
}

function columns(db: Db) {
  return db`owner_kind as "ownerKind", owner_id as "ownerId", sealed, version`;
}
