/**
 * Limits put on a waiting child from outside, per run, by prlimit(2): works for a process of the same user without any
 * privilege. Each is the exact number the kernel was given; nothing here watches or kills.
 */
import { readFileSync } from "node:fs";
import { RLIMIT_CORE, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE } from "./kernel-headers.ts";
import type { Kernel } from "./syscalls.ts";

/** What one run may use. */
export interface RunLimits {
  /** CPU time of the run, all threads; the kernel counts whole seconds, so it acts up to a second late. */
  cpuMs: number;
  /** Memory beyond what the idle child has: the JavaScript heap and the buffers outside it. */
  memoryBytes: number;
}

/** What an idle child has used and holds; the baseline of its limits. */
export interface IdleUsage {
  cpuMs: number;
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
  const cpuSeconds = BigInt(Math.ceil((idle.cpuMs + limits.cpuMs) / 1000));
  const dataBytes = BigInt(Math.ceil(idle.dataBytes + limits.memoryBytes));
  const wanted: [name: string, resource: number, soft: bigint, hard: bigint][] = [
    ["RLIMIT_CPU", RLIMIT_CPU, cpuSeconds, cpuSeconds + 1n],
    ["RLIMIT_DATA", RLIMIT_DATA, dataBytes, dataBytes],
    ["RLIMIT_FSIZE", RLIMIT_FSIZE, 0n, 0n],
    ["RLIMIT_CORE", RLIMIT_CORE, 0n, 0n],
    ["RLIMIT_NOFILE", RLIMIT_NOFILE, MAX_DESCRIPTORS, MAX_DESCRIPTORS],
  ];
  for (const [name, resource, soft, hard] of wanted) {
    const result = kernel.prlimit(pid, resource, { soft, hard });
    if (typeof result === "number") throw new Error(`${name} of process ${pid}: errno ${-result}`);
  }
}

/** Reads what a waiting child holds and has used. Throws when it is gone. */
export function readIdleUsage(pid: number): IdleUsage {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const kibibytes = /^VmData:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kibibytes === undefined) throw new Error(`/proc/${pid}/status has no VmData: the child has ended`);
  return { cpuMs: readCpuMs(pid), dataBytes: Number(kibibytes) * 1024 };
}

/** utime + stime of /proc/<pid>/stat, in clock ticks of 10 ms (USER_HZ is 100 on every Linux Node runs on). */
function readCpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The name in parentheses may contain anything; fields count from behind it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
