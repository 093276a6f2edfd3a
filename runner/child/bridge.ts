/**
 * The end of the connection in a child and in a slot: whole frames on descriptors 0 and 1, read and written without Node's
 * streams, which would cost more than the rest of the boot. Blocking, except for `readLater`.
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

/** One reply of the host with its envelope; the host keeps to less. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
/** Literals, so that no schema library comes into this process; the types keep them equal to the host's. */
export const PROTOCOL: typeof PROTOCOL_VERSION = 9;
const MAX_PIECE_BYTES: (typeof PROTOCOL_LIMITS)["maxFilePieceBytes"] = 262_144;

const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
/** What is written one frame at a time is written from here where it fits. */
const written = Buffer.allocUnsafeSlow(CHUNK_BYTES);
// The host has its own limits, and is who starts this process.
const reader = createFrameReader(MAX_FRAME_BYTES, MAX_PIECE_BYTES, true);
// Kept from before the lockdown, which takes `process` away.
const exit = process.exit.bind(process);

/** Ends the process at once: the host is gone or does not speak the protocol. */
export function leave(code: number): never {
  exit(code);
  throw new Error("unreachable");
}

/** Ends the process before it is ready; the server reads the reason from descriptor 2. EX_SOFTWARE of sysexits.h. */
export function leaveWith(reason: unknown): never {
  try {
    writeSync(2, `${(reason as Error | undefined)?.message ?? reason}\n`);
  } catch {
    // Descriptor 2 is closed: the exit code has to do.
  }
  leave(70);
}

/**
 * Writes frames to the end, in one go where they fit. A host that no longer reads ends this process.
 * @throws RangeError where the stack is full, which is the script's doing.
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

/** What goes with the next message of the realm. */
let outgoing: Buffer | null = null;
let announced = 0;
let filled = 0;

/** Pieces of so many bytes come, and then the message they go with. 0: what came of the last ones is forgotten. */
export function announceAttachment(bytes: number): void {
  announced = bytes;
  filled = 0;
}

/** Whether text of the realm is such a piece, as base64; messages begin with a brace. */
export function takeAttachmentPiece(text: string): boolean {
  if (text.startsWith("{")) return false;
  outgoing ??= Buffer.allocUnsafeSlow(MAX_PIECE_BYTES);
  filled += outgoing.write(text, filled, "base64");
  return true;
}

/** Once; the realm was taken over where it is not what was announced. */
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

/** Says that this process has locked itself, and then that it can be given a script; or, of a zygote, what it has forked; or what it made. */
export function notify(
  method: "booted" | "ready" | "forked" | "failed" | "codeCache",
  params: BootedParams | ReadyParams | { pid: number } | { reason: string } | CodeCacheParams,
): void {
  writeFrames(JSON.stringify({ jsonrpc: "2.0", method, params }));
}

/** Frames that came while a reply was waited for. */
const early: { text: string; attachment: Buffer | null }[] = [];

/** What came with the frame that was answered last; until the next one is read. */
let attached: Buffer | null = null;

/** The text of a frame that was read before; null: there is none. */
export function takeFrame(): string | null {
  return takeEarly() ?? cutFrame();
}

function takeEarly(): string | null {
  const first = early.shift();
  if (first === undefined) return null;
  attached = first.attachment;
  return first.text;
}

/** Keeps what came with the frame that was answered last; the function makes it that of the last one again. */
export function holdAttached(): () => void {
  const held = attached === null ? null : Buffer.from(attached);
  return () => {
    attached = held;
  };
}

/** A piece of what came with the frame that was answered last, as base64; undefined: there is none. */
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

/** The packages that follow a `start`, by their digests. Waits for them; not while a read is waiting. */
export function readPackages(digests: readonly string[] = []): Map<string, PackageParts> {
  return new Map(digests.map((digest) => [digest, decodePackage(keep(readPayload()))]));
}

/** What is lent until the next frame: larger ones are not used again. */
function keep(payload: Buffer): Buffer {
  return payload.length > MAX_KEPT_PIECE_BYTES ? payload : Buffer.from(payload);
}

function readPayload(): Buffer {
  for (let payload = cutPayload(); ; payload = cutPayload()) {
    if (payload !== null) return payload;
    readChunk();
  }
}

/** The next frame's text; waits for it. End of input ends this process. */
export function readFrame(): string {
  return takeEarly() ?? readNew();
}

/** The reply to a call, waited for; what comes before it is kept for `takeFrame`. Not while a read is waiting. */
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

/** Whether a read started by `readLater` is still waiting; blocking reads must not race it. */
export let isReading = false;

/** Calls back with the next frame's text; not before `takeFrame` has none left. */
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

/** Closes descriptors that came along with the server's own. */
export function closeInherited(fds: number[]): void {
  for (const fd of fds) {
    try {
      closeSync(fd);
    } catch {
      // Not open here: nothing to close.
    }
  }
}
