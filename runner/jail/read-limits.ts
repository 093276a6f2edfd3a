/** The limits of a child as the kernel says them, read from outside after they were put on. */
import { readFileSync } from "node:fs";
import { RLIM_INFINITY, RLIMIT_DATA } from "./kernel-headers.ts";
import { openKernel } from "./syscalls.ts";

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
