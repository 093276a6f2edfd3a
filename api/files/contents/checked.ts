/** Reading a content, compared with its digest: a store that hands back other bytes is an error, and never a content. */
import { createHash } from "node:crypto";
import { AppError } from "../../errors.ts";
import type { Digest } from "../model.ts";
import { type BlobStore, CHUNK_BYTES } from "./blobs.ts";

/**
 * A content that is there. Reading rejects when its bytes are not, or are others than were stored: what is read from its
 * beginning to its end, at once or piece by piece, is compared with its digest before the last of it is handed over.
 */
export interface OpenContent {
  size: number;
  read(offset: number, length: number): Promise<Buffer>;
  stream(offset: number, length: number): AsyncIterable<Buffer>;
}

/**
 * The last bytes are handed over only where all of them have the digest. A part of a content of more than a chunk is compared when
 * it is the last one of parts that were read one after the other: to read all of a large content for each of its parts would
 * cost more than it holds.
 */
export function openChecked(
  { read, stream }: Pick<BlobStore, "read" | "stream">,
  { id, size, digest }: { id: string; size: number; digest: Digest },
): OpenContent {
  const lengthFrom = (offset: number, length: number) => Math.max(0, Math.min(length, size - offset));
  let inOrder = createCheck(digest, size);
  return {
    size,
    async read(offset, length) {
      const wanted = lengthFrom(offset, length);
      if (wanted === 0) return Buffer.alloc(0);
      if (size <= CHUNK_BYTES) {
        const whole = await read(id, 0, size);
        createCheck(digest, size).take(whole);
        return whole.subarray(offset, offset + wanted);
      }
      const bytes = await read(id, offset, wanted);
      if (offset === 0) inOrder = createCheck(digest, size);
      if (offset === inOrder.takenBytes) inOrder.take(bytes);
      return bytes;
    },
    async *stream(offset, length) {
      const wanted = lengthFrom(offset, length);
      if (wanted > 0 && wanted < size && size <= CHUNK_BYTES) {
        yield await this.read(offset, wanted);
        return;
      }
      const check = wanted === size ? createCheck(digest, size) : null;
      for await (const bytes of stream(id, offset, wanted)) {
        check?.take(bytes);
        yield bytes;
      }
    },
  };
}

/** Throws AppError `storage_unavailable` with the last bytes of what has another digest. */
function createCheck(digest: Digest, size: number) {
  const hash = createHash("sha256");
  let takenBytes = 0;
  return {
    get takenBytes() {
      return takenBytes;
    },
    take(bytes: Buffer): void {
      hash.update(bytes);
      takenBytes += bytes.length;
      if (takenBytes < size || hash.digest("hex") === digest) return;
      throw new AppError(
        "storage_unavailable",
        "The store of files gave other bytes than were stored. They were thrown away.",
        { cause: new Error(`the bytes of the content ${digest} are not those that were stored`) },
      );
    },
  };
}
