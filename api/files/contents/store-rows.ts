/** The statements of contents and of the blobs that hold their bytes. */
import type { Db } from "#api/db/pool.ts";
import { type Digest, PROJECT } from "../model.ts";

/** Where the bytes of a content lie. */
export interface BlobPlace {
  id: string;
  /** `postgres`, or the folder of a bucket. */
  place: string;
}

/** One that is given up. */
export interface DoomedBlob extends BlobPlace {
  upload: string | null;
}

/** A blob that is about to be written. Returns its id. */
export async function insertBlob(db: Db, place: string): Promise<string> {
  const [row] = await db<{ id: string }[]>`
    insert into blobs (project, place) values (${PROJECT}, ${place}) returning id`;
  return (row as { id: string }).id;
}

/** Before a part of it is stored. */
export async function noteUpload(db: Db, id: string, upload: string): Promise<void> {
  await db`update blobs set upload = ${upload} where project = ${PROJECT} and id = ${id}::uuid`;
}

/** It is still being written. */
export async function touchBlob(db: Db, id: string): Promise<void> {
  await db`update blobs set touched_at = now() where project = ${PROJECT} and id = ${id}::uuid and not doomed`;
}

/** Whether the content is there; it stays for a while even if nothing refers to it. */
export async function touchContent(db: Db, digest: Digest): Promise<boolean> {
  const { count } = await db`
    update contents set used_at = now() where project = ${PROJECT} and digest = ${digest}`;
  return count === 1;
}

/**
 * Makes a blob that is complete the content of this digest. Returns the blob that is its content now, another one where it
 * had one; null: a sweep has given this blob up.
 */
export async function insertContent(
  db: Db,
  content: { digest: Digest; size: number; blob: string },
): Promise<string | null> {
  // The blob's row changes, so that a sweep that waits for it looks at it anew.
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

/** Contents that nothing refers to, and that nothing was made to refer to for a while. They are locked. */
export async function lockUnusedContents(db: Db, unusedMs: number, maxRows: number): Promise<Digest[]> {
  const rows = await db<{ digest: Digest }[]>`
    select digest from contents c
    where c.project = ${PROJECT} and used_at <= now() - make_interval(secs => ${unusedMs / 1000}) and ${isUnused(db)}
    limit ${maxRows} for update skip locked`;
  return rows.map(({ digest }) => digest);
}

/** Of those that are locked: what was made to refer to one before it was locked is seen by this statement only. */
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
 * Blobs that no content has and that are not being written; those that were given up before as well, the one longest ago first.
 * They are locked.
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
 * Gives up blobs, of those that are locked: what was made a content before it was locked is seen by this statement only. Each
 * counts as tried now: what cannot be removed keeps no others from it.
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

/** With their chunks, where they have any. */
export async function deleteBlobs(db: Db, ids: readonly string[]): Promise<void> {
  await db`
    delete from blobs where project = ${PROJECT} and doomed and id::text = any(${[...ids]}::text[])`;
}

/** Bytes of all contents, for the metrics. */
export async function sumContents(db: Db): Promise<{ contents: number; bytes: number }> {
  const [row] = await db<{ contents: number; bytes: number }[]>`
    select count(*) as contents, coalesce(sum(size), 0)::bigint as bytes from contents`;
  return row as { contents: number; bytes: number };
}
