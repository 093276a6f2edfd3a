import { createHash } from "node:crypto";
import { z } from "zod";
import { AppError } from "#api/errors.ts";
import type { Download } from "./ports.ts";

const MAX_DESCRIPTOR_BYTES = 256 * 1024;

/**
 * Fields common to all descriptors; each kind of component adds its own. Unknown keys are ignored, and `hash` may
 * start with its algorithm.
 */
export const descriptorSchema = z.object({
  downloadUrl: z.string().min(1).max(4000),
  hash: z
    .string()
    .regex(/^(?:sha256[:-])?[0-9a-f]{64}$/i, { error: "expected SHA-256 as 64 hexadecimal digits" })
    .transform((text) => text.slice(-64).toLowerCase())
    .optional(),
});
type Descriptor = z.output<typeof descriptorSchema>;

/** Fetches a descriptor and resolves `downloadUrl` relative to its URL. Throws AppError `invalid_descriptor`. */
export async function fetchDescriptor<Known extends Descriptor>(
  download: Download,
  source: string,
  schema: z.ZodType<Known>,
): Promise<Known> {
  const { bytes, finalUrl } = await download(source, {
    maxBytes: MAX_DESCRIPTOR_BYTES,
    accept: "application/json",
  });
  const parsed = schema.safeParse(parseJson(bytes));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw refuseDescriptor(`its answer is wrong at ${issue?.path.join(".") || "the top"}: ${issue?.message}`);
  }
  const url = URL.parse(parsed.data.downloadUrl, finalUrl);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw refuseDescriptor("its downloadUrl is not an http or https URL");
  }
  return { ...parsed.data, downloadUrl: url.href };
}

export interface Fetched {
  bytes: Buffer;
  hash: string;
  finalUrl: string;
}

export async function fetchBytes(
  download: Download,
  { downloadUrl, hash: promised }: Descriptor,
  maxBytes: number,
): Promise<Fetched> {
  const { bytes, finalUrl } = await download(downloadUrl, { maxBytes });
  const hash = hashOf(bytes);
  if (promised === undefined || promised === hash) return { bytes, hash, finalUrl };
  throw new AppError(
    "hash_mismatch",
    `The registry promises a download with SHA-256 ${promised}; the one at ${withoutQuery(downloadUrl)} has ${hash}. Nothing was changed.`,
  );
}

export function hashOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

function refuseDescriptor(problem: string): AppError {
  return new AppError("invalid_descriptor", `The registry could not be used: ${problem}.`);
}

function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
