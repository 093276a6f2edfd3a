/**
 * Blobs as objects of an S3-compatible bucket. Address, region and credentials are the client library's own settings
 * (AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_ACCESS_KEY_ID, web identity, instance roles …). Loaded only where a bucket is set.
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
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { AppError } from "../../errors.ts";
import type { BlobStore } from "./blobs.ts";

/** A larger blob is uploaded in parts of it: a whole number of chunks, and not less than the 5 MiB that S3 asks for. */
const PART_BYTES = 8 * 1024 * 1024;
const MAX_ATTEMPTS = 4;
const CONNECT_TIMEOUT_MS = 5000;
/** Without a byte. */
const REQUEST_TIMEOUT_MS = 30_000;
const RETRY_AFTER_SECONDS = 5;
/** What a reader of a whole content asks for at once: a connection is not held while a client is slow. */
const READ_BYTES = 4 * 1024 * 1024;

/** `place`: `s3://bucket/folder`. */
export function createBucket(place: string, pathStyle: boolean): BlobStore & { close(): void } {
  const { hostname: Bucket, pathname } = new URL(place);
  const folder = pathname.replace(/^\/|\/$/g, "");
  const keyOf = (id: string) => (folder === "" ? id : `${folder}/${id}`);
  const client = new S3Client({
    forcePathStyle: pathStyle,
    maxAttempts: MAX_ATTEMPTS,
    // Newer checksums are unknown to many of the compatible stores.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
  });

  const send = (async (command: Parameters<typeof client.send>[0]) => {
    try {
      return await client.send(command);
    } catch (error) {
      throw new AppError(
        "storage_unavailable",
        "The store of files does not answer as it should at the moment. Try again shortly.",
        { cause: error, retryAfterSeconds: RETRY_AFTER_SECONDS },
      );
    }
  }) as typeof client.send;

  async function read(id: string, offset: number, length: number): Promise<Buffer> {
    if (length === 0) return Buffer.alloc(0);
    const Range = `bytes=${offset}-${offset + length - 1}`;
    const { Body } = await send(new GetObjectCommand({ Bucket, Key: keyOf(id), Range }));
    const bytes = await buffer(Body as Readable);
    if (bytes.length !== length) throw new Error(`an object answered ${bytes.length} of ${length} bytes`);
    return bytes;
  }

  /** What the store says when there is nothing of this name is as good as its removal. */
  async function giveUp({ id, upload }: { id: string; upload: string | null }): Promise<void> {
    const Key = keyOf(id);
    await send(new DeleteObjectCommand({ Bucket, Key }));
    if (upload === null) return;
    await send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId: upload })).catch((error) => {
      if (!(error.cause instanceof Error) || error.cause.name !== "NoSuchUpload") throw error;
    });
  }

  return {
    async write(id, chunks, noteUpload) {
      const Key = keyOf(id);
      const parts: CompletedPart[] = [];
      let UploadId: string | undefined;
      // One is on its way while the next one comes.
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
            await noteUpload(UploadId as string);
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
    close: () => client.destroy(),
  };
}

/** At least one, the last one marked. The bytes of one are used again for the next but one. */
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
