/** Storage for bytes: Postgres or a bucket. A blob is written once and never changed. */

/**
 * Measured from 64 KiB to 2 MiB: smaller chunks cost round trips, larger ones memory. Must not shrink, because stored
 * chunks may have this size.
 */
export const CHUNK_BYTES = 256 * 1024;

export interface BlobStore {
  /**
   * Resolves when everything is stored. All `chunks` except the last have CHUNK_BYTES and are pulled as they are
   * stored. Awaits `recordUpload` before storing parts that can be found again only by the upload's name.
   */
  write(
    id: string,
    chunks: AsyncIterable<Buffer>,
    recordUpload: (upload: string) => Promise<void>,
  ): Promise<void>;
  /** Rejects if some of the bytes are missing. */
  read(id: string, offset: number, length: number): Promise<Buffer>;
  stream(id: string, offset: number, length: number): AsyncIterable<Buffer>;
  /** Returns the same store for work on behalf of a key. Absent if keys do not share connections. */
  forKey?(key: string): BlobStore;
  /** Removes blobs and parts of unfinished ones; ignores missing blobs. */
  remove(blobs: readonly { id: string; upload: string | null }[]): Promise<void>;
}
