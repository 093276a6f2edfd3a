/**
 * The child's end of the connection: complete frames on descriptors 0 and 1, without Node's streams, which would cost
 * more than the rest of the boot. Blocks, except in `readLater`.
 */
import { Buffer } from "node:buffer";
import { closeSync, read, readSync, writeSync } from "node:fs";
import {
  createFrameReader,
  decodePackage,
  encodeFrameText,
  MAX_KEPT_PIECE_BYTES,
  type PackageParts,
} from "../wire/frames.ts";
import type {
  BootedParams,
  CodeCacheParams,
  PROTOCOL_LIMITS,
  PROTOCOL_VERSION,
  ReadyParams,
} from "../wire/protocol.ts";
import { ENCODED_BYTES } from "../wire/realm-constants.ts";

/** Limit for one frame from the host, which sends smaller ones. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
/** Literals keep the schema library out of this process. Their types keep them equal to the host's. */
export const PROTOCOL: typeof PROTOCOL_VERSION = 9;
const MAX_PIECE_BYTES: (typeof PROTOCOL_LIMITS)["maxFilePieceBytes"] = 262_144;

const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
const written = Buffer.allocUnsafeSlow(CHUNK_BYTES);
const reader = createFrameReader(MAX_FRAME_BYTES, MAX_PIECE_BYTES, true);
// Captured before the lockdown, which removes `process`.
const exit = process.exit.bind(process);

/** Ends the process at once because the host is gone or violates the protocol. */
export function leave(code: number): never {
  exit(code);
  throw new Error("unreachable");
}

/** Ends the process before it is ready. The server reads the reason from descriptor 2. */
export function leaveWith(reason: unknown): never {
  try {
    writeSync(2, `${(reason as Error | undefined)?.message ?? reason}\n`);
  } catch {
    // Descriptor 2 is closed, so only the exit code remains.
  }
  leave(70);
}

/**
 * Writes frames, several in one write. Ends this process if the host no longer reads.
 * @throws RangeError if the script has filled the stack
 */
export function writeFrames(...texts: string[]): void {
  try {
    const attachment = takeOutgoing();
    writeAll(
      texts.length === 1
        ? encodeFrameText(texts[0] as string, attachment?.length ?? 0, written)
        : Buffer.concat(texts.map((text) => encodeFrameText(text))),
    );
    if (attachment !== null) writeAll(attachment);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    leave(0);
  }
}

/** Attachment of the realm's next message. */
let outgoing: Buffer | null = null;
let announced = 0;
let filled = 0;

/** Announces that pieces of this many bytes follow, before their message. Zero drops earlier pieces. */
export function announceAttachment(bytes: number): void {
  announced = bytes;
  filled = 0;
}

/** Takes the realm's text as a base64 piece, unless it begins with a brace, as messages do. */
export function takeAttachmentPiece(text: string): boolean {
  if (text.startsWith("{")) return false;
  outgoing ??= Buffer.allocUnsafeSlow(MAX_PIECE_BYTES);
  filled += outgoing.write(text, filled, "base64");
  return true;
}

/** Returns the attachment once. A size other than the announced one means that the realm was taken over. */
function takeOutgoing(): Buffer | null {
  if (announced === 0) return null;
  if (filled !== announced || outgoing === null) leave(70);
  announced = 0;
  return outgoing.subarray(0, filled);
}

function writeAll(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at, bytes.length - at);
}

/** Runs the code of `writeFrames` without writing, and that of `readFrame` on `answer`. */
export function warmUpFrames(text: string, answer: string | null): void {
  writeSync(1, encodeFrameText(text), 0, 0);
  if (answer !== null) reader.push(encodeFrameText(answer));
}

export function notify(
  method: "booted" | "ready" | "forked" | "failed" | "codeCache",
  params: BootedParams | ReadyParams | { pid: number } | { reason: string } | CodeCacheParams,
): void {
  writeFrames(JSON.stringify({ jsonrpc: "2.0", method, params }));
}

const early: { text: string; attachment: Buffer | null }[] = [];

/** Attachment of the last returned frame, valid until the next one is read. */
let attached: Buffer | null = null;

/** Returns the text of a frame that was read earlier, or null. */
export function takeFrame(): string | null {
  return takeEarly() ?? cutFrame();
}

function takeEarly(): string | null {
  const first = early.shift();
  if (first === undefined) return null;
  attached = first.attachment;
  return first.text;
}

/** Saves the current attachment and returns a function that restores it. */
export function holdAttached(): () => void {
  const held = attached === null ? null : Buffer.from(attached);
  return () => {
    attached = held;
  };
}

/** Returns a base64 piece of the current attachment, or undefined. */
export function takeAttached(at: number): string | undefined {
  return attached?.toString("base64", at, at + ENCODED_BYTES);
}

function cutFrame(): string | null {
  return cutPayload()?.toString() ?? null;
}

function cutPayload(): Buffer | null {
  try {
    const payload = reader.next();
    if (payload !== null) attached = reader.attachment;
    return payload;
  } catch {
    leave(0);
  }
}

/** Waits for the packages that follow a `start`. Must not be called while a read is pending. */
export function readPackages(digests: readonly string[] = []): Map<string, PackageParts> {
  return new Map(digests.map((digest) => [digest, decodePackage(keep(readPayload()))]));
}

function keep(payload: Buffer): Buffer {
  return payload.length > MAX_KEPT_PIECE_BYTES ? payload : Buffer.from(payload);
}

function readPayload(): Buffer {
  for (let payload = cutPayload(); ; payload = cutPayload()) {
    if (payload !== null) return payload;
    readChunk();
  }
}

/** Waits for the next frame's text. End of input ends this process. */
export function readFrame(): string {
  return takeEarly() ?? readNew();
}

/**
 * Waits for the reply to a call. Stores earlier frames for `takeFrame`. Must not be called while a read is pending.
 */
export function readReply(id: number): string {
  const start = `{"jsonrpc":"2.0","id":${id},`;
  for (let text = readNew(); ; text = readNew()) {
    if (text.startsWith(start)) return text;
    early.push({ text, attachment: attached === null ? null : Buffer.from(attached) });
  }
}

function readNew(): string {
  return readPayload().toString();
}

function readChunk(): void {
  try {
    takeIn(readSync(0, chunk, 0, CHUNK_BYTES, null));
  } catch {
    leave(0);
  }
}

/** True while a `readLater` is pending. Blocking reads must not race it. */
export let isReading = false;

/** Calls `deliver` with the next frame's text. Use it only once `takeFrame` returns null. */
export function readLater(deliver: (text: string) => void): void {
  isReading = true;
  read(0, chunk, 0, CHUNK_BYTES, null, (error, bytes) => {
    isReading = false;
    if (error !== null) leave(0);
    takeIn(bytes);
    const text = takeFrame();
    if (text === null) readLater(deliver);
    else deliver(text);
  });
}

function takeIn(bytes: number): void {
  if (bytes === 0) leave(0);
  reader.push(chunk.subarray(0, bytes));
}

export function closeInherited(fds: number[]): void {
  for (const fd of fds) {
    try {
      closeSync(fd);
    } catch {
      // Not open.
    }
  }
}
