/**
 * CPU time, memory and threads of children: what they may take, and what they take, read from /proc. Ends nothing itself,
 * it calls back. Where there is no /proc it reports zeros and says so.
 */
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import type { StartedProcess, StartProcess } from "./start-process.ts";

const BYTES_PER_MB = 1024 * 1024;
/** Beside its heap a process needs code, stacks and young space. */
const KERNEL_SLACK_MB = 48;
/** More than the kernel's: a script can handle an allocation that is refused, but not being ended by the monitor. */
const WATCH_SLACK_MB = 64;
/** What a child has before its script, and what the kernel counts in a control group beside its own memory, at most. */
const GROUP_BASE_MB = 96;

/** Bytes a process with this limit may add, from the moment it is ready, before the kernel refuses more. */
export function toKernelBudget(memoryMb: number): number {
  return (memoryMb + KERNEL_SLACK_MB) * BYTES_PER_MB;
}

/** Bytes its own memory may grow by before the monitor reports it. */
export function toWatchBudget(memoryMb: number): number {
  return (memoryMb + WATCH_SLACK_MB) * BYTES_PER_MB;
}

/** Bytes for everything of a process with this limit, pages of files and the kernel's own included. */
export function toGroupBudget(memoryMb: number): number {
  return toWatchBudget(memoryMb) + GROUP_BASE_MB * BYTES_PER_MB;
}

/** Of a child, with a few to spare: more are started by code that has taken it over. */
export const MAX_THREADS = 64;
const DEFAULT_INTERVAL_MS = 30;
/** USER_HZ, the unit of /proc/<pid>/stat, is 100 on every Linux that Node runs on. */
const MS_PER_TICK = 10;
/** What the two tick counters of /proc/<pid>/stat may be off together. */
const TICK_ERROR_MS = 2 * MS_PER_TICK;

export interface WatchLimits {
  /** CPU time from the start of the watch. */
  cpuMs: number | null;
  /** Growth of memory that is the process's own (see readStatusOwnBytes), from the start of the watch. */
  memoryBytes: number | null;
}

/** `threads`: more than MAX_THREADS, which is no limit of a run but a sign that its process was taken over. */
export type Exceeded = "cpu" | "memory" | "threads";

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
  /** The most that was resident since the process began. */
  peakBytes: number;
  ownBytes: number;
  threads: number;
}

const NOTHING: Sample = { cpuMs: 0, peakBytes: 0, ownBytes: 0, threads: 0 };

/** Makes a monitor; its timer runs only while something is watched. */
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
            // The exact counter is that of the main thread only: what other threads used shows in the ticks.
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

/** Null once the process is gone: the sample before remains. */
function takeSample(entry: Watched): Sample | null {
  const sample = readSample(entry.pid);
  // A process that has ended has no memory any more, and gVisor does not keep the peak.
  if (sample !== null)
    entry.last = { ...sample, peakBytes: Math.max(sample.peakBytes, entry.last.peakBytes) };
  return sample;
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

function readSample(pid: number): Sample | null {
  const stat = readProc(`/proc/${pid}/stat`);
  const status = readProc(`/proc/${pid}/status`);
  if (stat === null || status === null) return null;
  // The second field is a name that may hold anything; the fields after its closing bracket are plain.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    cpuMs: (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK,
    peakBytes: readStatusBytes(status, "VmHWM") ?? readStatusBytes(status, "VmRSS") ?? 0,
    ownBytes: readStatusOwnBytes(status),
    threads: Number(readStatusField(status, "Threads")),
  };
}

/** CPU time of the main thread in nanosecond resolution, where the kernel keeps it. */
function readExactCpuMs(pid: number): number | null {
  const nanoseconds = Number(readProc(`/proc/${pid}/schedstat`)?.split(" ", 1)[0]);
  return Number.isFinite(nanoseconds) ? nanoseconds / 1e6 : null;
}

/**
 * The text of a field of /proc/<pid>/status (proc_pid_status(5)); null: the kernel does not have it, or the process has no
 * memory any more. Without patterns, which cost more to compile than a file of this size to search. A name in the file
 * cannot hold a line break: the kernel writes `\\n` for it.
 */
export function readStatusField(status: string, name: string): string | null {
  const label = `${name}:`;
  const before = status.startsWith(label) ? 0 : status.indexOf(`\n${label}`) + 1;
  if (before === 0 && !status.startsWith(label)) return null;
  const end = status.indexOf("\n", before);
  return status.slice(before + label.length, end < 0 ? undefined : end).trim();
}

/**
 * Bytes that are the process's own, in memory or swapped out: what it has written, what it shares with no file, and the page
 * tables for both. Where the kernel does not tell them apart (gVisor), all that is resident.
 */
function readStatusOwnBytes(status: string): number {
  let own = readStatusBytes(status, "RssAnon");
  if (own === null) return readStatusBytes(status, "VmRSS") ?? 0;
  for (const name of OTHER_OWN) own += readStatusBytes(status, name) ?? 0;
  return own;
}
const OTHER_OWN = ["RssShmem", "VmPTE", "VmSwap"];

/** A field that the kernel gives in kB, in bytes; null as for readStatusField. */
export function readStatusBytes(status: string, name: string): number | null {
  const field = readStatusField(status, name);
  return field === null ? null : Number.parseInt(field, 10) * 1024;
}

/** Bytes of memory that are the process's own; 0 for one that is gone, and where there is no /proc. */
export function readOwnBytes(pid: number): number {
  const status = readProc(`/proc/${pid}/status`);
  return status === null ? 0 : readStatusOwnBytes(status);
}

/**
 * Bytes a process takes, what it shares with others in equal parts: a fork has most of its memory in common with its siblings.
 * Where the kernel does not tell that (gVisor), what is its own.
 */
function readShareBytes(pid: number): number {
  const rollup = readProc(`/proc/${pid}/smaps_rollup`);
  const share = rollup === null ? null : readStatusBytes(rollup, "Pss");
  return share ?? readOwnBytes(pid);
}

/** Reading it takes the kernel a millisecond for each process. */
const MAX_TOTAL_AGE_MS = 2000;

/** Starts processes with `start`, and sums up what memory they take together. */
export function trackProcesses(start: StartProcess): {
  readonly start: StartProcess;
  /** Counts a process that was started in another way, and answers it. */
  track<T extends StartedProcess>(started: T): T;
  /** Bytes that the processes take together, at most MAX_TOTAL_AGE_MS old; undefined where there is no /proc. */
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
