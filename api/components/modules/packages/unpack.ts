/**
 * Unpacks a package (.tar.zst), which may be hostile, into an empty folder. Bytes and entries are counted while they
 * stream, so a decompression bomb is cut off at its limit; only plain files and folders are written.
 */
import { constants as fsConstants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import path from "node:path";
import { createZstdDecompress } from "node:zlib";
import { type Extract, extract } from "tar-stream";
import { type AcceptedPaths, createAcceptedPaths, splitEntryPath } from "#api/bounds/entry-paths.ts";
import { PACKAGE_NOTE } from "./note.ts";

export interface PackageLimits {
  maxPackedBytes: number;
  maxUnpackedBytes: number;
  /** Files and folders. */
  maxEntries: number;
  maxUnpackMs: number;
}

export const PACKAGE_LIMITS: PackageLimits = {
  maxPackedBytes: 10 * 1024 * 1024,
  maxUnpackedBytes: 100 * 1024 * 1024,
  maxEntries: 5000,
  maxUnpackMs: 60_000,
};

type Entry = Extract extends AsyncIterable<infer E> ? E : never;

const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = fsConstants;
const NEW_FILE = O_WRONLY | O_CREAT | O_EXCL | (O_NOFOLLOW ?? 0);

/** A package is refused; the message is a sentence about what is in it. */
export class PackageRefused extends Error {
  override readonly name = "PackageRefused";
}

/** On failure the folder holds what was written until then: the caller removes it. */
export async function unpackPackage(
  bytes: Buffer,
  folder: string,
  limits: PackageLimits = PACKAGE_LIMITS,
): Promise<void> {
  if (bytes.length > limits.maxPackedBytes) {
    throw new PackageRefused(
      `The package has ${bytes.length} bytes; at most ${limits.maxPackedBytes} are taken.`,
    );
  }
  if (!bytes.subarray(0, ZSTD_MAGIC.length).equals(ZSTD_MAGIC)) {
    throw new PackageRefused("The package is not compressed with Zstandard: expected a .tar.zst file.");
  }
  const tar = extract();
  const signal = AbortSignal.timeout(limits.maxUnpackMs);
  // The first failure is reported; the second one is only its consequence.
  let failure: unknown = null;
  const note = (error: unknown) => {
    failure ??= error;
    tar.destroy(error as Error);
  };
  await Promise.all([
    feed(bytes, tar, limits, signal).catch(note),
    writeEntries(folder, tar, limits).catch(note),
  ]);
  if (failure !== null) throw explain(failure, signal, limits);
}

/** Decompresses into the archive reader, as fast as that takes it. */
async function feed(
  bytes: Buffer,
  tar: Extract,
  { maxUnpackedBytes }: PackageLimits,
  signal: AbortSignal,
): Promise<void> {
  let total = 0;
  for await (const chunk of decompress(bytes)) {
    signal.throwIfAborted();
    total += chunk.length;
    if (total > maxUnpackedBytes) {
      throw new PackageRefused(`Unpacked, the package has more than ${maxUnpackedBytes} bytes.`);
    }
    if (tar.destroyed) return;
    if (!tar.write(chunk)) await untilWritable(tar, signal);
  }
  tar.end(undefined);
}

function untilWritable(tar: Extract, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      for (const event of ["drain", "close"]) tar.off(event, settle);
      signal.removeEventListener("abort", settle);
      if (signal.aborted) reject(signal.reason as Error);
      else resolve();
    };
    for (const event of ["drain", "close"]) tar.on(event, settle);
    signal.addEventListener("abort", settle);
  });
}

async function writeEntries(folder: string, tar: Extract, limits: PackageLimits): Promise<void> {
  const accepted = createAcceptedPaths();
  for await (const entry of tar) await writeEntry(folder, entry, accepted, limits);
  if (accepted.count === 0) throw new PackageRefused("The package is empty.");
}

/** Waits for its reader when the buffer of the stream is full. */
async function* decompress(bytes: Buffer): AsyncGenerator<Buffer> {
  const stream = createZstdDecompress();
  // The loop below tells the first error; one that comes after it must not end the server.
  stream.on("error", () => {});
  try {
    stream.end(bytes);
    for await (const chunk of stream) yield chunk as Buffer;
  } finally {
    stream.destroy();
  }
}

async function writeEntry(
  folder: string,
  entry: Entry,
  accepted: AcceptedPaths,
  limits: PackageLimits,
): Promise<void> {
  const { name, type, mode = 0 } = entry.header;
  if (type !== "file" && type !== "directory") {
    throw new PackageRefused(
      `${JSON.stringify(name.slice(0, 200))} is a ${type ?? "thing of unknown kind"}; a package holds files and folders only.`,
    );
  }
  const segments = splitEntryPath(name);
  if (segments.length === 0) {
    if (type === "file") throw new PackageRefused("The package holds a file without a name.");
    return drain(entry);
  }
  if (segments.includes(PACKAGE_NOTE))
    throw new PackageRefused(`${PACKAGE_NOTE} is a name of the host's own.`);
  for (const newFolder of accepted.add(segments, type === "file" ? "file" : "folder")) {
    if (accepted.count > limits.maxEntries) break;
    await mkdir(path.join(folder, newFolder), { mode: 0o755 });
  }
  if (accepted.count > limits.maxEntries) {
    throw new PackageRefused(`The package holds more than ${limits.maxEntries} files and folders.`);
  }
  if (type === "directory") return drain(entry);
  // Of the mode only the permission to execute is kept.
  const file = await open(path.join(folder, ...segments), NEW_FILE, (mode & 0o100) === 0 ? 0o644 : 0o755);
  try {
    for await (const chunk of entry) await file.writeFile(chunk as Buffer);
  } finally {
    await file.close();
  }
}

async function drain(entry: Entry): Promise<void> {
  for await (const _ of entry);
}

function explain(error: unknown, signal: AbortSignal, limits: PackageLimits): PackageRefused {
  if (error instanceof PackageRefused) return error;
  if (signal.aborted) {
    return new PackageRefused(`The package could not be unpacked within ${limits.maxUnpackMs} ms.`);
  }
  const { code, message, syscall } = error as NodeJS.ErrnoException;
  // Errors of the file system have a `syscall`; all others are about the bytes of the package.
  if (syscall !== undefined) throw error;
  const problem = code === "STREAM_DESTROYED" ? "it ends in the middle of a file" : message;
  return new PackageRefused(`The package is damaged (${problem}).`);
}
