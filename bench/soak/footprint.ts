/** What a server holds at a moment, from /proc: memory, descriptors, and which processes are below it. */
import { readdir, readFile, readlink } from "node:fs/promises";

export interface Footprint {
  rssMb: number;
  descriptors: number;
  /** Below the server, the database not counted. */
  children: number;
}

const POSTGRES = /\/postgres$/;

export async function readFootprint(pid: number): Promise<Footprint> {
  const status = await readFile(`/proc/${pid}/status`, "latin1");
  return {
    rssMb: Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024,
    descriptors: (await readdir(`/proc/${pid}/fd`)).length,
    children: await countBelow(pid),
  };
}

async function countBelow(pid: number): Promise<number> {
  const below = new Map<number, number[]>();
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const parent = await readParent(Number(entry));
    if (parent === null) continue;
    const siblings = below.get(parent);
    if (siblings) siblings.push(Number(entry));
    else below.set(parent, [Number(entry)]);
  }
  let count = 0;
  const open = [...(below.get(pid) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const program = await readlink(`/proc/${next}/exe`).catch(() => "");
    // The database's own processes come and go with its work.
    if (POSTGRES.test(program)) continue;
    count += 1;
    open.push(...(below.get(next) ?? []));
  }
  return count;
}

/** Null: it has ended. */
async function readParent(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => null);
  if (stat === null) return null;
  const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return state === "Z" ? null : Number(parent);
}
