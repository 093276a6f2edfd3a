/** Content that a script writes to a file: text, bytes, or a sequence of either. */

/** Functions of the realm's core. Those for its classes return null until a script loads them. */
export interface ContentHost {
  blobsIfLoaded(): import("../fetch/blob.ts").Blobs | null;
  streamsIfLoaded(): typeof import("../fetch/streams.ts").streams | null;
  loadEncoding(): { TextEncoder: typeof TextEncoder };
  /** Returns undefined for undefined. @throws TypeError that names the place of a value JSON cannot represent */
  encodeFileJson(data: unknown): string | undefined;
  /** Like JSON.parse, but warns of an integer that it rounds. */
  parseJson(text: string, what: string): unknown;
}

export type Pieces = Iterable<unknown> | AsyncIterable<unknown>;

/** Objects that JSON would write as empty, with what to write to a file instead. */
const INSTEAD: Record<string, string> = {
  Response: "a Response: write response.body or await response.bytes()",
  Request: "a Request: write request.body or await request.bytes()",
  URLSearchParams: "an URLSearchParams: write its text, String(params)",
};

/**
 * Returns text and bytes unchanged, and the pieces of a Blob, stream or other async iterable. Encodes anything else
 * as JSON.
 * @throws TypeError for an object that JSON would write as empty
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
      throw contentError(what, "a ReadableStream that is read already");
    }
    if (Symbol.asyncIterator in data) return data as AsyncIterable<unknown>;
    const kind = Object.prototype.toString.call(data).slice("[object ".length, -1);
    if (Object.hasOwn(INSTEAD, kind)) throw contentError(what, INSTEAD[kind] as string);
  }
  const text = host.encodeFileJson(data);
  if (text === undefined) throw contentError(what, "undefined");
  return text;
}

/** Yields at most `maxBytes` bytes at a time. They belong to the caller until it asks for the next ones. */
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

function contentError(what: string, found: string): TypeError {
  return new TypeError(`${what} expects text, bytes, a Blob, a stream or JSON data; found ${found}.`);
}
