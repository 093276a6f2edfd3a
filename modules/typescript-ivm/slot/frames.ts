/**
 * Frames over the slot's stdin and stdout: a 4-byte big-endian length and that many bytes of UTF-8 JSON. Reads block
 * while nothing else can happen, which costs a tenth of an event loop turn; with timers armed they go through the
 * thread pool. Writes block: a host that does not read stops the script.
 */
import fs from "node:fs";

const HEADER_BYTES = 4;
const FIRST_BUFFER_BYTES = 64 * 1024;
/** A frame of the host that is larger is a fault of the host: the slot ends. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;

export interface Frames {
  /** The next complete frame already in memory, or null. */
  take(): string | null;
  /** Blocks until more bytes came. False at the end of the input. */
  readBlocking(): boolean;
  /** Resolves when more bytes came. False at the end of the input. A read that is under way is joined, never doubled. */
  readAsync(): Promise<boolean>;
  /** True while an asynchronous read is under way: a blocking one must wait for it. */
  readonly isReading: boolean;
  /** Writes frames in one go, in order. Throws when the host is gone. */
  write(...texts: string[]): void;
}

export function openFrames(inputFd: number, outputFd: number): Frames {
  let input = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES);
  let start = 0;
  let end = 0;
  let reading: Promise<boolean> | null = null;
  const output = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES);

  /** Makes room behind `end` for at least the rest of the frame at `start`. */
  function makeRoom(): void {
    if (start === end) {
      start = 0;
      end = 0;
      if (input.length > FIRST_BUFFER_BYTES) input = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES);
      return;
    }
    const needed = end - start < HEADER_BYTES ? HEADER_BYTES : HEADER_BYTES + input.readUInt32BE(start);
    if (needed > MAX_FRAME_BYTES) throw new Error(`a frame of ${needed} bytes was announced`);
    if (start + needed <= input.length && end < input.length) return;
    const target = needed <= input.length ? input : Buffer.allocUnsafeSlow(needed);
    input.copy(target, 0, start, end);
    input = target;
    end -= start;
    start = 0;
  }

  function took(bytes: number): boolean {
    end += bytes;
    return bytes > 0;
  }

  function writeAll(bytes: Buffer, length: number): void {
    for (let at = 0; at < length; ) at += fs.writeSync(outputFd, bytes, at, length - at);
  }

  return {
    take() {
      if (end - start < HEADER_BYTES) return null;
      const next = start + HEADER_BYTES + input.readUInt32BE(start);
      if (end < next) return null;
      const text = input.toString("utf8", start + HEADER_BYTES, next);
      start = next;
      return text;
    },
    readBlocking() {
      makeRoom();
      return took(fs.readSync(inputFd, input, end, input.length - end, null));
    },
    readAsync() {
      if (reading !== null) return reading;
      makeRoom();
      reading = new Promise((resolve, reject) => {
        fs.read(inputFd, input, end, input.length - end, null, (error, bytes) => {
          reading = null;
          if (error === null) resolve(took(bytes));
          else reject(error);
        });
      });
      return reading;
    },
    get isReading() {
      return reading !== null;
    },
    write(...texts) {
      let at = 0;
      for (const text of texts) {
        // UTF-8 takes at most three bytes per UTF-16 unit.
        if (at + HEADER_BYTES + text.length * 3 > output.length) {
          if (at > 0) writeAll(output, at);
          at = 0;
          const length = Buffer.byteLength(text);
          const frame = Buffer.allocUnsafeSlow(HEADER_BYTES + length);
          frame.writeUInt32BE(length, 0);
          frame.write(text, HEADER_BYTES);
          writeAll(frame, frame.length);
          continue;
        }
        const length = output.write(text, at + HEADER_BYTES);
        output.writeUInt32BE(length, at);
        at += HEADER_BYTES + length;
      }
      if (at > 0) writeAll(output, at);
    },
  };
}
