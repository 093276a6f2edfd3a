import { createSharedLimit, type SharedLimit } from "#api/bounds/shared-limit.ts";
import type { Db } from "#api/db/pool.ts";
import { PROJECT } from "../model.ts";
import { type BlobStore, CHUNK_BYTES } from "./blobs.ts";

const READ_BYTES = 2 * CHUNK_BYTES;
/**
 * Concurrent statements for all uploads and downloads together, so that connections remain for other work. One is
 * reserved for keys that currently use none.
 */
const MAX_STATEMENTS = 4;

export function createChunkStore(db: Db): BlobStore {
  return storeFor(db, createSharedLimit(MAX_STATEMENTS, 1), "");
}

function storeFor(db: Db, statements: SharedLimit, key: string): BlobStore {
  const read = (id: string, offset: number, length: number) =>
    statements.run(key, () => readChunks(db, id, offset, length));
  return {
    forKey: (other) => storeFor(db, statements, other),
    async write(id, chunks) {
      let endsAt = 0;
      let before = Promise.resolve();
      try {
        for await (const chunk of chunks) {
          endsAt += chunk.length;
          const end = endsAt;
          const stored = statements.run(key, () => insertChunk(db, id, end, chunk));
          stored.catch(() => {});
          await before;
          before = stored;
        }
      } finally {
        await before;
      }
    },
    read,
    async *stream(id, offset, length) {
      const end = offset + length;
      const piece = (from: number) => {
        const bytes = read(id, from, Math.min(READ_BYTES, end - from));
        bytes.catch(() => {});
        return bytes;
      };
      let next = piece(offset);
      for (let from = offset; from < end; ) {
        const bytes = await next;
        from += bytes.length;
        if (from < end) next = piece(from);
        yield bytes;
      }
    },
    // Deleting a blob's row also deletes its chunks.
    remove: async () => {},
  };
}

/**
 * Commits without waiting for the disk: the row that turns the blob into a content follows in the same log, and its
 * commit waits. A chunk has at most CHUNK_BYTES.
 */
async function insertChunk(db: Db, blob: string, endsAt: number, bytes: Buffer): Promise<void> {
  await db`
    with quick as materialized (select set_config('synchronous_commit', 'off', true))
    insert into blob_chunks (project, blob, ends_at, bytes)
    select ${PROJECT}, ${blob}::uuid, ${endsAt}::bigint, ${bytes}::bytea from quick`;
}

async function readChunks(db: Db, blob: string, offset: number, length: number): Promise<Buffer> {
  const end = offset + length;
  const rows = await db<{ bytes: Buffer }[]>`
    select substring(bytes from greatest(${offset}::bigint - starts_at, 0)::int + 1
      for (least(${end}::bigint, ends_at) - greatest(${offset}::bigint, starts_at))::int) as bytes
    from (
      select bytes, ends_at, ends_at - octet_length(bytes) as starts_at from blob_chunks
      where project = ${PROJECT} and blob = ${blob}::uuid
        and ends_at > ${offset}::bigint and ends_at < ${end + CHUNK_BYTES}::bigint
    ) chunk
    where starts_at < ${end}::bigint order by ends_at`;
  const pieces = rows.map(({ bytes }) => bytes);
  const whole = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  if (whole.length !== length) {
    throw new Error(`a stored content has ${whole.length} of ${length} bytes from ${offset} on`);
  }
  return whole;
}
