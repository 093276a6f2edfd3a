/**
 * Reads a module folder's files in a fixed order into one hash, and optionally copies them. Limits their number,
 * depth and bytes. Accepts only files, folders and links, because opening anything else might block forever.
 */
import { createHash, type Hash } from "node:crypto";
import { type FileHandle, lstat, mkdir, open, readdir, readlink, symlink } from "node:fs/promises";
import path from "node:path";
import { PACKAGE_NOTE } from "../packages/note.ts";

export interface FolderLimits {
  maxEntries: number;
  maxBytes: number;
  maxDepth: number;
}

export const FOLDER_LIMITS: FolderLimits = { maxEntries: 20_000, maxBytes: 256 * 1024 * 1024, maxDepth: 64 };

const SKIPPED_AT_THE_TOP = new Set([".git", PACKAGE_NOTE]);
const CHUNK_BYTES = 256 * 1024;

/**
 * Returns the SHA-256 of all names, kinds, execute permissions and contents. `copyTo` must not exist yet; the hash
 * then describes the copy, even if the source changes meanwhile. Throws Error, which names the entry that exceeds a
 * limit or has an unsupported kind, and file system errors.
 */
export async function readFolder(
  folder: string,
  limits: FolderLimits = FOLDER_LIMITS,
  copyTo: string | null = null,
): Promise<string> {
  const hash = createHash("sha256");
  const counted = { entries: 0, bytes: 0 };
  const chunk = Buffer.alloc(CHUNK_BYTES);

  async function visit(relative: string, depth: number): Promise<void> {
    if (depth > limits.maxDepth) throw new Error(`${relative} is more than ${limits.maxDepth} folders deep.`);
    if (copyTo !== null) await mkdir(path.join(copyTo, relative));
    const names = await readdir(path.join(folder, relative));
    counted.entries += names.length;
    if (counted.entries > limits.maxEntries) {
      throw new Error(
        `It contains more than ${limits.maxEntries} files and folders. Bundle its dependencies.`,
      );
    }
    for (const name of names.sort()) {
      if (depth === 0 && SKIPPED_AT_THE_TOP.has(name)) continue;
      await visitEntry(relative === "" ? name : `${relative}/${name}`, depth);
    }
  }

  async function visitEntry(relative: string, depth: number): Promise<void> {
    const source = path.join(folder, relative);
    const found = await lstat(source);
    if (found.isDirectory()) {
      note(hash, "folder", relative, "");
      await visit(relative, depth + 1);
    } else if (found.isSymbolicLink()) {
      const target = await readlink(source);
      note(hash, "link", relative, target);
      if (copyTo !== null) await symlink(target, path.join(copyTo, relative));
    } else if (found.isFile()) {
      const isExecutable = (found.mode & 0o100) !== 0;
      note(hash, isExecutable ? "program" : "file", relative, String(found.size));
      await readContents(relative, found.size, isExecutable ? 0o755 : 0o644);
    } else throw new Error(`${relative} is neither a file, a folder nor a link.`);
  }

  async function readContents(relative: string, size: number, mode: number): Promise<void> {
    counted.bytes += size;
    if (counted.bytes > limits.maxBytes) {
      throw new Error(`It contains more than ${limits.maxBytes} bytes. Bundle its dependencies.`);
    }
    await using source = await open(path.join(folder, relative), "r");
    await using target = copyTo === null ? null : await open(path.join(copyTo, relative), "wx", mode);
    const read = await readInto(source, chunk, size, hash, target);
    if (read !== size) throw new Error(`${relative} changed while it was read.`);
  }

  await visit("", 0);
  return hash.digest("hex");
}

async function readInto(
  source: FileHandle,
  chunk: Buffer,
  size: number,
  hash: Hash,
  target: FileHandle | null,
): Promise<number> {
  let total = 0;
  for (;;) {
    const { bytesRead } = await source.read(chunk, 0, chunk.length, null);
    total += bytesRead;
    if (bytesRead === 0 || total > size) return total;
    const part = chunk.subarray(0, bytesRead);
    hash.update(part);
    if (target !== null) await target.writeFile(part);
  }
}

/** Writes lengths before the words, so that no two folders write the same bytes into the hash. */
function note(hash: Hash, ...words: string[]): void {
  hash.update(`${words.map((word) => `${Buffer.byteLength(word)}:${word}`).join("")}\n`);
}
