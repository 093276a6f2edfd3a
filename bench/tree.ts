/** Reads a process and its descendants from /proc. */
import { readdirSync, readFileSync } from "node:fs";

const PAGE_BYTES = 4096;

export interface Stat {
  name: string;
  /** Fields of /proc/<pid>/stat from the third on: state, parent, … */
  fields: string[];
}

/** Returns null for a process or thread that has ended. */
export function readStat(file: string): Stat | null {
  const stat = read(file);
  const end = stat.lastIndexOf(")");
  if (end < 0) return null;
  return { name: stat.slice(stat.indexOf("(") + 1, end), fields: stat.slice(end + 2).split(" ") };
}

export function listTree(root: number): Map<number, Stat> {
  const stats = new Map<number, Stat>();
  for (const entry of readdirSync("/proc")) {
    const stat = /^\d+$/.test(entry) ? readStat(`/proc/${entry}/stat`) : null;
    if (stat !== null) stats.set(Number(entry), stat);
  }
  const tree = new Map<number, Stat>();
  const pids = stats.has(root) ? [root] : [];
  for (const pid of pids) {
    tree.set(pid, stats.get(pid) as Stat);
    for (const [child, { fields }] of stats) if (Number(fields[1]) === pid) pids.push(child);
  }
  return tree;
}

export const findByName = (root: number, name: string) =>
  [...listTree(root)].filter(([, stat]) => stat.name === name).map(([pid]) => pid);

/** Returns MiB, with each shared page divided among those that share it; 0 for a process that has ended. */
export function readPssMb(pid: number, field = "Pss"): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(read(`/proc/${pid}/smaps_rollup`));
  return Number(found?.[1] ?? 0) / 1024;
}

export const readTreePssMb = (root: number) =>
  [...listTree(root).keys()].reduce((sum, pid) => sum + readPssMb(pid), 0);

/** Returns resident bytes of all processes; shared pages count for each. */
export function readResidentBytes(root: number): number {
  let pages = 0;
  for (const pid of listTree(root).keys()) pages += Number(read(`/proc/${pid}/statm`).split(" ")[1] ?? 0);
  return pages * PAGE_BYTES;
}

export function killAll(pids: Iterable<number>): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process has ended.
    }
  }
}

/** Returns "" for a file of a process that has ended. */
export function read(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}
