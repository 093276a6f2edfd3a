/** `node:buffer`: the library's Buffer, with the encoding `base64url` and a few functions that the library lacks. */
type BufferModule = typeof import("node:buffer");

const library = require("buffer") as BufferModule;
const { Buffer } = library;

const isUrl = (encoding: unknown): boolean =>
  typeof encoding === "string" && encoding.toLowerCase() === "base64url";

/** The library reads base64 in both alphabets, so only writing `base64url` needs help. */
const { isEncoding, byteLength, from } = Buffer;
const { toString, write, fill } = Buffer.prototype as unknown as Record<
  string,
  (...args: unknown[]) => unknown
>;
const asBase64 = (args: unknown[]): unknown[] =>
  args.map((arg, index) => (index > 0 && isUrl(arg) ? "base64" : arg));

Object.assign(Buffer, {
  isEncoding: (encoding: unknown) => isUrl(encoding) || isEncoding(encoding as string),
  byteLength: (...args: unknown[]) => Reflect.apply(byteLength, Buffer, asBase64(args)),
  from: (...args: unknown[]) => Reflect.apply(from, Buffer, asBase64(args)),
  copyBytesFrom: (view: ArrayBufferView) =>
    Buffer.from(new Uint8Array(view.buffer, view.byteOffset, view.byteLength)),
});
Object.assign(Buffer.prototype, {
  toString(this: unknown, encoding: unknown, ...range: unknown[]): unknown {
    if (!isUrl(encoding)) return Reflect.apply(toString as () => unknown, this, [encoding, ...range]);
    const text = Reflect.apply(toString as () => unknown, this, ["base64", ...range]) as string;
    return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  },
  write(this: unknown, ...args: unknown[]): unknown {
    return Reflect.apply(write as () => unknown, this, asBase64(args));
  },
  fill(this: unknown, ...args: unknown[]): unknown {
    return Reflect.apply(fill as () => unknown, this, asBase64(args));
  },
});
const bytesOf = (input: ArrayBuffer | ArrayBufferView): Uint8Array =>
  ArrayBuffer.isView(input)
    ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
    : new Uint8Array(input);

export const buffer = {
  Buffer,
  INSPECT_MAX_BYTES: 50,
  kMaxLength: library.kMaxLength,
  constants: { MAX_LENGTH: library.kMaxLength, MAX_STRING_LENGTH: 536_870_888 },
  get Blob() {
    return globalThis.Blob;
  },
  get File() {
    return (globalThis as unknown as { File: object }).File;
  },
  atob: globalThis.atob,
  btoa: globalThis.btoa,
  isAscii: (input: ArrayBuffer | ArrayBufferView) => bytesOf(input).every((byte) => byte < 128),
  isUtf8(input: ArrayBuffer | ArrayBufferView): boolean {
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(input));
      return true;
    } catch {
      return false;
    }
  },
  transcode: (source: Uint8Array, from: BufferEncoding, to: BufferEncoding) =>
    Buffer.from(Buffer.from(source).toString(from), to),
};
