/**
 * Sets a waiting child's limits from outside, per run, with prlimit(2), which needs no privilege for a process of the
 * same user. The kernel enforces them exactly; nothing here monitors or kills.
 */
import { readFileSync } from "node:fs";
import { readStatusBytes } from "../process/monitor.ts";
import {
  ENOSYS,
  EPERM,
  RLIM_INFINITY,
  RLIMIT_CORE,
  RLIMIT_CPU,
  RLIMIT_DATA,
  RLIMIT_FSIZE,
  RLIMIT_NOFILE,
} from "./kernel/kernel-headers.ts";
import { type Kernel, openKernel } from "./kernel/syscalls.ts";

export interface RunLimits {
  /**
   * CPU time of all threads. The kernel counts complete seconds, so it acts up to a second late. Null for no limit.
   */
  cpuMs: number | null;
  /** Memory in addition to the idle child's: the JavaScript heap and the buffers outside it. */
  memoryBytes: number;
}

export interface IdleUsage {
  /** VmData of /proc/<pid>/status, which RLIMIT_DATA counts. It includes V8's code range, so it varies. */
  dataBytes: number;
}

/** Maximum descriptors of a child: Node crashes with fewer than about 25. */
const MAX_DESCRIPTORS = 64n;

/**
 * Limits a waiting child for its next run. Throws an Error that names the limit if the kernel refuses or the child is
 * gone. After `cpuMs` the child gets SIGXCPU, one second later SIGKILL.
 */
export function limitChild(kernel: Kernel, pid: number, limits: RunLimits, idle: IdleUsage): void {
  const dataBytes = BigInt(Math.ceil(idle.dataBytes + limits.memoryBytes));
  set(kernel, pid, "RLIMIT_DATA", RLIMIT_DATA, dataBytes, dataBytes);
  set(kernel, pid, "RLIMIT_FSIZE", RLIMIT_FSIZE, 0n, 0n);
  set(kernel, pid, "RLIMIT_CORE", RLIMIT_CORE, 0n, 0n);
  set(kernel, pid, "RLIMIT_NOFILE", RLIMIT_NOFILE, MAX_DESCRIPTORS, MAX_DESCRIPTORS);
  if (limits.cpuMs !== null) limitCpu(kernel, pid, limits.cpuMs, "for good");
}

/**
 * Limits CPU time from now on; a limit already exceeded (-Infinity) kills the process at once. `for good` cannot be
 * undone and ends in SIGKILL; `until the next` is replaced by the next run's limit, or removed by null. Throws like
 * `limitChild`.
 */
export function limitCpu(
  kernel: Kernel,
  pid: number,
  cpuMs: number | null,
  scope: "for good" | "until the next",
): void {
  const seconds =
    cpuMs === null ? RLIM_INFINITY : BigInt(Math.max(0, Math.ceil((readCpuMs(pid) + cpuMs) / 1000)));
  set(kernel, pid, "RLIMIT_CPU", RLIMIT_CPU, seconds, scope === "for good" ? seconds + 1n : RLIM_INFINITY);
}

/** Keeps a lower hard limit with which the server was started. */
function set(kernel: Kernel, pid: number, name: string, resource: number, soft: bigint, hard: bigint): void {
  const present = kernel.prlimit(pid, resource);
  if (typeof present === "number") throw describeRefusal(name, pid, present);
  const most = hard < present.hard ? hard : present.hard;
  const result = kernel.prlimit(pid, resource, { soft: soft < most ? soft : most, hard: most });
  if (typeof result === "number") throw describeRefusal(name, pid, result);
}

function describeRefusal(name: string, pid: number, answer: number): Error {
  const how = answer === -ENOSYS || answer === -EPERM ? "; a container's profile must allow prlimit(2)" : "";
  return new Error(
    `layer 4 (limits from outside) cannot be put on: ${name} of process ${pid}: errno ${-answer}${how}`,
  );
}

/** Throws if the child is gone. */
export function readIdleUsage(pid: number): IdleUsage {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const dataBytes = readStatusBytes(status, "VmData");
  if (dataBytes === null) throw new Error(`/proc/${pid}/status has no VmData: the child has ended`);
  return { dataBytes };
}

/** utime + stime of /proc/<pid>/stat, in clock ticks of 10 ms (USER_HZ is 100 on every Linux that Node supports). */
function readCpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The name in parentheses may contain anything, so fields are counted after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

export function isDataLimited(pid: number): boolean {
  const limit = openKernel().prlimit(pid, RLIMIT_DATA);
  return typeof limit !== "number" && limit.soft !== RLIM_INFINITY;
}

/** Limits as named in /proc/<pid>/limits, with the highest value accepted; null accepts any. */
const EXPECTED: readonly [name: string, most: number | null][] = [
  ["Max data size", null],
  ["Max file size", 0],
  ["Max core file size", 0],
  ["Max open files", 64],
];

/** Returns whether every limit is set, and the values read, as part of a sentence. */
export function findLimits(pid: number): { holds: boolean; observed: string; memoryBy: "kernel" } {
  const text = readFileSync(`/proc/${pid}/limits`, "latin1");
  const missing = EXPECTED.filter(([name, most]) => {
    const value = new RegExp(`^${name} +(\\d+)`, "m").exec(text)?.[1];
    return value === undefined || (most !== null && Number(value) > most);
  });
  if (missing.length > 0) {
    return { memoryBy: "kernel", holds: false, observed: `it is without the limit "${missing[0]?.[0]}"` };
  }
  return {
    memoryBy: "kernel",
    holds: true,
    observed: "limits of memory, files, core dumps and descriptors were read back from /proc/<pid>/limits",
  };
}
