/**
 * Reads definitions from the request, a download, or a registry descriptor. Stores them compressed, because they are
 * large and rarely read again.
 */
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import { waitAtMost } from "#api/bounds/deadline.ts";
import { readFailure } from "#api/bounds/failure-text.ts";
import { AppError } from "#api/errors.ts";
import type { AdapterModule } from "#sdk";
import type { Download } from "../../ports.ts";
import { fetchBytes, hashOf } from "../../registry.ts";

const MAX_DEFINITION_BYTES = 30 * 1024 * 1024;

export interface ObtainedDefinition {
  text: string;
  packed: Buffer;
  hash: string;
}

export async function obtainDefinition(
  download: Download,
  given: { url?: string | undefined; content?: string | undefined },
  adapter: AdapterModule,
): Promise<ObtainedDefinition> {
  if (given.content !== undefined) {
    const bytes = requireBounded(Buffer.from(given.content));
    return { text: readText(bytes), packed: await packDefinition(bytes), hash: hashOf(bytes) };
  }
  return downloadDefinition(download, { downloadUrl: given.url ?? "" }, adapter);
}

/**
 * Compares the download with `hash`; the returned hash is that of the stored text. Throws AppError, for example
 * `hash_mismatch`.
 */
export async function downloadDefinition(
  download: Download,
  from: { downloadUrl: string; hash?: string | undefined },
  adapter: AdapterModule,
): Promise<ObtainedDefinition> {
  const { bytes, hash, finalUrl } = await fetchBytes(download, from, MAX_DEFINITION_BYTES);
  const text = readText(bytes);
  const bundled = await bundle(download, adapter, { text, url: finalUrl, bytes: bytes.length });
  if (bundled === text) return { text, packed: await packDefinition(bytes), hash };
  const stored = requireBounded(Buffer.from(bundled));
  return { text: readText(stored), packed: await packDefinition(stored), hash: hashOf(stored) };
}

function requireBounded(bytes: Buffer): Buffer {
  if (bytes.length <= MAX_DEFINITION_BYTES) return bytes;
  throw new AppError(
    "payload_too_large",
    `The definition has ${bytes.length} bytes; at most 30 MiB (${MAX_DEFINITION_BYTES} bytes) are accepted.`,
  );
}

function readText(bytes: Buffer): string {
  const text = decode(bytes);
  if (text === null) throw new AppError("invalid_definition", "The definition is not UTF-8 text.");
  if (text.includes("\0")) {
    throw new AppError(
      "invalid_definition",
      `The definition contains a NUL character (U+0000) at position ${text.indexOf("\0")}, which cannot be stored. Remove it.`,
    );
  }
  if (text.trim() === "") throw new AppError("invalid_definition", "The definition is empty.");
  return text;
}

/** Decodes the bytes and drops a byte order mark. Returns null if they are not UTF-8. */
function decode(bytes: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

const FILE_LIMITS = { maxFiles: 50, maxMs: 30_000, maxBundleMs: 60_000, maxFileMs: 10_000 } as const;

async function bundle(
  download: Download,
  adapter: AdapterModule,
  document: { text: string; url: string; bytes: number },
): Promise<string> {
  if (adapter.bundleDefinition === undefined) return document.text;
  const url = new URL(document.url);
  for (const part of ["hash", "username", "password"] as const) url[part] = "";
  const read = readBeside(download, url.origin, MAX_DEFINITION_BYTES - document.bytes);
  try {
    const bundling = adapter.bundleDefinition(document.text, { url: url.href, read });
    return await waitAtMost(bundling, FILE_LIMITS.maxBundleMs, "Reading the files of the definition");
  } catch (error) {
    throw new AppError("invalid_definition", `The definition cannot be used: ${readFailure(error)}`);
  }
}

/** Reads further files for a definition: only from its own origin, and limited in number, time and bytes. */
function readBeside(download: Download, origin: string, maxBytes: number): (url: string) => Promise<string> {
  const deadline = performance.now() + FILE_LIMITS.maxMs;
  let files = 0;
  let left = maxBytes;
  return async (url) => {
    if (URL.parse(url)?.origin !== origin) throw new Error(`Only files of ${origin} are read.`);
    files += 1;
    if (files > FILE_LIMITS.maxFiles) throw new Error(`Only ${FILE_LIMITS.maxFiles} files are read.`);
    const remainingMs = deadline - performance.now();
    if (remainingMs <= 0) throw new Error(`Files are read for ${FILE_LIMITS.maxMs} ms only.`);
    const maxMs = Math.ceil(Math.min(remainingMs, FILE_LIMITS.maxFileMs));
    const { bytes } = await download(url, { maxBytes: Math.max(0, left), maxMs, maxRedirects: 0 });
    left -= bytes.length;
    const text = decode(bytes);
    if (text === null) throw new Error("The file is not UTF-8 text.");
    return text;
  };
}

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

const LEVEL = 3;

function packDefinition(bytes: Buffer): Promise<Buffer> {
  return compress(bytes, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });
}

export async function unpackDefinition(packed: Buffer): Promise<string> {
  const bytes = await decompress(packed, { maxOutputLength: MAX_DEFINITION_BYTES });
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}
