/**
 * Watches CPU time, memory and threads of children through /proc. Calls back instead of ending them. Without /proc,
 * it reports zeros and `isSupported` is false.
 */
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import type { StartedProcess, StartProcess } from "./start-process.ts";

const BYTES_PER_MB = 1024 * 1024;
/** Memory for code, stacks and young space in addition to the heap. */
const KERNEL_SLACK_MB = 48;
/** Larger than the kernel's slack: a script can handle a failed allocation, but not being ended by the monitor. */
const WATCH_SLACK_MB = 64;
/** Upper bound for a child's memory before its script, which the kernel counts in a control group. */
const GROUP_BASE_MB = 96;

/** Returns the bytes that a process with this limit may add after `ready` before the kernel denies more. */
export function toKernelBudget(memoryMb: number): number {
  return (memoryMb + KERNEL_SLACK_MB) * BYTES_PER_MB;
}

/** Returns the bytes by which a process may grow before the monitor reports it. */
export function toWatchBudget(memoryMb: number): number {
  return (memoryMb + WATCH_SLACK_MB) * BYTES_PER_MB;
}

/** Returns the size of a control group for a process with this limit, including page cache and kernel memory. */
export function toGroupBudget(memoryMb: number): number {
  return toWatchBudget(memoryMb) + GROUP_BASE_MB * BYTES_PER_MB;
}

/** Slightly more than a child needs. Only code that has taken it over starts more. */
export const MAX_THREADS = 64;
const DEFAULT_INTERVAL_MS = 30;
/** USER_HZ, the unit of /proc/<pid>/stat, is 100 on every Linux that Node supports. */
const MS_PER_TICK = 10;
/** Combined error of the two tick counters in /proc/<pid>/stat. */
const TICK_ERROR_MS = 2 * MS_PER_TICK;

export interface WatchLimits {
  cpuMs: number | null;
  /** Growth of the process's own memory (readStatusOwnBytes) since the start of the watch. */
  memoryBytes: number | null;
}

/** `threads` is not a limit of a run: more than MAX_THREADS shows that its process was taken over. */
export type Exceeded = "cpu" | "memory" | "threads";

export interface Watch {
  /**
   * Takes a last sample and stops watching. Call it before the process is killed, for exact numbers. Later calls
   * return the same.
   */
  finish(): { cpuMs: number; peakMemoryBytes: number };
}

export interface Monitor extends Disposable {
  readonly isSupported: boolean;
  /** Watches a process that was not reaped yet. Calls `onLimit` at most once, from a timer. */
  watch(pid: number, limits: WatchLimits, onLimit: (limit: Exceeded) => void): Watch;
}

interface Watched {
  pid: number;
  limits: WatchLimits;
  onLimit: (limit: Exceeded) => void;
  first: Sample;
  last: Sample;
}

interface Sample {
  cpuMs: number;
  peakBytes: number;
  ownBytes: number;
  threads: number;
}

const NOTHING: Sample = { cpuMs: 0, peakBytes: 0, ownBytes: 0, threads: 0 };

