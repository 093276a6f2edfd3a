/**
 * Unpacks the tarball of a package, which may be hostile, into a folder of its own: plain files with harmless names, counted
 * while they come out of the decompression. What else a tarball may hold is refused.
 */
import { constants as fsConstants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { createGunzip } from "node:zlib";
import { type Extract, extract } from "tar-stream";
import { createAcceptedPaths, splitEntryPath } from "#api/bounds/entry-paths.ts";

type Entry = Extract extends AsyncIterable<infer E> ? E : never;

/** What is left for all packages of one installation. */
export interface UnpackBudget {
  bytes: number;
  files: number;
}

export interface Unpacked {
  bytes: number;
  files: number;
  /** A file that only a native addon has; null: none. */
  nativeFile: string | null;
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = fsConstants;
const NEW_FILE = O_WRONLY | O_CREAT | O_EXCL | (O_NOFOLLOW ?? 0);

/** Takes from `budget`. @throws Error with what is wrong, going on after "The tarball of <package>". */
export async function unpackTarball(
  tarball: Buffer,
  folder: string,
  budget: UnpackBudget,
): Promise<Unpacked> {
  await mkdir(folder, { recursive: true });
  const tar = extract();
  let failure: Error | null = null;
  let damage: Error | null = null;
  // Of an archive that breaks off, the entry that is read may say no more than that it was given up.
  tar.on("error", (error) => {
    if (error !== failure) damage = new Error(`is no archive that can be read: ${error.message}`);
  });
  const note = (error: unknown) => {
    failure ??= error as Error;
    tar.destroy(error as Error);
  };
  const writing = writeEntries(tar, folder, budget);
  await Promise.all([feed(tarball, tar, budget).catch(note), writing.catch(note)]);
  if (failure !== null) throw damage ?? failure;
  return writing;
}

async function feed(tarball: Buffer, tar: Extract, budget: UnpackBudget): Promise<void> {
  const gunzip = createGunzip();
  gunzip.on("error", () => {});
  try {
    gunzip.end(tarball);
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      budget.bytes -= chunk.length;
      if (budget.bytes < 0) throw new Error("unpacks to more bytes than are taken");
      if (tar.destroyed) return;
      if (!tar.write(chunk)) await untilWritable(tar);
    }
    tar.end(undefined);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code?.startsWith("Z_") ? new Error("is not compressed as it should be") : error;
  } finally {
    gunzip.destroy();
  }
}

function untilWritable(tar: Extract): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      for (const event of ["drain", "close"]) tar.off(event, settle);
      resolve();
    };
    // What was given up before it was read from may never say that it is closed.
    if (tar.destroyed) return resolve();
    for (const event of ["drain", "close"]) tar.on(event, settle);
  });
}

async function writeEntries(tar: Extract, folder: string, budget: UnpackBudget): Promise<Unpacked> {
  const accepted = createAcceptedPaths();
  const unpacked: Unpacked = { bytes: 0, files: 0, nativeFile: null };
  for await (const entry of tar) {
    const segments = readPath(entry);
    // Packages within a package: those of the tree are fetched, and checked, by themselves.
    if (segments.length === 0 || segments.includes("node_modules")) {
      for await (const _ of entry);
      continue;
    }
    const isFile = entry.header.type !== "directory";
    for (const newFolder of accepted.add(segments, isFile ? "file" : "folder")) {
      takeFile(budget);
      await mkdir(join(folder, newFolder));
    }
    if (!isFile) {
      for await (const _ of entry);
      continue;
    }
    takeFile(budget);
    unpacked.files += 1;
    const path = segments.join("/");
    if (path === "binding.gyp" || path.endsWith(".node")) unpacked.nativeFile ??= path;
    unpacked.bytes += await writeFile(entry, join(folder, ...segments));
  }
  return unpacked;
}

/** Without its first part, which is the folder that holds the package, whatever it is called. */
function readPath({ header: { name, type } }: Entry): string[] {
  if (type !== "file" && type !== "contiguous-file" && type !== "directory") {
    throw new Error(`holds ${JSON.stringify(name.slice(0, 200))}, a ${type ?? "thing of unknown kind"}`);
  }
  try {
    return splitEntryPath(name).slice(1);
  } catch (error) {
    throw new Error(`is refused: ${(error as Error).message}`);
  }
}

function takeFile(budget: UnpackBudget): void {
  budget.files -= 1;
  if (budget.files < 0) throw new Error("unpacks to more files than are taken");
}

async function writeFile(entry: Entry, path: string): Promise<number> {
  const file = await open(path, NEW_FILE, 0o644);
  let bytes = 0;
  try {
    for await (const chunk of entry) {
      bytes += (chunk as Buffer).length;
      await file.writeFile(chunk as Buffer);
    }
  } finally {
    await file.close();
  }
  return bytes;
}
