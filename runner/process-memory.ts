/** Knows the processes that were started through it, and what memory they take together. */
import { readFileSync } from "node:fs";
import type { StartProcess } from "./start-process.ts";

export interface TrackedProcesses {
  readonly start: StartProcess;
  /** Bytes of memory that are the processes' own, all together; undefined where there is no /proc. */
  readMemoryBytes(): number | undefined;
}

const BYTES_PER_KIBIBYTE = 1024;

export function trackProcesses(start: StartProcess): TrackedProcesses {
  const pids = new Set<number>();
  return {
    async start(program) {
      const started = await start(program);
      pids.add(started.pid);
      void started.exited.then(() => pids.delete(started.pid));
      return started;
    },
    readMemoryBytes() {
      if (process.platform !== "linux") return undefined;
      let sum = 0;
      for (const pid of pids) sum += readOwnBytes(pid);
      return sum;
    },
  };
}

/** 0 for a process that is gone. */
function readOwnBytes(pid: number): number {
  try {
    const kibibytes = /^RssAnon:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
    return Number(kibibytes ?? 0) * BYTES_PER_KIBIBYTE;
  } catch {
    return 0;
  }
}
