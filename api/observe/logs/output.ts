/**
 * Where the lines of the log go out. Never in the way of the server: they wait here while they are not read (a collector
 * that hangs, a disk that is full), the latest are left out when too many wait, and it says so once there is room again.
 */
import { once } from "node:events";
import sonicBoom from "sonic-boom";
import { waitAtMost } from "#api/bounds/deadline.ts";

const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const CLOSE_MS = 1000;

export interface LogOutput extends AsyncDisposable {
  write(line: string): void;
}

/** Disposed, it writes out what waits, as far as that is taken within a second, and closes `fd` unless it is a standard one. */
export function openLogOutput(fd: number): LogOutput {
  // Asynchronous, which is also what keeps its lines from being flushed at the exit: that has no bound.
  const stream = new sonicBoom.SonicBoom({ fd, sync: false, maxLength: MAX_WAITING_BYTES });
  let isOpen = true;
  let leftOut = 0;
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // What could not be written is tried again with the next line, except where the reader is gone for good.
    if (error.code === "EPIPE") isOpen = false;
  });
  stream.on("drop", () => {
    leftOut += 1;
  });
  stream.on("drain", () => {
    if (leftOut === 0 || !isOpen) return;
    const msg = `${leftOut} lines of the log were left out: they were not taken as fast as they came`;
    stream.write(
      `${JSON.stringify({ level: "warn", time: new Date().toISOString(), type: "log", leftOut, msg })}\n`,
    );
    leftOut = 0;
  });
  return {
    write(line) {
      if (isOpen) stream.write(line);
    },
    async [Symbol.asyncDispose]() {
      if (!isOpen) return;
      isOpen = false;
      const closed = once(stream, "close");
      stream.end();
      await waitAtMost(closed, CLOSE_MS, "the last lines of the log").catch(() => {});
    },
  };
}
