/** The statements of uploads, and of what processes were given and left. */
import type { PageRequest } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import { type Digest, type FileFilter, type NamedContent, PROJECT, type StoredUpload } from "./model.ts";

function uploadColumns(db: Db) {
  return db`f.digest, f.name, c.size, f.content_type as "contentType", f.created_at as "createdAt",
    f.used_at as "usedAt", f.position`;
}

/** The content has to be there. `isNew`: the owner had not uploaded it before. */
export async function upsertFile(
  db: Db,
  file: { owner: string; digest: Digest; name: string | null; contentType: string },
): Promise<StoredUpload & { isNew: boolean }> {
  const [row] = await db<(StoredUpload & { isNew: boolean })[]>`
    with stored as (
      insert into files as f (project, owner, digest, name, content_type)
      values (${PROJECT}, ${file.owner}, ${file.digest}, ${file.name}, ${file.contentType})
      on conflict (project, owner, digest) do update
        set used_at = now(), name = coalesce(excluded.name, f.name), content_type = excluded.content_type
      returning *, f.xmax = 0 as is_new
    )
    select ${uploadColumns(db)}, f.is_new as "isNew"
    from stored f join contents c on c.project = f.project and c.digest = f.digest`;
  return row as StoredUpload & { isNew: boolean };
}

/** `all`: also those of other owners; one's own comes first. */
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

/** One page, newest first. `owner` null: of all. */
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

/** Removes the owner's file; with `all`, where it has none, those of all. False: there was none. */
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

/** Those of the digests that the owner has, with how they are; they are kept for as long again. */
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

/** What it was given, or what its last run left, by name. */
export async function listProcessFiles(
  db: Db,
  which: "process_files" | "process_artifacts",
  processId: number,
): Promise<NamedContent[]> {
  return db<NamedContent[]>`
    select name, digest, size, content_type as "contentType" from ${db(which)}
    where process_id = ${processId} order by name collate "C"`;
}

/** Null: there is no such process. `artifact` null: it left no such file. */
export async function findArtifact(
  db: Db,
  processId: number,
  name: string,
): Promise<{ artifact: NamedContent | null } | null> {
  const [row] = await db<{ name: string | null; digest: Digest; size: number; contentType: string }[]>`
    select a.name, a.digest, a.size, a.content_type as "contentType"
    from processes p left join process_artifacts a on a.process_id = p.id and a.name = ${name}
    where p.id = ${processId}`;
  if (row === undefined) return null;
  return { artifact: row.name === null ? null : { ...row, name: row.name } };
}

/** When its last run ended; undefined: there is no such process. */
export async function readCompletion(db: Db, processId: number): Promise<Date | null | undefined> {
  const [row] = await db<{ completedAt: Date | null }[]>`
    select completed_at as "completedAt" from processes where id = ${processId}`;
  return row?.completedAt;
}

/** Removes uploads that were not used for `days`. Returns how many. */
export async function deleteUnusedFiles(db: Db, days: number, maxRows: number): Promise<number> {
  const rows = await db`
    delete from files where ctid = any(array(
      select ctid from files where used_at < now() - make_interval(secs => ${days * 86_400})
      order by used_at limit ${maxRows}
    )) returning digest`;
  return rows.length;
}
