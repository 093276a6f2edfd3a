/** What a script gives to be written to a file: text, bytes, or pieces of them that come one after another. */

/** What is known of the realm's own classes; null while nothing has loaded them. */
export interface ContentHost {
  blobsIfLoaded(): import("../fetch/blob.ts").Blobs | null;
  streamsIfLoaded(): typeof import("../fetch/streams.ts").streams | null;
  loadEncoding(): { TextEncoder: typeof TextEncoder };
}

export type Pieces = Iterable<unknown> | AsyncIterable<unknown>;

/** Of those that JSON keeps nothing of, what to write instead. */
const INSTEAD: Record<string, string> = {
  Map: ": write [...map] or Object.fromEntries(map)",
  Set: ": write [...set]",
  Response: ": write response.body or await response.bytes()",
  Request: ": write request.body or await request.bytes()",
  URLSearchParams: ": write its text, String(params)",
  Error: ": write its message or its stack",
};

/**
 * Text and bytes as they are, pieces of a Blob, a stream or another async iterable; anything else as JSON.
 * @throws TypeError for what JSON would keep nothing of.
 */
export function toContent(what: string, data: unknown, host: ContentHost): string | Uint8Array | Pieces {
  if (typeof data === "string") return data;
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (typeof data === "object" && data !== null) {
    const blobs = host.blobsIfLoaded();
    if (blobs?.isBlob(data)) return blobs.partsOf(data);
    const streams = host.streamsIfLoaded();
    if (streams?.isReadable(data) && (streams.isDisturbed(data) || streams.isLocked(data))) {
      throw refuse(what, "a ReadableStream that is read already");
    }
    if (Symbol.asyncIterator in data) return data as AsyncIterable<unknown>;
    if (typeof (data as { then?: unknown }).then === "function") throw refuse(what, "a Promise: await it");
    const kind = Object.prototype.toString.call(data).slice("[object ".length, -1);
    if (Object.hasOwn(INSTEAD, kind)) throw refuse(what, `${article(kind)} ${kind}${INSTEAD[kind]}`);
  }
  const text = JSON.stringify(data);
  if (text === undefined) throw refuse(what, typeof data === "function" ? "a function" : typeof data);
  if (text === "{}" && !isRecord(data as object)) {
    throw refuse(what, `${nameOf(data as object)}, of which JSON keeps nothing`);
  }
  return text;
}

/** Bytes of at most `maxBytes` at once, which are the caller's until it asks for the next. */
export async function* gather(
  what: string,
  pieces: Pieces,
  maxBytes: number,
  host: ContentHost,
): AsyncGenerator<Uint8Array> {
  const room = new Uint8Array(maxBytes);
  let filled = 0;
  for await (const piece of pieces) {
    const bytes = toBytes(what, piece, host);
    for (let at = 0; at < bytes.length; ) {
      const taken = bytes.subarray(at, at + maxBytes - filled);
      room.set(taken, filled);
      at += taken.length;
      filled += taken.length;
      if (filled < maxBytes) continue;
      yield room;
      filled = 0;
    }
  }
  if (filled > 0) yield room.subarray(0, filled);
}

function toBytes(what: string, piece: unknown, host: ContentHost): Uint8Array {
  if (typeof piece === "string") return new (host.loadEncoding().TextEncoder)().encode(piece);
  if (ArrayBuffer.isView(piece)) return new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
  if (piece instanceof ArrayBuffer) return new Uint8Array(piece);
  const found = piece === null ? "null" : typeof piece;
  throw new TypeError(`${what} takes a stream of text or bytes; found ${found} in it.`);
}

/** An object as `{}` makes it, or one that says itself what its JSON is. */
function isRecord(data: object): boolean {
  const prototype = Object.getPrototypeOf(data);
  return (
    prototype === null || prototype === Object.prototype || "toJSON" in data || Object.keys(data).length > 0
  );
}

function nameOf(data: object): string {
  const { constructor } = data;
  const name = typeof constructor === "function" ? String(constructor.name) : "";
  return name === "" ? "an object without members" : `${article(name)} ${name}`;
}

function article(name: string): string {
  return /^[AEIOU](?!R[A-Z])/.test(name) ? "an" : "a";
}

function refuse(what: string, found: string): TypeError {
  return new TypeError(`${what} expects text, bytes, a Blob, a stream or JSON data; found ${found}.`);
}
