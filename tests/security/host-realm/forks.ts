/** Zygotes and forks that are children of this process, as /proc shows them. */
import { readdirSync, readFileSync } from "node:fs";

export interface Seen {
  pid: number;
  parent: number;
  name: string;
}

export function listProcesses(): Seen[] {
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const status = readFileSync(`/proc/${pid}/status`, "latin1");
      const field = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1] ?? "";
      return [{ pid: Number(pid), parent: Number(field("PPid")), name: field("Name") }];
    } catch {
      return [];
    }
  });
}

const listNamed = (wanted: string) =>
  listProcesses().filter(({ parent, name }) => parent === process.pid && name === wanted);
export const listForks = () => listNamed("cyrnel-run");
export const listZygotes = () => listNamed("cyrnel-zygote");

export function findZygote(): number {
  const [found] = listZygotes();
  if (found === undefined) throw new Error("there is no zygote");
  return found.pid;
}

/** Where the first of a process's memory lies. */
export function readFirstAddress(pid: number): number {
  return Number.parseInt(readFileSync(`/proc/${pid}/maps`, "latin1"), 16);
}
