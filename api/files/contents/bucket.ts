/**
 * Blobs as objects of an S3-compatible bucket. Address, region and credentials are the client library's own settings
 * (AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_ACCESS_KEY_ID, web identity, instance roles …). Loaded only where a bucket is set.
 */

import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import type { BlobStore } from "./blobs.ts";

/** The smallest part there may be; a larger blob is uploaded in parts of it. */
const PART_BYTES = 5 * 1024 * 1024;
const PARTS_AT_ONCE = 2;
const MAX_ATTEMPTS = 4;
const CONNECT_TIMEOUT_MS = 5000;
/** Without a byte. */
const REQUEST_TIMEOUT_MS = 30_000;
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

  async function read(id: string, offset: number, length: number): Promise<Buffer> {
    if (length === 0) return Buffer.alloc(0);
    const Range = `bytes=${offset}-${offset + length - 1}`;
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: keyOf(id), Range }));
    const bytes = await buffer(Body as Readable);
    if (bytes.length !== length) throw new Error(`an object answered ${bytes.length} of ${length} bytes`);
    return bytes;
  }

  async function abortUploads(Key: string): Promise<void> {
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: Key }));
    for (const { UploadId } of Uploads) {
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
    }
  }

  return {
    async write(id, chunks) {
      const Body = Readable.from(chunks, { objectMode: false });
      const upload = new Upload({
        client,
        params: { Bucket, Key: keyOf(id), Body, ContentType: "application/octet-stream" },
        partSize: PART_BYTES,
        queueSize: PARTS_AT_ONCE,
      });
      await upload.done();
    },
    read,
    async *stream(id, offset, length) {
      for (let at = offset; at < offset + length; at += READ_BYTES) {
        yield await read(id, at, Math.min(READ_BYTES, offset + length - at));
      }
    },
    async remove(ids) {
      for (const id of ids) {
        await client.send(new DeleteObjectCommand({ Bucket, Key: keyOf(id) }));
        await abortUploads(keyOf(id));
      }
    },
    close: () => client.destroy(),
  };
}
