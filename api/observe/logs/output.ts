/**
 * Writes the log without blocking the server. While nobody reads them (a hanging collector, a full disk), lines wait
 * in memory. When too many are waiting, the newest are dropped, and a line reports that once there is room.
 */
import { once } from "node:events";
import sonicBoom from "sonic-boom";
import { waitAtMost } from "#api/bounds/deadline.ts";

const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const CLOSE_MS = 1000;

export interface LogOutput extends AsyncDisposable {
  write(line: string): void;
}

/** Disposing writes waiting lines for at most a second and closes `fd` unless it is a standard stream. */
export function openLogOutput(fd: number, format = (line: string) => line): LogOutput {
  // Asynchronous, so that exiting does not flush lines either: that flush has no time limit.
  const stream = new sonicBoom.SonicBoom({ fd, sync: false, maxLength: MAX_WAITING_BYTES });
  let isOpen = true;
  let leftOut = 0;
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // The next line retries, unless the reader is gone for good.
    if (error.code === "EPIPE") isOpen = false;
  });
  stream.on("drop", () => {
    leftOut += 1;
  });
  stream.on("drain", () => {
    if (leftOut === 0 || !isOpen) return;
    const msg = `${leftOut} lines of the log were dropped: their reader was too slow`;
    const record = { level: "warn", time: new Date().toISOString(), type: "log", leftOut, msg };
    stream.write(format(`${JSON.stringify(record)}\n`));
    leftOut = 0;
  });
  return {
    write(line) {
      if (isOpen) stream.write(format(line));
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
