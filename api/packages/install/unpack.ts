import { mkdir } from "node:fs/promises";
import { createGunzip } from "node:zlib";
import { type ArchiveBudget, ArchiveRefused, unpackArchive } from "#api/bounds/unpack-archive.ts";

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

export interface UnpackedTarball {
  bytes: number;
  files: number;
  /** Path of a file that only native addons have, or null. */
  nativeFile: string | null;
}

/** Throws ArchiveRefused with a message that completes "The tarball of <package> …". */
export async function unpackTarball(
  tarball: Buffer,
  folder: string,
  budget: ArchiveBudget,
): Promise<UnpackedTarball> {
  await mkdir(folder, { recursive: true });
  if (!tarball.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC)) {
    throw new ArchiveRefused("is not compressed with gzip");
  }
  let nativeFile: string | null = null;
  const gunzip = createGunzip();
  gunzip.end(tarball);
  const { bytes, files } = await unpackArchive(gunzip, folder, {
    budget,
    place([_anyName, ...segments], isFile) {
      // Bundled packages are downloaded and checked separately.
      if (segments.length === 0 || segments.includes("node_modules")) return null;
      const file = segments.join("/");
      if (isFile && (file === "binding.gyp" || file.endsWith(".node"))) nativeFile ??= file;
      return segments;
    },
  });
  return { bytes, files, nativeFile };
}
