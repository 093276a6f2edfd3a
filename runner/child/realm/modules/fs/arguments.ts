import type { Pieces } from "../../host/file-content.ts";
import { invalidType } from "./tree.ts";

const { Buffer } = (require("../buffer.ts") as typeof import("../buffer.ts")).buffer;

export const constants = {
  F_OK: 0,
  X_OK: 1,
  W_OK: 2,
  R_OK: 4,
  COPYFILE_EXCL: 1,
  COPYFILE_FICLONE: 2,
  COPYFILE_FICLONE_FORCE: 4,
  O_RDONLY: 0,
  O_WRONLY: 1,
  O_RDWR: 2,
  O_CREAT: 0o100,
  O_EXCL: 0o200,
  O_TRUNC: 0o1000,
  O_APPEND: 0o2000,
  O_SYNC: 0o4010000,
  S_IFMT: 61_440,
  S_IFREG: 32_768,
  S_IFDIR: 16_384,
  S_IFLNK: 40_960,
};

export type Options = { encoding?: string | null; flag?: string } | string | null | undefined;
export type Data = string | ArrayBuffer | ArrayBufferView | Pieces;

export function encodingOf(options: Options): string | null {
  const encoding = typeof options === "string" ? options : (options?.encoding ?? null);
  if (encoding !== null && encoding !== "buffer" && !Buffer.isEncoding(encoding)) {
    throw Object.assign(new TypeError(`The encoding '${encoding}' is not known.`), {
      code: "ERR_INVALID_ARG_VALUE",
    });
  }
  return encoding === "buffer" ? null : encoding;
}

export function toBytes(data: unknown, encoding: string | null = null): string | Uint8Array {
  if (typeof data === "string")
    return encoding === null || /^utf-?8$/i.test(encoding)
      ? data.toWellFormed()
      : Buffer.from(data, encoding as BufferEncoding);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw invalidType("data", "a string, a Buffer or another view of bytes", data);
}

/** Returns whether data is a stream or another iterable of values that `toBytes` takes. */
export function isPieces(data: unknown): data is Pieces {
  if (typeof data !== "object" || data === null || ArrayBuffer.isView(data)) return false;
  return Symbol.asyncIterator in data || Symbol.iterator in data;
}

export async function* toPieces(
  pieces: Pieces,
  encoding: string | null,
): AsyncGenerator<string | Uint8Array> {
  for await (const piece of pieces) yield toBytes(piece, encoding);
}

export function decode(bytes: Uint8Array, encoding: string | null): string | Uint8Array {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return encoding === null ? buffer : buffer.toString(encoding as BufferEncoding);
}

export interface Flags {
  reads: boolean;
  writes: boolean;
  appends: boolean;
  truncates: boolean;
  isNew: boolean;
  mustExist: boolean;
}

/** Parses flags such as "w+" or "ax", or numbers such as O_WRONLY | O_CREAT. */
export function readFlags(flags: string | number | null | undefined): Flags {
  return typeof flags === "number" ? readBits(flags) : readLetters(flags ?? "r");
}

function readBits(flags: number): Flags {
  const { O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_SYNC } = constants;
  const access = flags & 3;
  const known = 3 | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_SYNC;
  if (!Number.isInteger(flags) || access === 3 || (flags & ~known) !== 0) throw unknownFlags(flags);
  const has = (bit: number) => (flags & bit) !== 0;
  return {
    reads: access !== O_WRONLY,
    writes: access === O_WRONLY || access === O_RDWR,
    appends: has(O_APPEND),
    truncates: has(O_TRUNC) && access !== 0,
    isNew: has(O_CREAT) && has(O_EXCL),
    mustExist: !has(O_CREAT),
  };
}

function readLetters(flags: string): Flags {
  const text = flags.replace("s", "");
  if (!/^(?:r\+?|[wa]x?\+?|[wa]\+x?)$/.test(text)) throw unknownFlags(flags);
  const isPlus = text.includes("+");
  return {
    reads: text.startsWith("r") || isPlus,
    writes: !text.startsWith("r") || isPlus,
    appends: text.startsWith("a"),
    truncates: text.startsWith("w"),
    isNew: text.includes("x"),
    mustExist: text.startsWith("r"),
  };
}

function unknownFlags(flags: unknown): TypeError {
  return Object.assign(
    new TypeError(
      `The flags '${flags}' are not known: use r, r+, w, w+, a, a+, wx or ax, or O_RDONLY, O_WRONLY or O_RDWR with O_CREAT, O_EXCL, O_TRUNC and O_APPEND.`,
    ),
    { code: "ERR_INVALID_ARG_VALUE" },
  );
}
