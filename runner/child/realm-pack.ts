/**
 * The file a process child is made of: its own code, the realm's core and the realm's libraries, each as source and V8
 * code cache. One file, so that a start reads once and never meets parts of two builds.
 */
import { Buffer } from "node:buffer";

/** One script: ASCII source, and its code cache, empty if there is none. */
export interface RealmPart {
  source: Buffer;
  cache: Buffer;
}

export interface RealmPack {
  /** An expression: takes Node's `require` and this pack, and is the whole life of a child. */
  main: RealmPart;
  /** An expression: takes `load(name)`, answers the realm's install function. */
  core: RealmPart;
  /** By name: an expression that takes `require` and answers the library's exports. */
  libraries: Record<string, RealmPart>;
}

const LENGTH_BYTES = 4;
const MAIN = "main";
const CORE = "core";

/** A length, a JSON header of names and sizes, then the bytes of all parts in that order. */
export function encodeRealmPack({ main, core, libraries }: RealmPack): Buffer {
  const parts: [string, RealmPart][] = [[MAIN, main], [CORE, core], ...Object.entries(libraries)];
  const header = Buffer.from(
    JSON.stringify(parts.map(([name, { source, cache }]) => [name, source.length, cache.length])),
  );
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(header.length);
  return Buffer.concat([length, header, ...parts.flatMap(([, { source, cache }]) => [source, cache])]);
}

/** Views into `bytes`: nothing is copied or decoded. */
export function parseRealmPack(bytes: Buffer): RealmPack {
  let at = LENGTH_BYTES + bytes.readUInt32BE(0);
  const take = (length: number) => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  const header = JSON.parse(bytes.toString("latin1", LENGTH_BYTES, at)) as [string, number, number][];
  const parts: Record<string, RealmPart> = {};
  for (const [name, sourceLength, cacheLength] of header) {
    parts[name] = { source: take(sourceLength), cache: take(cacheLength) };
  }
  const { [MAIN]: main, [CORE]: core, ...libraries } = parts;
  if (main === undefined || core === undefined) throw new Error("the pack of the child is not whole");
  return { main, core, libraries };
}
