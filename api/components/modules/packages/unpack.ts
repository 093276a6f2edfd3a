import { createZstdDecompress } from "node:zlib";
import { ArchiveRefused, createArchiveBudget, unpackArchive } from "#api/bounds/unpack-archive.ts";
import { PACKAGE_NOTE } from "./note.ts";

export interface PackageLimits {
  maxPackedBytes: number;
  maxUnpackedBytes: number;
  maxEntries: number;
  maxUnpackMs: number;
}

export const PACKAGE_LIMITS: PackageLimits = {
  maxPackedBytes: 10 * 1024 * 1024,
  maxUnpackedBytes: 100 * 1024 * 1024,
  maxEntries: 5000,
  maxUnpackMs: 60_000,
};

const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

export class PackageRefused extends Error {
  override readonly name = "PackageRefused";
}

/** Unpacks a package. After a failure the caller must remove the partly written folder. */
export async function unpackPackage(
  bytes: Buffer,
  folder: string,
  limits: PackageLimits = PACKAGE_LIMITS,
): Promise<void> {
  if (bytes.length > limits.maxPackedBytes) {
    throw new PackageRefused(`The package is ${bytes.length} bytes; the limit is ${limits.maxPackedBytes}.`);
  }
  if (!bytes.subarray(0, ZSTD_MAGIC.length).equals(ZSTD_MAGIC)) {
    throw new PackageRefused("The package is not compressed with Zstandard: expected a .tar.zst file.");
  }
  const signal = AbortSignal.timeout(limits.maxUnpackMs);
  const budget = createArchiveBudget(limits.maxUnpackedBytes, limits.maxEntries);
  const stream = createZstdDecompress();
  stream.end(bytes);
  try {
    const { entries } = await unpackArchive(stream, folder, { budget, signal, keepsExecutable: true, place });
    if (entries === 0) throw new ArchiveRefused("is empty");
  } catch (error) {
    if (signal.aborted) {
      throw new PackageRefused(`The package could not be unpacked within ${limits.maxUnpackMs} ms.`);
    }
    throw error instanceof ArchiveRefused ? new PackageRefused(`The package ${error.message}.`) : error;
  }
}

function place(segments: string[], isFile: boolean): string[] | null {
  if (segments.includes(PACKAGE_NOTE)) throw new Error(`the name ${PACKAGE_NOTE} is reserved for the server`);
  if (segments.length > 0) return segments;
  if (isFile) throw new Error("it contains a file without a name");
  return null;
}
