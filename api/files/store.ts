import type { PageRequest } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import { allowStoredBytes, storageFull, toStorageFull } from "#api/db/stored-bytes.ts";
import {
  type Digest,
  type FileFilter,
  type NamedContent,
  PROJECT,
  type StoredUpload,
  UNKNOWN_TYPE,
} from "./model.ts";

function uploadColumns(db: Db) {
  return db`f.digest, f.name, c.size, f.content_type as "contentType", f.created_at as "createdAt",
    f.used_at as "usedAt", f.position`;
}

/**
 * The content must exist. `isNew` is true if the owner had not uploaded it before; otherwise omitted fields keep
 * their values. Throws storage_full.
 */
export async function upsertFile(
  db: Db,
  file: { owner: string; digest: Digest; name: string | null; contentType: string },
  maxStoredBytes: number | null,
): Promise<StoredUpload & { isNew: boolean }> {
  const stored = db<(StoredUpload & { isNew: boolean })[]>`
    with ${allowStoredBytes(db, maxStoredBytes)}, stored as (
      insert into files as f (project, owner, digest, name, content_type)
      select ${PROJECT}, ${file.owner}, ${file.digest}, ${file.name}, ${file.contentType} from allowed
      on conflict (project, owner, digest) do update
        set used_at = now(), name = coalesce(excluded.name, f.name),
          content_type = coalesce(nullif(excluded.content_type, ${UNKNOWN_TYPE}), f.content_type)
      returning *, f.xmax = 0 as is_new
    )
    select ${uploadColumns(db)}, f.is_new as "isNew"
    from stored f join contents c on c.project = f.project and c.digest = f.digest`;
  const [row] = await stored.catch((error) => {
    throw toStorageFull(error, maxStoredBytes);
  });
  return row as StoredUpload & { isNew: boolean };
}

/** Counts the artifacts a run is about to store, each content once. Throws storage_full. */
export async function countLeft(
  db: Db,
  processId: number,
  digests: readonly Digest[],
  maxStoredBytes: number | null,
): Promise<void> {
  await db`
    with ${allowStoredBytes(db, maxStoredBytes)}
    insert into left_contents (project, process_id, owner, digest)
    select distinct ${PROJECT}, p.id, coalesce(p.key_id, p.creator), d.digest
    from allowed, processes p, unnest(${[...digests]}::text[]) as d (digest) where p.id = ${processId}
    on conflict do nothing`.catch((error) => {
    throw toStorageFull(error, maxStoredBytes);
  });
}

/**
 * Checks whether pending bytes fit the owner's limit, counting like the statement that stores them: `check` throws
 * storage_full. The result is provisional; only that statement decides.
 */
export async function readRoom(
  db: Db,
  owner: string,
  maxStoredBytes: number | null,
): Promise<{ check(bytes: number): void }> {
  if (maxStoredBytes === null) return { check() {} };
  const used = await readStoredBytes(db, owner);
  return {
    check(bytes) {
      if (used + bytes > maxStoredBytes) throw storageFull(used, maxStoredBytes);
    },
  };
}

/** Returns the owner whose limit a process's files count towards, or undefined if the process was deleted. */
export async function readProcessOwner(db: Db, processId: number): Promise<string | undefined> {
  const [row] = await db<{ owner: string }[]>`
    select coalesce(key_id, creator) as owner from processes where id = ${processId}`;
  return row?.owner;
}

/** Returns the digests that already count towards the owner's limit. */
export async function findCounted(db: Db, owner: string, digests: readonly Digest[]): Promise<Set<Digest>> {
  const rows = await db<{ digest: Digest }[]>`
    select digest from stored_contents
    where project = ${PROJECT} and owner = ${owner} and digest = any(${[...digests]}::text[])`;
  return new Set(rows.map(({ digest }) => digest));
}

export async function readStoredBytes(db: Db, owner: string): Promise<number> {
  const [row] = await db<{ bytes: number }[]>`
    select bytes from stored_bytes where project = ${PROJECT} and owner = ${owner}`;
  return row?.bytes ?? 0;
}

/** Finds an upload. With `all`, includes other owners' files; the owner's own comes first. */
export async function findFile(
  db: Db,
  digest: Digest,
  { owner, all }: { owner: string; all: boolean },
): Promise<StoredUpload | null> {
  const [row] = await db<StoredUpload[]>`
    select ${uploadColumns(db)}
    from files f join contents c on c.project = f.project and c.digest = f.digest
    where f.project = ${PROJECT} and f.digest = ${digest} ${all ? db`` : db`and f.owner = ${owner}`}
    order by f.owner = ${owner} desc, f.position desc limit 1`;
  return row ?? null;
}

