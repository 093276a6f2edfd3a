/** What a place for bytes can do: Postgres, or a bucket. A blob is written once, whole, and never changed. */

/**
 * Of a chunk that is written. Measured with 64 KiB to 2 MiB: smaller ones cost round trips, larger ones memory. Chunks that
 * are stored may be as large: it must not become less.
 */
export const CHUNK_BYTES = 256 * 1024;

export interface BlobStore {
  /**
   * Resolves when all of it is stored. `chunks` have CHUNK_BYTES but the last one, and are asked for as they are stored.
   * `noteUpload` is waited for before anything lies where only the name of an upload tells of it.
   */
  write(
    id: string,
    chunks: AsyncIterable<Buffer>,
    noteUpload: (upload: string) => Promise<void>,
  ): Promise<void>;
  /** Exactly these bytes; rejects when they are not there. */
  read(id: string, offset: number, length: number): Promise<Buffer>;
  stream(id: string, offset: number, length: number): AsyncIterable<Buffer>;
  /** The same store, used on behalf of a key. Absent where keys do not keep each other waiting. */
  forKey?(key: string): BlobStore;
  /** Also parts of blobs that were never finished; blobs that are not there do no harm. */
  remove(blobs: readonly { id: string; upload: string | null }[]): Promise<void>;
}
