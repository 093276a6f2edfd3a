/** Where definitions come from: the request itself, a download, or a registry's descriptor that names a download. */
import { createHash } from "node:crypto";
import { AppError } from "#api/errors.ts";
import type { Downloader } from "../../ports.ts";
import { type Descriptor, descriptorSchema } from "../model.ts";
import { packDefinition } from "./packing.ts";

export const MAX_DEFINITION_BYTES = 30 * 1024 * 1024;
const MAX_DESCRIPTOR_BYTES = 256 * 1024;

export interface ObtainedDefinition {
  text: string;
  /** The bytes as they are stored. */
  packed: Buffer;
  /** SHA-256 of the bytes as they came, hexadecimal. */
  hash: string;
}

/** A definition given in the request, or downloaded once. Throws AppError. */
export async function obtainDefinition(
  download: Downloader,
  given: { url?: string | undefined; content?: string | undefined },
): Promise<ObtainedDefinition> {
  if (given.content !== undefined) {
    const bytes = Buffer.from(given.content);
    if (bytes.length <= MAX_DEFINITION_BYTES) return readDefinitionBytes(bytes);
    throw new AppError(
      "payload_too_large",
      `The definition has ${bytes.length} bytes; at most 30 MiB (${MAX_DEFINITION_BYTES} bytes) are accepted.`,
    );
  }
  return downloadDefinition(download, given.url ?? "");
}

/** Throws AppError, `hash_mismatch` among others. */
export async function downloadDefinition(
  download: Downloader,
  url: string,
  expectedHash?: string,
): Promise<ObtainedDefinition> {
  const { bytes } = await download(url, { maxBytes: MAX_DEFINITION_BYTES });
  return readDefinitionBytes(bytes, expectedHash);
}

async function readDefinitionBytes(bytes: Buffer, expectedHash?: string): Promise<ObtainedDefinition> {
  const hash = createHash("sha256").update(bytes).digest("hex");
  if (expectedHash !== undefined && hash !== expectedHash) {
    throw new AppError(
      "hash_mismatch",
      `The download does not have the hash that the registry promises: expected ${expectedHash}, found ${hash}. Nothing was changed.`,
    );
  }
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

/** Asks a registry. `downloadUrl` may be relative to where the descriptor was found. Throws AppError. */
export async function readDescriptor(download: Downloader, source: string): Promise<Descriptor> {
  const { bytes, finalUrl } = await download(source, {
    maxBytes: MAX_DESCRIPTOR_BYTES,
    accept: "application/json",
  });
  const parsed = descriptorSchema.safeParse(parseJson(bytes));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalidDescriptor(`${issue?.path.join(".") || "the answer"}: ${issue?.message}`);
  }
  const url = URL.parse(parsed.data.downloadUrl, finalUrl);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw invalidDescriptor("downloadUrl: expected an http or https URL");
  }
  return { ...parsed.data, downloadUrl: url.href };
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

function invalidDescriptor(problem: string): AppError {
  return new AppError(
    "invalid_descriptor",
    `The registry did not answer {downloadUrl, hash?, id?, adapter?}: ${problem}.`,
  );
}
