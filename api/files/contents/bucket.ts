/**
 * Stores blobs as objects in an S3-compatible bucket. The client library's own settings (AWS_ENDPOINT_URL_S3,
 * AWS_REGION, AWS_ACCESS_KEY_ID, web identity, instance roles …) provide address, region and credentials. Loaded only
 * if a bucket is configured.
 */

import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { pauseFor } from "#api/db/retry.ts";
import { orAborted } from "#modules/shared/limits.ts";
import type { ModuleLogger } from "#sdk";
import { AppError } from "../../errors.ts";
import type { BlobStore } from "./blobs.ts";

/** Part size of multipart uploads: a multiple of the chunk size, and at least the 5 MiB that S3 requires. */
const PART_BYTES = 8 * 1024 * 1024;
const MAX_ATTEMPTS = 3;
const FIRST_RETRY_MS = 100;
const RETRY_AFTER_SECONDS = 5;
/** Bytes requested at a time when reading an entire blob, so that a slow client does not hold a connection. */
const READ_BYTES = 4 * 1024 * 1024;

export interface BucketOptions {
  pathStyle: boolean;
  /** Deadline for one attempt, including its request body (at most 8 MiB) and response body. */
  attemptTimeoutMs: number;
  log: Pick<ModuleLogger, "warn">;
}

export interface Bucket extends BlobStore {
  isReachable(): Promise<boolean>;
  close(): void;
}

/** `place` has the form `s3://bucket/folder`. */
export function createBucket(place: string, { pathStyle, attemptTimeoutMs, log }: BucketOptions): Bucket {
  const { hostname: Bucket, pathname } = new URL(place);
  const folder = pathname.replace(/^\/|\/$/g, "");
  const keyOf = (id: string) => (folder === "" ? id : `${folder}/${id}`);
  const closing = new AbortController();
  // Silences the library, which by default writes warnings to the console, between log lines.
  const quiet = () => {};
  const logger = { trace: quiet, debug: quiet, info: quiet, error: quiet, warn: warnInLog };
  const client = new S3Client({
    forcePathStyle: pathStyle,
    // Retry here instead: an attempt includes reading the response body, which the library's own retries do not
    // cover.
    maxAttempts: 1,
    logger,
    // Many S3-compatible stores do not support the newer checksums.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: { logger },
  });

  function warnInLog(...said: unknown[]): void {
    log.warn({ said: said.map(String).join(" ") }, "the object store's client library warned");
  }

  /**
   * Ends at the deadline or when the store closes, even if the library is waiting for credentials, a connection or a
   * body.
   */
  function attemptOnce<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(attemptTimeoutMs)]);
    return orAborted(work(signal), signal);
  }

  /** Retries the work. Throws AppError `storage_unavailable`. */
  async function attempt<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (let count = 1; ; count += 1) {
      try {
        return await attemptOnce(work);
      } catch (error) {
        if (count === MAX_ATTEMPTS || closing.signal.aborted || isRefusal(error)) throw unavailable(error);
      }
      await pauseFor(FIRST_RETRY_MS * 2 ** count, closing.signal);
    }
  }

  const send = ((command: Parameters<typeof client.send>[0]) =>
    attempt((abortSignal) => client.send(command, { abortSignal }))) as typeof client.send;

  async function read(id: string, offset: number, length: number): Promise<Buffer> {
    if (length === 0) return Buffer.alloc(0);
    const command = { Bucket, Key: keyOf(id), Range: `bytes=${offset}-${offset + length - 1}` };
    return attempt(async (abortSignal) => {
      const { Body } = await client.send(new GetObjectCommand(command), { abortSignal });
      const bytes = await buffer(Body as Readable);
      if (bytes.length !== length)
        throw new Error(`the bucket returned ${bytes.length} of ${length} bytes of an object`);
      return bytes;
    });
  }

  /** Deletes an object and its unfinished upload. Treats a missing object as deleted. */
  async function giveUp({ id, upload }: { id: string; upload: string | null }): Promise<void> {
    const Key = keyOf(id);
    await send(new DeleteObjectCommand({ Bucket, Key }));
    if (upload === null) return;
    await send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId: upload })).catch((error) => {
      if (!(error.cause instanceof Error) || error.cause.name !== "NoSuchUpload") throw error;
    });
  }

  return {
    async write(id, chunks, recordUpload) {
      const Key = keyOf(id);
      const parts: CompletedPart[] = [];
      let UploadId: string | undefined;
      let before = Promise.resolve();
      const putPart = async (PartNumber: number, Body: Buffer) => {
        const { ETag } = await send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }));
        parts[PartNumber - 1] = { ETag, PartNumber };
      };
      try {
        let count = 0;
        for await (const { bytes, isLast } of inParts(chunks)) {
          if (isLast && count === 0) {
            await send(new PutObjectCommand({ Bucket, Key, Body: bytes }));
            return;
          }
          if (UploadId === undefined) {
            ({ UploadId } = await send(new CreateMultipartUploadCommand({ Bucket, Key })));
            await recordUpload(UploadId as string);
          }
          count += 1;
          await before;
          before = putPart(count, bytes);
          before.catch(() => {});
        }
      } finally {
        await before;
      }
      const MultipartUpload = { Parts: parts };
      await send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload }));
    },
    read,
    async *stream(id, offset, length) {
      for (let at = offset; at < offset + length; at += READ_BYTES) {
        yield await read(id, at, Math.min(READ_BYTES, offset + length - at));
      }
    },
    async remove(blobs) {
      for (const blob of blobs) await giveUp(blob);
    },
    async isReachable() {
      try {
        await attemptOnce((abortSignal) => client.send(new HeadBucketCommand({ Bucket }), { abortSignal }));
        return true;
      } catch (error) {
        // Credentials may allow access to objects but not to the bucket's own properties.
        return statusOf(error) === FORBIDDEN;
      }
    },
    close() {
      closing.abort(new Error("the file store is closed"));
      client.destroy();
    },
  };
}

const FORBIDDEN = 403;
const NOT_NOW = [408, 429];

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata?.httpStatusCode;
}

/** True if another attempt would fail the same way. */
function isRefusal(error: unknown): boolean {
  const status = statusOf(error) ?? 0;
  return status >= 400 && status < 500 && !NOT_NOW.includes(status);
}

function unavailable(cause: unknown): AppError {
  return new AppError(
    "storage_unavailable",
    "The file store is not working properly at the moment. Try again shortly.",
    { cause, retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}

/**
 * Yields at least one part and marks the last. Two buffers alternate, so the part after next overwrites a part's
 * bytes.
 */
async function* inParts(chunks: AsyncIterable<Buffer>): AsyncGenerator<{ bytes: Buffer; isLast: boolean }> {
  const memory: Buffer[] = [];
  let count = 0;
  const nextPart = () => (memory[count++ % 2] ??= Buffer.allocUnsafeSlow(PART_BYTES));
  let part = nextPart();
  let size = 0;
  for await (const chunk of chunks) {
    if (size + chunk.length > PART_BYTES) {
      yield { bytes: part.subarray(0, size), isLast: false };
      part = nextPart();
      size = 0;
    }
    part.set(chunk, size);
    size += chunk.length;
  }
  yield { bytes: part.subarray(0, size), isLast: true };
}