export async function listFiles(
  db: Db,
  filter: FileFilter & { owner: string | null },
  { from, limit }: PageRequest<number>,
): Promise<StoredUpload[]> {
  return db<StoredUpload[]>`
    select ${uploadColumns(db)}
    from files f join contents c on c.project = f.project and c.digest = f.digest
    where f.project = ${PROJECT}
      ${filter.owner === null ? db`` : db`and f.owner = ${filter.owner}`}
      ${filter.name === undefined ? db`` : db`and f.name = ${filter.name}`}
      ${filter.contentType === undefined ? db`` : db`and f.content_type = ${filter.contentType}`}
      ${from === null ? db`` : db`and f.position < ${from}`}
    order by f.position desc limit ${limit}`;
}

/**
 * Deletes the owner's file or, with `all` if the owner has none, every owner's. Returns false if nothing was deleted.
 */
export async function deleteFile(
  db: Db,
  digest: Digest,
  { owner, all }: { owner: string; all: boolean },
): Promise<boolean> {
  const rows = await db`
    delete from files where project = ${PROJECT} and digest = ${digest} and (owner = ${owner} or (${all}::boolean
      and not exists (select from files where project = ${PROJECT} and digest = ${digest} and owner = ${owner})))
    returning digest`;
  return rows.length > 0;
}

/** Returns those of the digests that the owner has uploaded, and restarts their retention. */
export async function useFiles(
  db: Db,
  digests: readonly Digest[],
  { owner, all }: { owner: string; all: boolean },
): Promise<Map<Digest, { size: number; contentType: string }>> {
  const rows = await db<{ digest: Digest; size: number; contentType: string }[]>`
    with used as (
      update files f set used_at = now()
      where f.project = ${PROJECT} and f.digest = any(${[...digests]}::text[])
        ${all ? db`` : db`and f.owner = ${owner}`}
      returning f.project, f.digest, f.content_type
    ), kept as (
      update contents c set used_at = now() from used u where c.project = u.project and c.digest = u.digest
    )
    select distinct on (u.digest) u.digest, c.size, u.content_type as "contentType"
    from used u join contents c on c.project = u.project and c.digest = u.digest`;
  return new Map(rows.map(({ digest, size, contentType }) => [digest, { size, contentType }]));
}

/**
 * Returns the state of a process and the artifacts of its last run by name, both read at the same moment. Null if the
 * process does not exist.
 */
export async function readLeft(
  db: Db,
  processId: number,
): Promise<{ state: string; completedAt: Date | null; files: NamedContent[] } | null> {
  type Row = { state: string; completedAt: Date | null } & (NamedContent | { name: null });
  const rows = await db<Row[]>`
    select p.state, p.completed_at as "completedAt", a.name, a.digest, a.size, a.content_type as "contentType"
    from processes p left join process_artifacts a on a.process_id = p.id
    where p.id = ${processId} order by a.name collate "C"`;
  const [row] = rows;
  if (row === undefined) return null;
  return { ...row, files: rows.filter((file) => file.name !== null) };
}

/**
 * Returns null if the process does not exist, and a null `file` if it has no file with this name. `state` is the
 * process state.
 */
export async function findProcessFile(
  db: Db,
  which: "process_files" | "process_artifacts",
  processId: number,
  name: string,
): Promise<{ state: string; file: NamedContent | null } | null> {
  const [row] = await db<
    { state: string; name: string | null; digest: Digest; size: number; contentType: string }[]
  >`
    select p.state, f.name, f.digest, f.size, f.content_type as "contentType"
    from processes p left join ${db(which)} f on f.process_id = p.id and f.name = ${name}
    where p.id = ${processId}`;
  if (row === undefined) return null;
  return { state: row.state, file: row.name === null ? null : { ...row, name: row.name } };
}

/** Removes uploads not used for `days` and returns their number. */
export async function deleteUnusedFiles(db: Db, days: number, maxRows: number): Promise<number> {
  const rows = await db`
    delete from files where ctid = any(array(
      select ctid from files where used_at < now() - make_interval(secs => ${days * 86_400})
      order by used_at limit ${maxRows}
    )) returning digest`;
  return rows.length;
}
