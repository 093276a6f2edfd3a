/**
 * Contents are bytes identified by their digest, each stored once. `put` streams bytes into a blob, and one statement
 * turns the complete blob into a content. Abandoned blobs are removed at once or by a sweep.
 */
import { createHash } from "node:crypto";
import type { Pool } from "#api/db/pool.ts";
import type { ModuleLogger } from "#sdk";
import { AppError } from "../../errors.ts";
import type { Digest } from "../model.ts";
import { type BlobStore, CHUNK_BYTES } from "./blobs.ts";
import type { Bucket } from "./bucket.ts";
import { type OpenContent, openChecked } from "./checked.ts";
import { createChunkStore } from "./chunks.ts";
import {
  deleteBlobs,
  doomBlobs,
  findContent,
  insertBlob,
  insertContent,
  lockBlob,
  recordUpload,
  sumContents,
  touchBlob,
  touchContent,
} from "./store-rows.ts";

export const IN_POSTGRES = "postgres";
/** Interval at which a write marks its blob as in progress; see ABANDONED_MS in sweep.ts. */
const TOUCH_MS = 30_000;
const MEASURED_MS = 60_000;

export interface StoredContent {
  digest: Digest;
  size: number;
}

/** In each method, `key` names the key whose share of the connections is used. */
export interface ContentStore {
  /** Reads the bytes only as fast as they are stored, using little memory. Rejects with any error from `bytes`. */
  put(bytes: AsyncIterable<Uint8Array>, key?: string): Promise<StoredContent>;
  open(digest: Digest, key?: string): Promise<OpenContent | null>;
  /** Returns the total bytes stored by all replicas, at most a minute old. */
  measure(): Promise<StoredBytes>;
  /**
   * Returns whether the object store responds, or null if none is configured. Concurrent callers share one request.
   */
  isReachable(): Promise<boolean | null>;
  /** Returns the blob store of a place. Throws for a bucket if none is configured. */
  placeOf(place: string): BlobStore;
}

export interface StoredBytes {
  contents: number;
  bytes: number;
}

type Place = BlobStore & Partial<Pick<Bucket, "isReachable">>;

export interface ContentsOptions {
  db: Pool;
  bucket: { place: string; open(place: string): Place } | null;
  log: Pick<ModuleLogger, "warn">;
}

export function createContents({ db, bucket, log }: ContentsOptions): ContentStore {
  const target = bucket?.place ?? IN_POSTGRES;
  const places = new Map<string, Place>([[IN_POSTGRES, createChunkStore(db)]]);

  function placeOf(place: string): Place {
    const known = places.get(place);
    if (known !== undefined) return known;
    if (bucket === null) {
      throw new Error(
        `This content is stored in ${place}, but CYRNEL_OBJECT_STORE is not set. Set it to read the content.`,
      );
    }
    const opened = bucket.open(place);
    places.set(place, opened);
    return opened;
  }

  async function giveUp(id: string): Promise<void> {
    try {
      const [doomed] = await db.begin(async (locking) => {
        await lockBlob(locking, id);
        return doomBlobs(locking, [id]);
      });
      if (doomed === undefined) return;
      await placeOf(target).remove([doomed]);
      await deleteBlobs(db, [id]);
    } catch (error) {
      log.warn({ err: error }, "a broken upload is left to the next sweep");
    }
  }

  async function store(
    chunks: AsyncIterable<Buffer>,
    measured: () => StoredContent,
    key?: string,
  ): Promise<void> {
    const id = await insertBlob(db, target);
    const touching = setInterval(() => void touchBlob(db, id).catch(() => {}), TOUCH_MS);
    let isContent = false;
    let isAway = false;
    try {
      await ofKey(placeOf(target), key).write(id, chunks, (upload) => recordUpload(db, id, upload));
      const blob = await insertContent(db, { ...measured(), blob: id });
      if (blob === null) throw new Error("an upload took too long and was abandoned");
      isContent = blob === id;
    } catch (error) {
      // Removing the blob would fail too, while the caller waits, so leave it to the next sweep.
      isAway = error instanceof AppError && error.code === "storage_unavailable";
      throw error;
    } finally {
      clearInterval(touching);
      if (!isContent && !isAway) await giveUp(id);
    }
  }

  let reaching: Promise<boolean | null> | null = null;
  let measured: { atMs: number; stored: Promise<StoredBytes> } | null = null;

  return {
    async put(bytes, key) {
      const hash = createHash("sha256");
      let size = 0;
      const measured = inChunks(bytes, (chunk) => {
        hash.update(chunk);
        size += chunk.length;
      })[Symbol.asyncIterator]();
      try {
        const first = await measured.next();
        const second = first.done ? first : await measured.next();
        // Hashing alone shows whether the content is already stored.
        const whole = () => ({ digest: hash.copy().digest("hex"), size });
        if (second.done && (await touchContent(db, whole().digest))) return whole();
        await store(joined([first, second], measured), whole, key);
        return whole();
      } finally {
        await measured.return?.(undefined);
      }
    },
    async open(digest, key) {
      const found = await findContent(db, digest);
      if (found === null) return null;
      return openChecked(ofKey(placeOf(found.place), key), { ...found, digest });
    },
    measure() {
      if (measured === null || performance.now() - measured.atMs > MEASURED_MS) {
        measured = { atMs: performance.now(), stored: sumContents(db) };
        measured.stored.catch(() => {
          measured = null;
        });
      }
      return measured.stored;
    },
    isReachable() {
      if (bucket === null) return Promise.resolve(null);
      reaching ??= Promise.resolve(placeOf(target).isReachable?.() ?? null).finally(() => {
        reaching = null;
      });
      return reaching;
    },
    placeOf,
  };
}

function ofKey(place: BlobStore, key?: string): BlobStore {
  return (key !== undefined && place.forKey?.(key)) || place;
}

async function* inChunks(
  bytes: AsyncIterable<Uint8Array>,
  onChunk: (chunk: Buffer) => void,
): AsyncGenerator<Buffer, undefined> {
  let chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let held = 0;
  for await (const piece of bytes) {
    for (let taken = 0; taken < piece.length; ) {
      if (held === 0 && piece.length - taken >= CHUNK_BYTES) {
        const whole = Buffer.from(piece.buffer, piece.byteOffset + taken, CHUNK_BYTES);
        taken += CHUNK_BYTES;
        onChunk(whole);
        yield whole;
        continue;
      }
      const part = piece.subarray(taken, taken + CHUNK_BYTES - held);
      chunk.set(part, held);
      taken += part.length;
      held += part.length;
      if (held < CHUNK_BYTES) continue;
      onChunk(chunk);
      yield chunk;
      chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      held = 0;
    }
  }
  if (held === 0) return;
  const last = chunk.subarray(0, held);
  onChunk(last);
  yield last;
}

async function* joined(
  taken: IteratorResult<Buffer, undefined>[],
  rest: AsyncIterator<Buffer, undefined>,
): AsyncGenerator<Buffer> {
  for (const one of taken) if (!one.done) yield one.value;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
