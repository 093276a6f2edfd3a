/** `Blob` and `File` (File API), loaded on first use. Their content never changes, so slices share it. */
import { finishClass, needArguments, showAs, toDictionary, toEnum, toUSVString } from "./interfaces.ts";

export interface BlobHost {
  loadEncoding(): { TextEncoder: typeof TextEncoder; TextDecoder: typeof TextDecoder };
  loadStreams(): typeof import("./streams.ts").streams;
}

const CHUNK_BYTES = 64 * 1024;
const ENDINGS = ["transparent", "native"] as const;
const PRINTABLE = /^[\x20-\x7e]*$/;

export function createBlobs(host: BlobHost) {
  let partsOf: (blob: Blob) => readonly Uint8Array[];
  let isBlob: (value: unknown) => value is Blob;
  let makeBlob: (parts: readonly Uint8Array[], type: string) => Blob;

  class Blob {
    #parts: readonly Uint8Array[] = [];
    #size = 0;
    #type = "";

    static {
      partsOf = (blob) => blob.#parts;
      isBlob = (value): value is Blob => typeof value === "object" && value !== null && #parts in value;
      makeBlob = (parts, type) => {
        const blob = new Blob();
        blob.#parts = parts;
        blob.#size = countBytes(parts);
        blob.#type = type;
        return blob;
      };
    }

    constructor(parts: unknown = [], options: unknown = {}) {
      const list = readSequence(parts, toPart);
      const { endings = "transparent", type = "" } = toDictionary(options, "The options of a Blob");
      const isNative = toEnum(endings, ENDINGS, "endings") === "native";
      const kind = `${type as string}`;
      this.#parts = list.map((part) => toBytes(part, isNative)).filter(({ length }) => length > 0);
      this.#size = countBytes(this.#parts);
      this.#type = PRINTABLE.test(kind) ? kind.toLowerCase() : "";
    }

    get size(): number {
      return this.#size;
    }

    get type(): string {
      return this.#type;
    }

    slice(start: unknown = 0, end: unknown = this.#size, type: unknown = ""): Blob {
      const from = clampIndex(start, this.#size);
      const to = clampIndex(end, this.#size);
      const kind = `${type as string}`;
      return makeBlob(cutParts(this.#parts, from, to), PRINTABLE.test(kind) ? kind.toLowerCase() : "");
    }

    async text(): Promise<string> {
      const { TextDecoder } = host.loadEncoding();
      return new TextDecoder().decode(joinParts(this.#parts));
    }

    async arrayBuffer(): Promise<ArrayBuffer> {
      return joinParts(this.#parts).buffer as ArrayBuffer;
    }

    async bytes(): Promise<Uint8Array> {
      return joinParts(this.#parts);
    }

    stream(): ReadableStream<Uint8Array> {
      return host.loadStreams().streamOf(cutChunks(this.#parts));
    }
  }

  class File extends Blob {
    readonly #name: string;
    readonly #lastModified: number;

    constructor(parts: unknown, name: unknown, options: unknown = {}) {
      needArguments(arguments.length, 2, "File");
      super(parts, options);
      const { lastModified } = toDictionary(options, "The options of a File");
      this.#name = toUSVString(name);
      this.#lastModified = lastModified === undefined ? Date.now() : Math.trunc(Number(lastModified)) || 0;
    }

    get name(): string {
      return this.#name;
    }

    get lastModified(): number {
      return this.#lastModified;
    }
  }

  function toPart(part: unknown): unknown {
    return isBlob(part) || viewBytes(part) !== null ? part : toUSVString(part);
  }

  /** Copies the bytes of a buffer. Those of a blob never change, so they are not copied. */
  function toBytes(part: unknown, isNative: boolean): Uint8Array {
    if (typeof part === "string") return encode(isNative ? part.replace(/\r\n?/g, "\n") : part);
    if (!isBlob(part)) return (viewBytes(part) as Uint8Array).slice();
    const parts = partsOf(part);
    return parts.length === 1 ? (parts[0] as Uint8Array) : joinParts(parts);
  }

  function encode(text: string): Uint8Array {
    const { TextEncoder } = host.loadEncoding();
    return new TextEncoder().encode(text);
  }

  finishClass(Blob, "Blob");
  finishClass(File, "File", { length: 2 });
  showAs(Blob, "Blob", ({ size, type }) => ({ size, type }));
  showAs(File, "File", ({ size, type, name, lastModified }) => ({ size, type, name, lastModified }));
  return {
    Blob,
    File,
    // biome-ignore lint/style/noNonNullAssertion: set by the class.
    ...{ partsOf: partsOf!, isBlob: isBlob!, makeBlob: makeBlob! },
    isFile: (value: unknown): value is File => value instanceof File,
    encode,
  };
}

export type Blobs = ReturnType<typeof createBlobs>;

/**
 * Converts an iterable. Rejects strings, though they are iterable. Converts each member before it reads the next, as
 * Web IDL does.
 */
function readSequence(parts: unknown, convert: (part: unknown) => unknown): unknown[] {
  if (typeof parts === "object" || typeof parts === "function") {
    const iterate = (parts as { [Symbol.iterator]?: unknown } | null)?.[Symbol.iterator];
    if (typeof iterate === "function") {
      const pieces = { [Symbol.iterator]: () => Reflect.apply(iterate, parts, []) as Iterator<unknown> };
      const list: unknown[] = [];
      for (const piece of pieces) list.push(convert(piece));
      return list;
    }
  }
  throw new TypeError("Blob expects an array of parts.");
}

/** Returns the bytes of a buffer or view without copying them, or null for any other value. */
export function viewBytes(value: unknown): Uint8Array | null {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return value instanceof ArrayBuffer ? new Uint8Array(value) : null;
}

export function countBytes(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

export function joinParts(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(countBytes(parts));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function cutParts(parts: readonly Uint8Array[], from: number, to: number): Uint8Array[] {
  const cut: Uint8Array[] = [];
  let at = 0;
  for (const part of parts) {
    const piece = part.subarray(Math.max(0, from - at), Math.max(0, to - at));
    if (piece.length > 0) cut.push(piece);
    at += part.length;
  }
  return cut;
}

/** Yields the parts as copied chunks, which the reader owns. */
export function* cutChunks(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const part of parts) {
    for (let at = 0; at < part.length; at += CHUNK_BYTES) yield part.slice(at, at + CHUNK_BYTES);
  }
}

/** Converts an index as `Array.prototype.slice` does: negative values count from the end. */
function clampIndex(value: unknown, size: number): number {
  const index = Math.trunc(Math.max(-(2 ** 53), Math.min(2 ** 53, Number(value)))) || 0;
  return index < 0 ? Math.max(0, size + index) : Math.min(index, size);
}
