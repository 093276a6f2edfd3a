/** Stores bytes in Postgres or a bucket. A blob is written once and never changed. */

/**
 * Chosen after measuring 64 KiB to 2 MiB: smaller chunks cost round trips, larger ones memory. Must not shrink,
 * because stored chunks may have this size.
 */
export const CHUNK_BYTES = 256 * 1024;

export interface BlobStore {
  /**
   * Resolves when all bytes are stored. All `chunks` except the last have CHUNK_BYTES; they are read only as fast as
   * they are stored. Awaits `recordUpload` before storing parts that only the upload's name can find again.
   */
  write(
    id: string,
    chunks: AsyncIterable<Buffer>,
    recordUpload: (upload: string) => Promise<void>,
  ): Promise<void>;
  /** Reads part of a blob. Rejects if any of the bytes are missing. */
  read(id: string, offset: number, length: number): Promise<Buffer>;
  stream(id: string, offset: number, length: number): AsyncIterable<Buffer>;
  /** Returns the same store for work on behalf of a key. Absent if keys do not share connections. */
  forKey?(key: string): BlobStore;
  /** Removes blobs and the parts of unfinished ones. Missing blobs are ignored. */
  remove(blobs: readonly { id: string; upload: string | null }[]): Promise<void>;
}