/** The monitor's timer runs only while something is watched. */
export function createMonitor(intervalMs: number = DEFAULT_INTERVAL_MS): Monitor {
  const isSupported = process.platform === "linux" && existsSync("/proc/self/status");
  const watched = new Set<Watched>();
  let timer: NodeJS.Timeout | null = null;

  function poll(): void {
    for (const entry of watched) {
      const sample = takeSample(entry);
      const limit = sample && findExceeded(entry, sample);
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
      const first = (isSupported ? readSample(pid) : null) ?? NOTHING;
      const entry: Watched = { pid, limits, onLimit, first, last: first };
      const exactAtStart = isSupported ? readExactCpuMs(pid) : null;
      if (isSupported) {
        watched.add(entry);
        timer ??= setInterval(poll, intervalMs);
      }
      let usage: ReturnType<Watch["finish"]> | null = null;
      return {
        finish() {
          if (usage !== null) return usage;
          drop(entry);
          takeSample(entry);
          const exactAtEnd = exactAtStart === null ? null : readExactCpuMs(pid);
          const exactMs = exactAtStart === null || exactAtEnd === null ? 0 : exactAtEnd - exactAtStart;
          const tickMs = entry.last.cpuMs - first.cpuMs;
          usage = {
            // The exact counter covers only the main thread; the ticks include the others.
            cpuMs: Math.max(0, tickMs > exactMs + TICK_ERROR_MS || exactMs === 0 ? tickMs : exactMs),
            peakMemoryBytes: entry.last.peakBytes,
          };
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

function findExceeded({ limits: { cpuMs, memoryBytes }, first }: Watched, sample: Sample): Exceeded | null {
  if (cpuMs !== null && sample.cpuMs - first.cpuMs > cpuMs + TICK_ERROR_MS) return "cpu";
  if (memoryBytes !== null && sample.ownBytes - first.ownBytes > memoryBytes) return "memory";
  return sample.threads > MAX_THREADS ? "threads" : null;
}

/** Returns null and keeps the last sample once the process is gone. */
function takeSample(entry: Watched): Sample | null {
  const sample = readSample(entry.pid);
  // An ended process has no memory, and gVisor does not keep the peak.
  if (sample !== null)
    entry.last = { ...sample, peakBytes: Math.max(sample.peakBytes, entry.last.peakBytes) };
  return sample;
}

const scratch = Buffer.allocUnsafeSlow(4096);

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

function readSample(pid: number): Sample | null {
  const stat = readProc(`/proc/${pid}/stat`);
  const status = readProc(`/proc/${pid}/status`);
  if (stat === null || status === null) return null;
  // The second field is a name that may contain anything. The fields after its closing parenthesis are plain.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    cpuMs: (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK,
    peakBytes: readStatusBytes(status, "VmHWM") ?? readStatusBytes(status, "VmRSS") ?? 0,
    ownBytes: readStatusOwnBytes(status),
    threads: Number(readStatusField(status, "Threads")),
  };
}

/** Returns CPU time of the main thread, measured in nanoseconds, or null if the kernel does not provide it. */
function readExactCpuMs(pid: number): number | null {
  const nanoseconds = Number(readProc(`/proc/${pid}/schedstat`)?.split(" ", 1)[0]);
  return Number.isFinite(nanoseconds) ? nanoseconds / 1e6 : null;
}

/**
 * Returns a field of /proc/<pid>/status (proc_pid_status(5)), or null if the kernel lacks it or the process has ended. Searches
 * without a regular expression, which would take longer to compile. A name cannot contain a line break: the kernel writes `\\n`.
 */
export function readStatusField(status: string, name: string): string | null {
  const label = `${name}:`;
  const before = status.startsWith(label) ? 0 : status.indexOf(`\n${label}`) + 1;
  if (before === 0 && !status.startsWith(label)) return null;
  const end = status.indexOf("\n", before);
  return status.slice(before + label.length, end < 0 ? undefined : end).trim();
}

/**
 * Returns the process's private bytes, in memory or swapped out: written pages, shared memory without a file, and
 * page tables. If the kernel does not separate them (gVisor), returns all resident bytes.
 */
function readStatusOwnBytes(status: string): number {
  let own = readStatusBytes(status, "RssAnon");
  if (own === null) return readStatusBytes(status, "VmRSS") ?? 0;
  for (const name of OTHER_OWN) own += readStatusBytes(status, name) ?? 0;
  return own;
}
const OTHER_OWN = ["RssShmem", "VmPTE", "VmSwap"];

/** Converts a field in kB to bytes. Returns null like readStatusField. */
export function readStatusBytes(status: string, name: string): number | null {
  const field = readStatusField(status, name);
  return field === null ? null : Number.parseInt(field, 10) * 1024;
}

/** Returns 0 without /proc or for a process that is gone. */
export function readOwnBytes(pid: number): number {
  const status = readProc(`/proc/${pid}/status`);
  return status === null ? 0 : readStatusOwnBytes(status);
}

/**
 * Returns a process's bytes, with shared memory divided among its users: a fork shares most of its memory with its siblings. If the
 * kernel does not report that (gVisor), returns its own bytes.
 */
function readShareBytes(pid: number): number {
  const rollup = readProc(`/proc/${pid}/smaps_rollup`);
  const share = rollup === null ? null : readStatusBytes(rollup, "Pss");
  return share ?? readOwnBytes(pid);
}

/** Maximum age of the total, because each read costs the kernel a millisecond per process. */
const MAX_TOTAL_AGE_MS = 2000;

export function trackProcesses(start: StartProcess): {
  readonly start: StartProcess;
  track<T extends StartedProcess>(started: T): T;
  /** Returns the bytes of all processes, at most MAX_TOTAL_AGE_MS old, or undefined without /proc. */
  readMemoryBytes(): number | undefined;
} {
  const pids = new Set<number>();
  let total: { bytes: number; at: number } | null = null;
  function track<T extends StartedProcess>(started: T): T {
    pids.add(started.pid);
    void started.exited.then(() => pids.delete(started.pid));
    return started;
  }
  return {
    start: async (program) => track(await start(program)),
    track,
    readMemoryBytes() {
      if (process.platform !== "linux") return undefined;
      const now = performance.now();
      if (total === null || now - total.at > MAX_TOTAL_AGE_MS) {
        let bytes = 0;
        for (const pid of pids) bytes += readShareBytes(pid);
        total = { bytes, at: now };
      }
      return total.bytes;
    },
  };
}
