/** The limits of a child as the kernel says them, read from outside after they were put on. */
import { readFileSync } from "node:fs";

/** Names as in /proc/<pid>/limits, and the most that is accepted of each; null: any number. */
const EXPECTED: readonly [name: string, most: number | null][] = [
  ["Max data size", null],
  ["Max file size", 0],
  ["Max core file size", 0],
  ["Max open files", 64],
];

/** Whether each is there, and what was read, as part of a sentence. */
export function findLimits(pid: number): { holds: boolean; observed: string } {
  const text = readFileSync(`/proc/${pid}/limits`, "latin1");
  const missing = EXPECTED.filter(([name, most]) => {
    const value = new RegExp(`^${name} +(\\d+)`, "m").exec(text)?.[1];
    return value === undefined || (most !== null && Number(value) > most);
  });
  if (missing.length > 0) {
    return { holds: false, observed: `it is without the limit "${missing[0]?.[0]}"` };
  }
  return {
    holds: true,
    observed: "limits of memory, files, core dumps and descriptors were read back from /proc/<pid>/limits",
  };
}
