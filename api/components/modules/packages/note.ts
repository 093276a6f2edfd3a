/** Stores package metadata in a file inside the module's folder, so that it moves with the folder. */
import { readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

export const PACKAGE_NOTE = ".cyrnel-package.json";
const MAX_NOTE_BYTES = 16 * 1024;

const recordSchema = z.object({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  source: z.string().max(4000),
  /** Hash of the unpacked files. If it differs from theirs, the files were edited later. */
  filesHash: z.string(),
});
export type PackageNote = z.infer<typeof recordSchema>;

export async function readPackageNote(folder: string): Promise<PackageNote | null> {
  const file = path.join(folder, PACKAGE_NOTE);
  try {
    const found = await stat(file);
    if (!found.isFile() || found.size > MAX_NOTE_BYTES) return null;
    return recordSchema.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return null;
  }
}

export async function writePackageNote(folder: string, note: PackageNote): Promise<void> {
  await writeFile(path.join(folder, PACKAGE_NOTE), `${JSON.stringify(note, null, 2)}\n`, { flag: "wx" });
}
