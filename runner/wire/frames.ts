/**
 * Frames: a 4-byte big-endian length and that many bytes of UTF-8 JSON. If the first bit of the length is set, the
 * 4-byte length of an attachment follows it, and the attachment follows the JSON. Input is hostile: sizes are checked
 * before memory is allocated, and nesting before parsing.
 */
import { Buffer } from "node:buffer";
import { measureDepth } from "../../kernel/json-depth.ts";
// Not #sdk, which would bring a schema library into the child.
import { parseExactJson } from "../../sdk/exact-json.ts";

export const FRAME_HEADER_BYTES = 4;
const HAS_ATTACHMENT = 0x8000_0000;
/**
 * First buffer for a frame that arrives in pieces. It doubles as bytes arrive and never trusts the announced length.
 */
const FIRST_PIECE_BYTES = 64 * 1024;

/** `size` means a frame over its limit, `malformed` any other error. */
export class FrameError extends Error {
  override readonly name = "FrameError";
  readonly kind: "size" | "malformed";
  constructor(kind: "size" | "malformed", message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface Frame {
  value: unknown;
  bytes: number;
  depth: number;
  /** A copy, owned by the receiver. */
  attachment: Buffer | null;
}

export interface FrameReader {
  /** Takes the next bytes of the stream. Call `next` until it returns null before pushing more. */
  push(chunk: Uint8Array): void;
  /** Returns the next frame's JSON, valid until the next push, or null if more bytes are needed. @throws FrameError */
  next(): Buffer | null;
  /** Attachment of the last frame, valid as long as the frame's JSON. */
  readonly attachment: Buffer | null;
  /** Bytes of frames that were not returned yet. */
  readonly bufferedBytes: number;
}

/** Buffers up to this size are reused for the next frame that arrives in pieces. */
export const MAX_KEPT_PIECE_BYTES = 512 * 1024;

/**
 * Cuts a byte stream into frames. Buffers at most one pushed chunk and one frame of the largest size. If `isTrusted`,
 * allocates memory for an announced frame at once.
 */
export function createFrameReader(
  maxFrameBytes: number,
  maxAttachmentBytes = 0,
  isTrusted = false,
): FrameReader {
  let chunk: Buffer = Buffer.alloc(0);
  let at = 0;
  const header = Buffer.alloc(2 * FRAME_HEADER_BYTES);
  let headerFilled = 0;
  let jsonBytes = 0;
  /** Bytes of JSON and attachment. Negative until the header is complete. */
  let frameBytes = -1;
  let piece: Buffer | null = null;
  let pieceFilled = 0;
  let kept: Buffer | null = null;
  let attachment: Buffer | null = null;

  function fillHeader(bytes: number): boolean {
    const n = Math.min(bytes - headerFilled, chunk.length - at);
    chunk.copy(header, headerFilled, at, at + n);
    headerFilled += n;
    at += n;
    return headerFilled === bytes;
  }

  function readHeader(): boolean {
    if (headerFilled < FRAME_HEADER_BYTES) {
      if (!fillHeader(FRAME_HEADER_BYTES)) return false;
      jsonBytes = header.readUInt32BE(0) % HAS_ATTACHMENT;
      requireSize(jsonBytes, maxFrameBytes, "frame");
      if (header.readUInt32BE(0) >= HAS_ATTACHMENT && maxAttachmentBytes === 0) {
        throw new FrameError("malformed", "an attachment where none is taken");
      }
    }
    let attachedBytes = 0;
    if (header.readUInt32BE(0) >= HAS_ATTACHMENT) {
      if (!fillHeader(2 * FRAME_HEADER_BYTES)) return false;
      attachedBytes = header.readUInt32BE(FRAME_HEADER_BYTES);
      requireSize(attachedBytes, maxAttachmentBytes, "attachment");
    }
    frameBytes = jsonBytes + attachedBytes;
    return true;
  }

  function grow(current: Buffer | null, needed: number): Buffer {
    if (current !== null && current.length >= needed) return current;
    if (current === null && kept !== null && kept.length >= needed) return kept;
    // An attachment is small enough to be allocated at once.
    const first = FIRST_PIECE_BYTES + (frameBytes === jsonBytes ? 0 : maxAttachmentBytes);
    const size = isTrusted
      ? frameBytes
      : Math.min(frameBytes, Math.max(needed, first, (current?.length ?? 0) * 2));
    const grown = Buffer.allocUnsafeSlow(size);
    current?.copy(grown, 0, 0, pieceFilled);
    return grown;
  }

  function finish(frame: Buffer): Buffer {
    frameBytes = -1;
    headerFilled = 0;
    piece = null;
    pieceFilled = 0;
    attachment = frame.length === jsonBytes ? null : frame.subarray(jsonBytes);
    return attachment === null ? frame : frame.subarray(0, jsonBytes);
  }

  return {
    push(bytes) {
      if (at < chunk.length) throw new Error("frames of the last chunk have not all been taken");
      chunk = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      at = 0;
    },
    next() {
      if (frameBytes < 0 && !readHeader()) return null;
      const available = chunk.length - at;
      if (piece === null && available >= frameBytes) {
        at += frameBytes;
        return finish(chunk.subarray(at - frameBytes, at));
      }
      const n = Math.min(frameBytes - pieceFilled, available);
      if (n > 0) {
        piece = grow(piece, pieceFilled + n);
        chunk.copy(piece, pieceFilled, at, at + n);
        pieceFilled += n;
        at += n;
      }
      if (piece === null || pieceFilled < frameBytes) return null;
      if (piece.length <= MAX_KEPT_PIECE_BYTES) kept = piece;
      return finish(piece.subarray(0, frameBytes));
    },
    get attachment() {
      return attachment;
    },
    get bufferedBytes() {
      return chunk.length - at + pieceFilled + headerFilled;
    },
  };
}

function requireSize(bytes: number, maxBytes: number, what: string): void {
  if (bytes > maxBytes) {
    throw new FrameError(
      "size",
      `${what === "frame" ? "a" : "an"} ${what} of ${bytes} bytes was announced; at most ${maxBytes} are allowed`,
    );
  }
  if (bytes === 0) throw new FrameError("malformed", `an empty ${what}`);
}

/** @throws the errors of JSON.stringify (BigInt, cycles) */
export function encodeFrame(message: unknown): Buffer {
  return encodeFrameText(JSON.stringify(message));
}

/** Encodes JSON text, into `room` if it fits. The caller appends the attachment. */
export function encodeFrameText(text: string, attachmentBytes = 0, room?: Buffer): Buffer {
  const length = Buffer.byteLength(text);
  const headerBytes = attachmentBytes === 0 ? FRAME_HEADER_BYTES : 2 * FRAME_HEADER_BYTES;
  const bytes = headerBytes + length;
  const frame =
    room !== undefined && room.length >= bytes ? room.subarray(0, bytes) : Buffer.allocUnsafe(bytes);
  frame.writeUInt32BE(attachmentBytes === 0 ? length : length + HAS_ATTACHMENT, 0);
  if (attachmentBytes !== 0) frame.writeUInt32BE(attachmentBytes, FRAME_HEADER_BYTES);
  frame.write(text, headerBytes, "utf8");
  return frame;
}

export interface PackageParts {
  /** JavaScript in parentheses, the last one on a separate line. Latin-1, or UTF-16 if `isWide`. */
  source: Buffer;
  isWide: boolean;
  cache: Buffer;
  /** Source mappings in UTF-8, or empty. */
  mappings: Buffer;
}

/**
 * A byte that cannot begin JSON text, a byte for the width of the source, two lengths, and padding: V8 reads a code
 * cache in place only if its address is a multiple of eight.
 */
const PACKAGE_HEADER_BYTES = 16;

export function encodePackage({ source, isWide, cache, mappings }: PackageParts): Buffer[] {
  const header = Buffer.alloc(FRAME_HEADER_BYTES + PACKAGE_HEADER_BYTES);
  header.writeUInt32BE(PACKAGE_HEADER_BYTES + cache.length + mappings.length + source.length, 0);
  header[FRAME_HEADER_BYTES + 1] = isWide ? 1 : 0;
  header.writeUInt32BE(cache.length, FRAME_HEADER_BYTES + 2);
  header.writeUInt32BE(mappings.length, FRAME_HEADER_BYTES + 6);
  return [header, cache, mappings, source];
}

export function decodePackage(payload: Buffer): PackageParts {
  const cacheEnd = PACKAGE_HEADER_BYTES + payload.readUInt32BE(2);
  const mappingsEnd = cacheEnd + payload.readUInt32BE(6);
  return {
    isWide: payload[1] === 1,
    cache: payload.subarray(PACKAGE_HEADER_BYTES, cacheEnd),
    mappings: payload.subarray(cacheEnd, mappingsEnd),
    source: payload.subarray(mappingsEnd),
  };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const CALL = '{"jsonrpc":"2.0","id":';

/** @throws FrameError for invalid UTF-8, invalid JSON or nesting over `maxDepth` */
export function parseFrame(payload: Buffer, maxDepth: number): Frame {
  const depth = measureDepth(payload, maxDepth);
  if (depth > maxDepth)
    throw new FrameError("malformed", `a message is nested deeper than ${maxDepth} levels`);
  let text: string;
  try {
    text = utf8.decode(payload);
  } catch {
    throw new FrameError("malformed", "a frame is not valid UTF-8");
  }
  let value: unknown;
  try {
    // Parameters of calls keep all digits of a bigint.
    value = text.startsWith(CALL) ? parseExactJson(text) : JSON.parse(text);
  } catch {
    throw new FrameError("malformed", "a frame is not valid JSON");
  }
  return { value, bytes: payload.length, depth, attachment: null };
}
