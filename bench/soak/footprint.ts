/** What a server holds at a moment: memory in use, descriptors, and which processes are below it. */
import { readdir, readFile, readlink, rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

export interface Footprint {
  /** After a collection, as the rest. */
  rssMb: number;
  /** Before the collection: with what V8 has not looked at yet. */
  rssBeforeMb: number;
  /** What V8 has not taken for its heap: libraries, their allocations, stacks, code. */
  outsideMb: number;
  /** Of JavaScript, buffers included. */
  heapMb: number;
  descriptors: number;
  /** Below the server, the database not counted. */
  children: number;
}

const POSTGRES = /\/postgres$/;
const PROBE_TIMEOUT_MS = 60_000;
const MB = 1024 * 1024;

/** `probe`: the file of probe.ts. */
export async function readFootprint(pid: number, probe: string): Promise<Footprint> {
  await rm(probe, { force: true });
  process.kill(pid, "SIGUSR2");
  const { rss, rssBefore, heapUsed, heapTotal, external } = await readProbe(probe);
  return {
    rssMb: rss / MB,
    rssBeforeMb: rssBefore / MB,
    outsideMb: (rss - heapTotal) / MB,
    heapMb: (heapUsed + external) / MB,
    descriptors: (await readdir(`/proc/${pid}/fd`)).length,
    children: await countChildren(pid),
  };
}

type Probe = Record<"rss" | "rssBefore" | "heapUsed" | "heapTotal" | "external", number>;

async function readProbe(probe: string): Promise<Probe> {
  const deadline = performance.now() + PROBE_TIMEOUT_MS;
  for (;;) {
    const text = await readFile(probe, "utf8").catch(() => null);
    if (text !== null) return JSON.parse(text);
    if (performance.now() > deadline) throw new Error("the server did not answer its probe");
    await sleep(10);
  }
}

/** Everything below the process but a database and what is below that. */
export async function countChildren(pid: number): Promise<number> {
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
