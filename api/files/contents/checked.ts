/** Compares contents with their digest, so that a store that returns wrong bytes causes an error. */
import { createHash } from "node:crypto";
import { AppError } from "../../errors.ts";
import type { Digest } from "../model.ts";
import { type BlobStore, CHUNK_BYTES } from "./blobs.ts";

/**
 * A stored content. Reading rejects if bytes are missing or differ: a read from start to end, at once or in pieces,
 * is compared with the digest before the last bytes are returned.
 */
export interface OpenContent {
  size: number;
  read(offset: number, length: number): Promise<Buffer>;
  stream(offset: number, length: number): AsyncIterable<Buffer>;
}

/**
 * Returns the last bytes only if all bytes match the digest. A range of a multi-chunk content is verified only when
 * it completes a sequential read, because reading a large content completely for each range would cost too much.
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

/** Throws AppError `storage_unavailable` when the last bytes arrive if the digest differs. */
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
        "The file store returned different bytes than were stored, so they were discarded.",
        { cause: new Error(`the bytes of the content ${digest} differ from those stored`) },
      );
    },
  };
}
