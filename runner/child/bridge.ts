/**
 * The child's end of the connection: whole frames on descriptors 0 and 1, read and written without Node's streams,
 * which would cost more than the rest of the boot. Blocking, except for `readLater`.
 */
import { Buffer } from "node:buffer";
import { closeSync, read, readSync, writeSync } from "node:fs";
import { createFrameReader, encodeFrameText } from "../wire/frames.ts";

/** One reply of the host with its envelope; the host keeps to less. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;

const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
const reader = createFrameReader(MAX_FRAME_BYTES);
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
    // Nobody reads: the exit code says as much as can be said.
  }
  leave(70);
}

/** Writes one frame to the end. A host that no longer reads ends this process. */
export function writeFrame(json: string): void {
  const frame = encodeFrameText(json);
  try {
    for (let at = 0; at < frame.length; ) at += writeSync(1, frame, at, frame.length - at);
  } catch {
    leave(0);
  }
}

/** The next frame's text; waits for it. End of input ends this process. */
export function readFrame(): string {
  try {
    for (;;) {
      const payload = reader.next();
      if (payload !== null) return payload.toString();
      takeIn(readSync(0, chunk, 0, CHUNK_BYTES, null));
    }
  } catch {
    leave(0);
  }
}

/** Whether a read started by `readLater` is still waiting; blocking reads must not race it. */
export let isReading = false;

/** Calls back once with every frame that has come, at least one: at once with what came along with an earlier one. */
export function readLater(deliver: (frames: string[]) => void): void {
  const before = takeFrames();
  if (before.length > 0) {
    deliver(before);
    return;
  }
  isReading = true;
  read(0, chunk, 0, CHUNK_BYTES, null, (error, bytes) => {
    isReading = false;
    if (error !== null) leave(0);
    try {
      takeIn(bytes);
    } catch {
      leave(0);
    }
    readLater(deliver);
  });
}

/** The whole frames that were read. */
function takeFrames(): string[] {
  const frames: string[] = [];
  try {
    for (let payload = reader.next(); payload !== null; payload = reader.next()) {
      frames.push(payload.toString());
    }
  } catch {
    leave(0);
  }
  return frames;
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
