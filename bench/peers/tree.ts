/** A process and all below it: which they are, and what memory they hold. */
import { readdirSync, readFileSync } from "node:fs";
import { readPssMb } from "../service.ts";

const PAGE_BYTES = 4096;

/** The process and its descendants. */
export function listTree(root: number): number[] {
  const parents = new Map<number, number>();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "latin1");
      parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0]));
    } catch {
      // ended between the listing and the read
    }
  }
  const tree = [root];
  for (const pid of tree) {
    for (const [child, parent] of parents) if (parent === pid) tree.push(child);
  }
  return tree;
}

/** Resident bytes of all, pages that are shared counted for each. */
export function readResidentBytes(root: number): number {
  let bytes = 0;
  for (const pid of listTree(root)) {
    try {
      bytes += Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]) * PAGE_BYTES;
    } catch {
      // has ended
    }
  }
  return bytes;
}

/** MiB of all, each shared page divided among those that share it. */
export async function readTreePssMb(root: number): Promise<number> {
  const parts = await Promise.all(listTree(root).map((pid) => readPssMb(pid).catch(() => 0)));
  return parts.reduce((sum, part) => sum + (Number.isFinite(part) ? part : 0), 0);
}

/** Ends what is left of a tree. */
export function killTree(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // has ended
    }
  }
}
