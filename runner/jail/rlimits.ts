/**
 * Limits put on a waiting child from outside, per run, by prlimit(2): works for a process of the same user without any
 * privilege. Each is the exact number the kernel was given; nothing here watches or kills.
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

/** What one run may use. */
export interface RunLimits {
  /** CPU time of the run, all threads; the kernel counts whole seconds, so it acts up to a second late. null: no limit. */
  cpuMs: number | null;
  /** Memory beyond what the idle child has: the JavaScript heap and the buffers outside it. */
  memoryBytes: number;
}

/** What an idle child holds; the baseline of its limits. */
export interface IdleUsage {
  /** VmData of /proc/<pid>/status: what RLIMIT_DATA counts. V8 reserves its code range in it, so it is no constant. */
  dataBytes: number;
}

/** Descriptors a child may hold: fewer than about 25 crash Node. */
const MAX_DESCRIPTORS = 64n;

/**
 * Limits a waiting child for the run it is about to get. Throws an Error that names the limit when the kernel refuses or
 * the child is gone. Past `cpuMs` SIGXCPU comes, one second later SIGKILL.
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
 * Limits the CPU time from now on; one that is passed already (-Infinity) ends the process at once. `for good` cannot be
 * undone and ends in SIGKILL; `until the next` can be replaced by the next run's limit, or lifted by null. Throws as `limitChild` does.
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

/** Where the server itself was started with a lower hard limit, that one stays. */
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

/** Reads what a waiting child holds. Throws when it is gone. */
export function readIdleUsage(pid: number): IdleUsage {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const dataBytes = readStatusBytes(status, "VmData");
  if (dataBytes === null) throw new Error(`/proc/${pid}/status has no VmData: the child has ended`);
  return { dataBytes };
}

/** utime + stime of /proc/<pid>/stat, in clock ticks of 10 ms (USER_HZ is 100 on every Linux Node runs on). */
function readCpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The name in parentheses may contain anything; fields count from behind it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Whether a limit of memory has been put on a process; that the kernel keeps to it is not said. */
export function isDataLimited(pid: number): boolean {
  const limit = openKernel().prlimit(pid, RLIMIT_DATA);
  return typeof limit !== "number" && limit.soft !== RLIM_INFINITY;
}

/** Names as in /proc/<pid>/limits, and the most that is accepted of each; null: any number. */
const EXPECTED: readonly [name: string, most: number | null][] = [
  ["Max data size", null],
  ["Max file size", 0],
  ["Max core file size", 0],
  ["Max open files", 64],
];

/** Whether each is there, and what was read, as part of a sentence. */
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
