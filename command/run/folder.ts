/** Local folders as a run's workspace, and as the destination for its artifacts. */
import { randomUUID } from "node:crypto";
import { constants, openAsBlob } from "node:fs";
import { access, lstat, mkdir, open, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import path from "node:path";
import type { LocalFile } from "#client/kernel/local-model.ts";
import { checkFileName } from "#kernel/file-names.ts";
import { Failure, usageFailure } from "../failure.ts";

const IGNORED = [".git", "node_modules"];
/** Short (8.3) names that Windows gives to `.git` and `node_modules`. */
const SHORT_NAME = /^(git|node_m)~\d+$/;
const MAX_FILES = 1_000;
/** Applies to local runs only; servers set their own limit. */
const MAX_LOCAL_BYTES = 64 * 1024 * 1024;
/** Maximum number of folders and files: with more, the user probably meant another folder. */
const MAX_ENTRIES = 100_000;

export interface FolderFile extends LocalFile {
  open(): Promise<Blob>;
}

/**
 * Returns every file below a folder by workspace name, read when the script reads it. Skips symbolic links, sockets
 * and other special files, `.git` and `node_modules`. Throws a usage failure for names and sizes that a workspace
 * cannot have.
 */
export async function readFolder(folder: string, isLocal: boolean): Promise<Record<string, FolderFile>> {
  const files: Record<string, FolderFile> = Object.create(null);
  const maxBytes = isLocal ? MAX_LOCAL_BYTES : Number.POSITIVE_INFINITY;
  let count = 0;
  let bytes = 0;
  let entries = 0;
  async function visit(inside: string): Promise<void> {
    for (const entry of await readdir(path.join(folder, inside), { withFileTypes: true })) {
      entries += 1;
      if (entries > MAX_ENTRIES)
        throw usageFailure(`--dir ${folder} holds more than ${MAX_ENTRIES} entries.`);
      const name = inside === "" ? entry.name : `${inside}/${entry.name}`;
      if (entry.isDirectory() && !IGNORED.includes(entry.name)) await visit(name);
      if (!entry.isFile()) continue;
      const wrong = checkFileName(name);
      if (wrong !== null)
        throw usageFailure(`--dir ${folder}: the file name ${JSON.stringify(name)} ${wrong}.`);
      const file = path.join(folder, name);
      const { size } = await lstat(file);
      count += 1;
      bytes += size;
      if (count > MAX_FILES || bytes > maxBytes) {
        throw usageFailure(
          `--dir ${folder} holds more than a workspace may: at most ${MAX_FILES} files${isLocal ? ` of ${maxBytes} bytes together` : ""}.`,
        );
      }
      files[name] = {
        size,
        read: (offset, length) => readPiece(file, offset, length),
        open: () => openAsBlob(file),
      };
    }
  }
  try {
    await visit("");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") throw usageFailure(`--dir ${folder} is not a folder.`);
    throw error;
  }
  return files;
}

async function readPiece(file: string, offset: number, length: number): Promise<Uint8Array> {
  await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await handle.read(bytes, 0, length, offset);
  return bytes.subarray(0, bytesRead);
}

/** Type of /proc in Linux's statfs. Folders cannot be created there, and Node would retry endlessly. */
const PROC_TYPE = 0x9fa0;

/** Throws a usage failure if the artifacts folder does not exist and cannot be created. Does not create it yet. */
export async function checkArtifactsFolder(folder: string): Promise<void> {
  if (folder === "") throw usageFailure("Expected --artifacts <folder>; found an empty name.");
  const refuse = (found: string) =>
    usageFailure(`--artifacts ${folder} needs a folder that files can be written to; found ${found}.`);
  let there = path.resolve(folder);
  try {
    while (!(await exists(there))) there = path.dirname(there);
    if (!(await stat(there)).isDirectory()) throw refuse(`that ${there} is not a folder`);
    if ((await statfs(there)).type === PROC_TYPE) throw refuse(`that ${there} is of /proc`);
    await access(there, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw refuse((error as Error).message);
  }
}

/** Also returns true for a dangling link. */
async function exists(entry: string): Promise<boolean> {
  try {
    await lstat(entry);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return false;
    throw error;
  }
}

/**
 * Writes an artifact into a folder, which is created if needed. A name cannot lead elsewhere: every folder on its
 * path must be a real folder, not a link, and an existing file is replaced, not written through. Writes nothing where
 * git or Node would execute it.
 */
export async function writeArtifact(
  folder: string,
  name: string,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const wrong = checkFileName(name);
  if (wrong !== null) throw new Error(`the name ${wrong}.`);
  const segments = name.split("/");
  const ran = segments.find(holdsPrograms);
  if (ran !== undefined) {
    throw new Error(
      `${JSON.stringify(ran)} is, on some file systems, a folder from which git or Node runs programs: nothing is written into .git and node_modules.`,
    );
  }
  const last = segments.pop() as string;
  await mkdir(folder, { recursive: true });
  let parent = folder;
  for (const segment of segments) {
    parent = path.join(parent, segment);
    await mkdir(parent).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    if (!(await lstat(parent)).isDirectory()) {
      throw new Error(`${parent} is not a folder, so the artifact ${name} cannot be written there.`);
    }
  }
  const temporary = path.join(parent, `.cyrnel-${randomUUID()}`);
  try {
    await using handle = await open(temporary, "wx", 0o666);
    for await (const bytes of content) await handle.writeFile(bytes);
    await rename(temporary, path.join(parent, last));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/**
 * Returns true if a file system may treat this name as `.git` or `node_modules`: most Windows and macOS file systems
 * fold case; some drop invisible characters, or trailing dots and spaces, or treat the part after a colon as a stream
 * of the file.
 */
function holdsPrograms(segment: string): boolean {
  const folded = segment
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, "")
    .replace(/:.*$/s, "")
    .replace(/[. ]+$/, "");
  return IGNORED.includes(folded) || SHORT_NAME.test(folded);
}

export async function* piecesOf({ size, read }: LocalFile): AsyncGenerator<Uint8Array> {
  const piece = 1024 * 1024;
  for (let at = 0; at < size; at += piece) yield await read(at, Math.min(piece, size - at));
}
