/**
 * CPU time and memory of running children, read from /proc by one shared timer. Ends nothing itself: it tells whoever
 * watches. Where there is no /proc it reports zeros and says so.
 */
import { closeSync, existsSync, openSync, readFileSync, readSync } from "node:fs";
import { readStatusBytes } from "./proc-status.ts";

const DEFAULT_INTERVAL_MS = 30;
/** USER_HZ, the unit of /proc/<pid>/stat, is 100 on every Linux that Node runs on. */
const MS_PER_TICK = 10;
/** What the two tick counters of /proc/<pid>/stat may be off together. */
const TICK_ERROR_MS = 2 * MS_PER_TICK;

export interface WatchLimits {
  /** CPU time from the start of the watch. */
  cpuMs: number | null;
  /** Growth of memory that is the process's own, from the start of the watch. */
  memoryBytes: number | null;
}

export interface Watch {
  /**
   * Reads once more and stops watching; call it while the process is still there, and before it is killed, for exact
   * numbers. Later calls repeat the answer.
   */
  finish(): { cpuMs: number; peakMemoryBytes: number };
}

export interface Monitor extends Disposable {
  readonly isSupported: boolean;
  /** Watches a process that has not been reaped. `onLimit` is called once at most, from the timer. */
  watch(pid: number, limits: WatchLimits, onLimit: (limit: "cpu" | "memory") => void): Watch;
}

interface Watched {
  pid: number;
  limits: WatchLimits;
  onLimit: (limit: "cpu" | "memory") => void;
  first: Sample;
  last: Sample;
  peakBytes: number;
}

interface Sample {
  cpuMs: number;
  residentBytes: number;
  ownBytes: number;
}

/** Makes a monitor; its timer runs only while something is watched. */
export function createMonitor(intervalMs: number = DEFAULT_INTERVAL_MS): Monitor {
  const isSupported = process.platform === "linux" && existsSync("/proc/self/statm");
  const watched = new Set<Watched>();
  let timer: NodeJS.Timeout | null = null;

  function poll(): void {
    for (const entry of watched) {
      const sample = readSample(entry.pid);
      if (sample === null) continue;
      take(entry, sample);
      const { cpuMs, memoryBytes } = entry.limits;
      const limit =
        cpuMs !== null && sample.cpuMs - entry.first.cpuMs > cpuMs + TICK_ERROR_MS
          ? "cpu"
          : memoryBytes !== null && sample.ownBytes - entry.first.ownBytes > memoryBytes
            ? "memory"
            : null;
      if (limit === null) continue;
      drop(entry);
      entry.onLimit(limit);
    }
  }

  function drop(entry: Watched): void {
    watched.delete(entry);
    if (watched.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  }

  return {
    isSupported,
    watch(pid, limits, onLimit) {
      const first = (isSupported ? readSample(pid) : null) ?? { cpuMs: 0, residentBytes: 0, ownBytes: 0 };
      const entry: Watched = { pid, limits, onLimit, first, last: first, peakBytes: first.residentBytes };
      const exactAtStart = isSupported ? readExactCpuMs(pid) : null;
      if (isSupported) {
        watched.add(entry);
        timer ??= setInterval(poll, intervalMs);
      }
      let usage: ReturnType<Watch["finish"]> | null = null;
      return {
        finish() {
          usage ??= finish(entry, exactAtStart);
          drop(entry);
          return usage;
        },
      };
    },
    [Symbol.dispose]() {
      watched.clear();
      if (timer !== null) clearInterval(timer);
      timer = null;
    },
  };
}

function take(entry: Watched, sample: Sample): void {
  entry.last = sample;
  entry.peakBytes = Math.max(entry.peakBytes, sample.residentBytes);
}

function finish(entry: Watched, exactAtStart: number | null): { cpuMs: number; peakMemoryBytes: number } {
  const sample = readSample(entry.pid);
  if (sample !== null) take(entry, sample);
  const tickMs = entry.last.cpuMs - entry.first.cpuMs;
  const exactAtEnd = exactAtStart === null ? null : readExactCpuMs(entry.pid);
  const exactMs = exactAtStart === null || exactAtEnd === null ? 0 : exactAtEnd - exactAtStart;
  return {
    // The exact counter is that of the main thread only: what other threads used shows in the ticks.
    cpuMs: Math.max(0, tickMs > exactMs + TICK_ERROR_MS || exactMs === 0 ? tickMs : exactMs),
    peakMemoryBytes: Math.max(entry.peakBytes, readPeakBytes(entry.pid)),
  };
}

const scratch = Buffer.allocUnsafeSlow(4096);

/** A small file of /proc; null once the process is gone. */
function readProc(path: string): string | null {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch {
    return null;
  }
  try {
    return scratch.toString("latin1", 0, readSync(fd, scratch, 0, scratch.length, 0));
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}

/** AT_PAGESZ of linux/auxvec.h. */
const AUXV_PAGE_SIZE = 6n;
const bytesPerPage = readPageBytes();

/** Pages are 4 kB on x86-64 and up to 64 kB on some arm64 kernels: what the kernel told this process at its start. */
function readPageBytes(): number {
  try {
    const bytes = readFileSync("/proc/self/auxv");
    for (let at = 0; at + 16 <= bytes.length; at += 16) {
      if (bytes.readBigUInt64LE(at) === AUXV_PAGE_SIZE) return Number(bytes.readBigUInt64LE(at + 8));
    }
  } catch {
    // No /proc: nothing is read from it then.
  }
  return 4096;
}

function readSample(pid: number): Sample | null {
  const stat = readProc(`/proc/${pid}/stat`);
  const statm = readProc(`/proc/${pid}/statm`);
  if (stat === null || statm === null) return null;
  // The second field is a name that may hold anything; the fields after its closing bracket are plain.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [, resident = 0, shared = 0] = statm.split(" ", 3).map(Number);
  return {
    cpuMs: (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK,
    residentBytes: resident * bytesPerPage,
    ownBytes: (resident - shared) * bytesPerPage,
  };
}

/** CPU time of the main thread in nanosecond resolution, where the kernel keeps it. */
function readExactCpuMs(pid: number): number | null {
  const nanoseconds = Number(readProc(`/proc/${pid}/schedstat`)?.split(" ", 1)[0]);
  return Number.isFinite(nanoseconds) ? nanoseconds / 1e6 : null;
}

function readPeakBytes(pid: number): number {
  try {
    return readStatusBytes(readFileSync(`/proc/${pid}/status`, "latin1"), "VmHWM") ?? 0;
  } catch {
    return 0;
  }
}
