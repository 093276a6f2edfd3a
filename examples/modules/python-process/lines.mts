/** Splits a stream of bytes into lines, bounded before anything is kept. */
import type { Readable } from "node:stream";

export interface LineEvents {
  line(text: string): void;
  /** Nothing is read after it. */
  tooLong(): void;
}

export function readLines(stream: Readable, maxLineBytes: number, events: LineEvents): void {
  let parts: Buffer[] = [];
  let bytes = 0;
  let isOver = false;
  stream.on("data", (chunk: Buffer) => {
    let start = 0;
    while (!isOver && start < chunk.length) {
      const end = chunk.indexOf(0x0a, start);
      const part = chunk.subarray(start, end === -1 ? chunk.length : end);
      bytes += part.length;
      if (bytes > maxLineBytes) {
        isOver = true;
        events.tooLong();
        return;
      }
      parts.push(part);
      if (end === -1) return;
      const text = Buffer.concat(parts).toString("utf8");
      parts = [];
      bytes = 0;
      start = end + 1;
      events.line(text);
    }
  });
}
