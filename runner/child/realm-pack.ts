/**
 * Pack file of a process child: its code, the realm's core and libraries, each as source and V8 code cache. A single
 * file, so that a start never mixes two builds. The parts that every start needs come first.
 */
import { Buffer } from "node:buffer";

export interface RealmPart {
  source: Buffer;
  cache: Buffer;
}

export interface RealmHead {
  /** An expression that takes Node's `require`, this head and the file's descriptor, and runs the child. */
  main: RealmPart;
  /** An expression that takes `load(name)` and returns the realm's install function. */
  core: RealmPart;
  sizeBytes: number;
  /** Names and sizes of the libraries, which start at `librariesAt`. */
  index: PartSizes[];
  librariesAt: number;
}

export interface RealmPack {
  main: RealmPart;
  core: RealmPart;
  /** Expressions that take `require` and return the library's exports, by library name. */
  libraries: Record<string, RealmPart>;
}

/** Name, bytes of source, bytes of code cache. */
type PartSizes = [name: string, sourceBytes: number, cacheBytes: number];
/** Reads that many bytes from the start of the file. */
type ReadStart = (lengthBytes: number) => Buffer;

/** V8 reads a code cache in place only if its offset is a multiple of this. */
const ALIGNMENT_BYTES = 8;
const roundUp = (bytes: number) => Math.ceil(bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;

/** Two lengths: that of the JSON index, and that of everything before the libraries. */
const LENGTHS_BYTES = 8;
const MAIN = "main";
const CORE = "core";

/** Encodes the lengths, a JSON index of names and sizes, and the padded parts, in that order. */
export function encodeRealmPack({ main, core, libraries }: RealmPack): Buffer {
  const parts: [string, RealmPart][] = [[MAIN, main], [CORE, core], ...Object.entries(libraries)];
  const sizes: PartSizes[] = parts.map(([name, { source, cache }]) => [name, source.length, cache.length]);
  const text = JSON.stringify(sizes);
  const index = Buffer.from(text.padEnd(roundUp(text.length)));
  const toBytes = ({ source, cache }: RealmPart) => [pad(source), pad(cache)];
  const head = Buffer.concat([main, core].flatMap(toBytes));
  const lengths = Buffer.alloc(LENGTHS_BYTES);
  lengths.writeUInt32BE(index.length);
  lengths.writeUInt32BE(LENGTHS_BYTES + index.length + head.length, 4);
  return Buffer.concat([lengths, index, head, ...Object.values(libraries).flatMap(toBytes)]);
}

const pad = (bytes: Buffer) => Buffer.concat([bytes], roundUp(bytes.length));

export function readRealmHead(readStart: ReadStart): RealmHead {
  const lengths = readStart(LENGTHS_BYTES);
  const indexAt = LENGTHS_BYTES;
  const librariesAt = lengths.readUInt32BE(4);
  const bytes = readStart(librariesAt);
  const partsAt = indexAt + lengths.readUInt32BE(0);
  const [main, core, ...index] = JSON.parse(bytes.toString("latin1", indexAt, partsAt)) as PartSizes[];
  if (main?.[0] !== MAIN || core?.[0] !== CORE) throw new Error("the pack of the child is not whole");
  const parts = cutParts(bytes, partsAt, [main, core]);
  const sizeBytes = index.reduce(
    (sum, [, source, cache]) => sum + roundUp(source) + roundUp(cache),
    librariesAt,
  );
  return { main: parts.main as RealmPart, core: parts.core as RealmPart, index, librariesAt, sizeBytes };
}

/** Returns views of the libraries in the bytes of the complete file. */
export function cutLibraries(bytes: Buffer, { index, librariesAt }: RealmHead): Record<string, RealmPart> {
  return cutParts(bytes, librariesAt, index);
}

function cutParts(bytes: Buffer, from: number, sizes: readonly PartSizes[]): Record<string, RealmPart> {
  let at = from;
  const take = (length: number) => {
    const part = bytes.subarray(at, at + length);
    at += roundUp(length);
    return part;
  };
  const parts: Record<string, RealmPart> = {};
  for (const [name, sourceBytes, cacheBytes] of sizes) {
    parts[name] = { source: take(sourceBytes), cache: take(cacheBytes) };
  }
  return parts;
}
