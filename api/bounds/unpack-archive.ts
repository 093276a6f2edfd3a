/**
 * Unpacks a tar archive, which may be hostile: accepts only plain files and folders with safe paths, counted during
 * decompression so that a bomb stops at the limit. After a failure the caller removes the folder.
 */
import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import path from "node:path";
import type { Readable } from "node:stream";
import { type Extract, extract } from "tar-stream";
import { createAcceptedPaths, splitEntryPath } from "./entry-paths.ts";

export interface ArchiveBudget {
  readonly maxBytes: number;
  readonly maxEntries: number;
  usedBytes: number;
  usedEntries: number;
}

export interface ArchiveRules {
  budget: ArchiveBudget;
  signal?: AbortSignal;
  keepsExecutable?: boolean;
  /** Returns the path below the folder, or null to skip the entry. Throws Error with the reason to reject it. */
  place(segments: string[], isFile: boolean): string[] | null;
}

export interface Unpacked {
  entries: number;
  files: number;
  bytes: number;
}

/** `message` completes a sentence: "The package" `contains more than 5 files and folders`. */
export class ArchiveRefused extends Error {
  override readonly name = "ArchiveRefused";
}

type Entry = Extract extends AsyncIterable<infer E> ? E : never;

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const NEW_FILE = O_WRONLY | O_CREAT | O_EXCL | (O_NOFOLLOW ?? 0);

export function createArchiveBudget(maxBytes: number, maxEntries: number): ArchiveBudget {
  return { maxBytes, maxEntries, usedBytes: 0, usedEntries: 0 };
}

/** `stream` is the decompressed archive. Throws ArchiveRefused, the signal's reason, or a file system error. */
export async function unpackArchive(
  stream: Readable,
  folder: string,
  rules: ArchiveRules,
): Promise<Unpacked> {
  const tar = extract();
  const unpacked: Unpacked = { entries: 0, files: 0, bytes: 0 };
  // Report the first failure, because any later one is only a consequence.
  let failure: unknown = null;
  let damage: unknown = null;
  // If an archive is truncated, its own error says more than that of the entry being read.
  tar.on("error", (error) => {
    if (error !== failure) damage = error;
  });
  const stop = (error: unknown) => {
    failure ??= error;
    tar.destroy(error as Error);
  };
  await Promise.all([
    feed(stream, tar, rules).catch(stop),
    writeEntries(tar, folder, rules, unpacked).catch(stop),
  ]);
  if (failure === null) return unpacked;
  const isKnown = failure instanceof ArchiveRefused || rules.signal?.aborted;
  if (isKnown || (failure as NodeJS.ErrnoException).syscall !== undefined) throw failure;
  throw new ArchiveRefused(`is damaged: ${((damage ?? failure) as Error).message}`);
}

async function feed(stream: Readable, tar: Extract, { budget, signal }: ArchiveRules): Promise<void> {
  // The loop throws the first error; without a listener, a later error would end the process.
  stream.on("error", () => {});
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      signal?.throwIfAborted();
      budget.usedBytes += chunk.length;
      if (budget.usedBytes > budget.maxBytes) {
        throw new ArchiveRefused(`unpacks to more than ${budget.maxBytes} bytes`);
      }
      if (tar.destroyed) return;
      if (!tar.write(chunk)) await untilWritable(tar, signal);
    }
    tar.end(undefined);
  } finally {
    stream.destroy();
  }
}

function untilWritable(tar: Extract, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      for (const event of ["drain", "close"]) tar.off(event, settle);
      signal?.removeEventListener("abort", settle);
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve();
    };
    // An archive destroyed before it was read may never emit "close".
    if (tar.destroyed) return resolve();
    for (const event of ["drain", "close"]) tar.on(event, settle);
    signal?.addEventListener("abort", settle);
  });
}

async function writeEntries(
  tar: Extract,
  folder: string,
  rules: ArchiveRules,
  unpacked: Unpacked,
): Promise<void> {
  const accepted = createAcceptedPaths();
  for await (const entry of tar) {
    const { name, type, mode = 0 } = entry.header;
    const isFile = type === "file" || type === "contiguous-file";
    if (!isFile && type !== "directory") {
      const kind = type ?? "entry of unknown kind";
      throw new ArchiveRefused(`holds ${JSON.stringify(name.slice(0, 200))}, which is a ${kind}`);
    }
    const segments = refusing(() => rules.place(splitEntryPath(name), isFile));
    if (segments === null) {
      await skip(entry);
      continue;
    }
    for (const newFolder of refusing(() => accepted.add(segments, isFile ? "file" : "folder"))) {
      takeEntry(rules.budget, unpacked);
      await mkdir(path.join(folder, newFolder), { mode: 0o755 });
    }
    if (isFile) {
      takeEntry(rules.budget, unpacked);
      const isExecutable = rules.keepsExecutable === true && (mode & 0o100) !== 0;
      unpacked.bytes += await writeFile(entry, path.join(folder, ...segments), isExecutable ? 0o755 : 0o644);
      unpacked.files += 1;
    } else await skip(entry);
  }
}

function refusing<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw new ArchiveRefused(`is refused: ${(error as Error).message.replace(/\.$/, "")}`);
  }
}

function takeEntry(budget: ArchiveBudget, unpacked: Unpacked): void {
  budget.usedEntries += 1;
  unpacked.entries += 1;
  if (budget.usedEntries > budget.maxEntries) {
    throw new ArchiveRefused(`contains more than ${budget.maxEntries} files and folders`);
  }
}

async function skip(entry: Entry): Promise<void> {
  for await (const _ of entry);
}

async function writeFile(entry: Entry, file: string, mode: number): Promise<number> {
  await using handle = await open(file, NEW_FILE, mode);
  let bytes = 0;
  for await (const chunk of entry as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    await handle.writeFile(chunk);
  }
  return bytes;
}
