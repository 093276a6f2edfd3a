/** Knows the processes that were started through it, and what memory they take together. */
import { readFileSync } from "node:fs";
import { readStatusOwnBytes } from "./proc-status.ts";
import type { StartProcess } from "./start-process.ts";

export interface TrackedProcesses {
  readonly start: StartProcess;
  /** Bytes that are the processes' own, all together, at most a second old; undefined where there is no /proc. */
  readMemoryBytes(): number | undefined;
}

/** Each run asks for the state of its environment, of which this is a part: reading /proc each time costs it 0.3 ms. */
const MAX_AGE_MS = 1000;

export function trackProcesses(start: StartProcess): TrackedProcesses {
  const pids = new Set<number>();
  let read: { bytes: number; at: number } | null = null;
  return {
    async start(program) {
      const started = await start(program);
      pids.add(started.pid);
      void started.exited.then(() => pids.delete(started.pid));
      return started;
    },
    readMemoryBytes() {
      if (process.platform !== "linux") return undefined;
      const now = performance.now();
      if (read === null || now - read.at > MAX_AGE_MS) {
        let bytes = 0;
        for (const pid of pids) bytes += readOwnBytes(pid);
        read = { bytes, at: now };
      }
      return read.bytes;
    },
  };
}

/** Bytes of memory that are the process's own; 0 for one that is gone, and where there is no /proc. */
export function readOwnBytes(pid: number): number {
  try {
    return readStatusOwnBytes(readFileSync(`/proc/${pid}/status`, "latin1"));
  } catch {
    return 0;
  }
}
