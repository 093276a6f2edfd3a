/**
 * Where definitions come from: the request itself, a download, or a registry's descriptor that names a download; and how
 * they are stored: compressed, because they are large and rarely read again.
 */
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import { AppError } from "#api/errors.ts";
import type { Download } from "../../ports.ts";
import { type Fetched, fetchBytes, hashOf } from "../../registry.ts";

const MAX_DEFINITION_BYTES = 30 * 1024 * 1024;

export interface ObtainedDefinition {
  text: string;
  /** The bytes as they are stored. */
  packed: Buffer;
  /** SHA-256 of the bytes as they came, hexadecimal. */
  hash: string;
}

/** A definition given in the request, or downloaded once. Throws AppError. */
export async function obtainDefinition(
  download: Download,
  given: { url?: string | undefined; content?: string | undefined },
): Promise<ObtainedDefinition> {
  if (given.content !== undefined) {
    const bytes = Buffer.from(given.content);
    if (bytes.length <= MAX_DEFINITION_BYTES) return readDefinition({ bytes, hash: hashOf(bytes) });
    throw new AppError(
      "payload_too_large",
      `The definition has ${bytes.length} bytes; at most 30 MiB (${MAX_DEFINITION_BYTES} bytes) are accepted.`,
    );
  }
  return downloadDefinition(download, given.url ?? "");
}

/** Throws AppError, `hash_mismatch` among others. */
export async function downloadDefinition(
  download: Download,
  downloadUrl: string,
  hash?: string,
): Promise<ObtainedDefinition> {
  return readDefinition(await fetchBytes(download, { downloadUrl, hash }, MAX_DEFINITION_BYTES));
}

async function readDefinition({ bytes, hash }: Fetched): Promise<ObtainedDefinition> {
  let text: string;
  try {
    // Also drops a byte order mark.
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new AppError("invalid_definition", "The definition is not UTF-8 text.");
  }
  if (text.includes("\0")) {
    throw new AppError(
      "invalid_definition",
      `The definition holds a NUL character (U+0000) at position ${text.indexOf("\0")}, which cannot be stored. Remove it.`,
    );
  }
  if (text.trim() === "") throw new AppError("invalid_definition", "The definition is empty.");
  return { text, packed: await packDefinition(bytes), hash };
}

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Higher levels gain little. */
const LEVEL = 3;

function packDefinition(bytes: Buffer): Promise<Buffer> {
  return compress(bytes, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });
}

/** The text, without a byte order mark. Rejects for what `packDefinition` did not make. */
export async function unpackDefinition(packed: Buffer): Promise<string> {
  const bytes = await decompress(packed, { maxOutputLength: MAX_DEFINITION_BYTES });
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}
