import type { Db } from "#api/db/pool.ts";
import { type Digest, PROJECT } from "../model.ts";

export interface BlobPlace {
  id: string;
  place: string;
}

export interface DoomedBlob extends BlobPlace {
  upload: string | null;
}

/** Records a blob and returns its id. Call before writing the blob. */
export async function insertBlob(db: Db, place: string): Promise<string> {
  const [row] = await db<{ id: string }[]>`
    insert into blobs (project, place) values (${PROJECT}, ${place}) returning id`;
  return (row as { id: string }).id;
}

/** Records the upload's name. Call before storing any of its parts. */
export async function recordUpload(db: Db, id: string, upload: string): Promise<void> {
  await db`update blobs set upload = ${upload} where project = ${PROJECT} and id = ${id}::uuid`;
}

export async function touchBlob(db: Db, id: string): Promise<void> {
  await db`update blobs set touched_at = now() where project = ${PROJECT} and id = ${id}::uuid and not doomed`;
}

/** Returns whether the content exists, and protects it from sweeps for a while. */
export async function touchContent(db: Db, digest: Digest): Promise<boolean> {
  const { count } = await db`
    update contents set used_at = now() where project = ${PROJECT} and digest = ${digest}`;
  return count === 1;
}

/**
 * Turns a complete blob into the content with this digest. Returns the content's blob: another one if the content
 * already existed, or null if a sweep has marked this blob for removal.
 */
export async function insertContent(
  db: Db,
  content: { digest: Digest; size: number; blob: string },
): Promise<string | null> {
  // Change the blob's row, so that a sweep waiting for its lock sees the change.
  const [row] = await db<{ blob: string }[]>`
    with complete as (
      update blobs set touched_at = now()
      where project = ${PROJECT} and id = ${content.blob}::uuid and not doomed returning id
    )
    insert into contents (project, digest, size, blob)
    select ${PROJECT}, ${content.digest}, ${content.size}::bigint, id from complete
    on conflict (project, digest) do update set used_at = now() returning blob`;
  return row?.blob ?? null;
}

export async function findContent(db: Db, digest: Digest): Promise<(BlobPlace & { size: number }) | null> {
  const [row] = await db<(BlobPlace & { size: number })[]>`
    select b.id, b.place, c.size from contents c join blobs b on b.project = c.project and b.id = c.blob
    where c.project = ${PROJECT} and c.digest = ${digest}`;
  return row ?? null;
}

/** Locks and returns contents that have been unreferenced for a while. */
export async function lockUnusedContents(db: Db, unusedMs: number, maxRows: number): Promise<Digest[]> {
  const rows = await db<{ digest: Digest }[]>`
    select digest from contents c
    where c.project = ${PROJECT} and used_at <= now() - make_interval(secs => ${unusedMs / 1000}) and ${isUnused(db)}
    limit ${maxRows} for update skip locked`;
  return rows.map(({ digest }) => digest);
}

/** Deletes locked contents. A new statement is needed to see references added before the lock was taken. */
export async function deleteUnusedContents(
  db: Db,
  digests: readonly Digest[],
  unusedMs: number,
): Promise<number> {
  const { count } = await db`
    delete from contents c
    where c.project = ${PROJECT} and digest = any(${[...digests]}::text[])
      and used_at <= now() - make_interval(secs => ${unusedMs / 1000}) and ${isUnused(db)}`;
  return count;
}

function isUnused(db: Db) {
  return db`not exists (select from files r where r.project = c.project and r.digest = c.digest)
    and not exists (select from process_files r where r.project = c.project and r.digest = c.digest)
    and not exists (select from process_artifacts r where r.project = c.project and r.digest = c.digest)
    and not exists (select from process_saved_answers r where r.project = c.project and r.digest = c.digest)
    and not exists (select from package_bundles r where r.project = c.project and r.digest = c.digest)
    and not exists (select from package_bundles r where r.project = c.project and r.mappings = c.digest)
    and not exists (select from packages r where r.project = c.project and r.types = c.digest)`;
}

/**
 * Locks and returns blobs that belong to no content and are not being written, including those marked for removal
 * earlier, oldest first.
 */
export async function lockUnusedBlobs(db: Db, untouchedMs: number, maxRows: number): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from blobs b
    where b.project = ${PROJECT} and touched_at <= now() - make_interval(secs => ${untouchedMs / 1000})
      and ${isNoContent(db)}
    order by touched_at limit ${maxRows} for update skip locked`;
  return rows.map(({ id }) => id);
}

export async function lockBlob(db: Db, id: string): Promise<void> {
  await db`select from blobs where project = ${PROJECT} and id = ${id}::uuid for update`;
}

/**
 * Marks locked blobs for removal. A new statement is needed to see blobs that became contents before the lock was
 * taken. Records the time of the attempt, so that a blob that cannot be removed does not delay others.
 */
export async function doomBlobs(db: Db, ids: readonly string[]): Promise<DoomedBlob[]> {
  return db<DoomedBlob[]>`
    update blobs b set doomed = true, touched_at = now()
    where b.project = ${PROJECT} and id::text = any(${[...ids]}::text[]) and ${isNoContent(db)}
    returning id, place, upload`;
}

function isNoContent(db: Db) {
  return db`not exists (select from contents c where c.project = b.project and c.blob = b.id)`;
}

export async function deleteBlobs(db: Db, ids: readonly string[]): Promise<void> {
  await db`
    delete from blobs where project = ${PROJECT} and doomed and id::text = any(${[...ids]}::text[])`;
}

export async function sumContents(db: Db): Promise<{ contents: number; bytes: number }> {
  const [row] = await db<{ contents: number; bytes: number }[]>`
    select count(*) as contents, coalesce(sum(size), 0)::bigint as bytes from contents`;
  return row as { contents: number; bytes: number };
}
