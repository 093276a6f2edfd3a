/** Gets a package or a registry's description of one, through the guarded download of the host. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { AppError } from "#api/errors.ts";
import { PACKAGE_LIMITS } from "./unpack.ts";

const MAX_DESCRIPTOR_BYTES = 64 * 1024;
const MAX_DOWNLOAD_MS = 10_000;
const MAX_REDIRECTS = 5;

/** The host's guarded download. Rejects with AppError. */
export type Download = (
  url: string,
  options: { maxBytes: number; maxMs: number; maxRedirects: number; accept?: string },
) => Promise<{ bytes: Buffer; contentType: string | null; finalUrl: string }>;

export interface FetchedPackage {
  bytes: Buffer;
  /** SHA-256, hexadecimal. */
  hash: string;
}

/** What a registry answers about a module. `hash` may carry its algorithm in front. */
const descriptorSchema = z.object({
  downloadUrl: z.string().min(1).max(4000),
  hash: z
    .string()
    .regex(/^(?:sha256[:-])?[0-9a-f]{64}$/i, { error: "expected SHA-256 as 64 hexadecimal digits" })
    .transform((text) => text.slice(-64).toLowerCase())
    .optional(),
  id: z.string().max(100).optional(),
});
export type Descriptor = { downloadUrl: string; hash: string | null; id: string | null };

export async function fetchPackage(download: Download, url: string): Promise<FetchedPackage> {
  const { bytes } = await download(url, {
    maxBytes: PACKAGE_LIMITS.maxPackedBytes,
    maxMs: MAX_DOWNLOAD_MS,
    maxRedirects: MAX_REDIRECTS,
  });
  return { bytes, hash: createHash("sha256").update(bytes).digest("hex") };
}

/** Throws AppError `invalid_descriptor` for an answer that is no descriptor: the registry is at fault, not the caller. */
export async function fetchDescriptor(download: Download, source: string): Promise<Descriptor> {
  const { bytes, finalUrl } = await download(source, {
    maxBytes: MAX_DESCRIPTOR_BYTES,
    maxMs: MAX_DOWNLOAD_MS,
    maxRedirects: MAX_REDIRECTS,
    accept: "application/json",
  });
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString("utf8"));
  } catch {
    throw badRegistry("it answered something that is not JSON");
  }
  const parsed = descriptorSchema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw badRegistry(`its answer is wrong at ${issue?.path.join(".") || "the top"}: ${issue?.message}`);
  }
  const { downloadUrl, hash = null, id = null } = parsed.data;
  if (!URL.canParse(downloadUrl, finalUrl)) throw badRegistry("its downloadUrl is no URL");
  return { downloadUrl: new URL(downloadUrl, finalUrl).href, hash, id };
}

/** The package that the descriptor names, proven to be that one. */
export async function fetchDescribed(download: Download, descriptor: Descriptor): Promise<FetchedPackage> {
  const fetched = await fetchPackage(download, descriptor.downloadUrl);
  if (descriptor.hash === null || descriptor.hash === fetched.hash) return fetched;
  throw new AppError(
    "hash_mismatch",
    `The registry says the package has SHA-256 ${descriptor.hash}; the one at ${withoutQuery(descriptor.downloadUrl)} has ${fetched.hash}. Nothing was installed.`,
  );
}

function badRegistry(problem: string): AppError {
  return new AppError("invalid_descriptor", `The registry could not be used: ${problem}.`);
}

/** A query may hold a token. */
function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
