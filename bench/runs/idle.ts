/**
 * `npm run bench -- idle [--against <checkout>]`: memory of a server that does nothing, as `npm start` starts it, with
 * the embedded database and a warm pool of two: proportional set sizes of its processes after it has ended one run and
 * rested. Memory that several share is counted once, in equal parts. Ends with exit code 1 if it is more than the target.
 */
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type BenchService, startService } from "../service.ts";
import { atMost, formatTable, type Row } from "../stats.ts";

const REST_MS = 60_000;
const TARGET_MB = 220;
const KINDS = ["Pss_Anon", "Pss_File", "Pss_Shmem"] as const;

interface Holder {
  name: string;
  /** In MiB: all of it, then by KINDS. */
  pss: number[];
}

/** The server and everything below it; the embedded database is started by it. */
async function findAll(serverPid: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const entry of await readdir("/proc")) {
    const stat = /^\d+$/.test(entry)
      ? await readFile(`/proc/${entry}/stat`, "latin1").catch(() => null)
      : null;
    if (stat !== null)
      parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0]));
  }
  const isBelow = (pid: number): boolean => pid === serverPid || isBelowOf(parents.get(pid));
  const isBelowOf = (parent: number | undefined) => parent !== undefined && isBelow(parent);
  return [...parents.keys()].filter(isBelow);
}

async function readHolder(pid: number, serverPid: number): Promise<Holder> {
  const command = (await readFile(`/proc/${pid}/cmdline`, "latin1")).replaceAll("\0", " ").trim();
  const comm = (await readFile(`/proc/${pid}/comm`, "latin1")).trim();
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "latin1");
  const readField = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1]) / 1024;
  // Postgres writes what each of its processes does over its command line; the first one has its arguments there.
  const postgres = command.startsWith("postgres:")
    ? command.replace(/\[local\]/, "").trim()
    : "postgres: first process";
  const name = pid === serverPid ? "server" : comm === "postgres" ? postgres : comm;
  return { name, pss: [readField("Pss"), ...KINDS.map(readField)] };
}

async function measureIdle(service: BenchService): Promise<{ rows: Row[]; total: number }> {
  await service.request("POST", "/processes", { code: "return 1", block: true });
  await sleep(REST_MS);
  const holders = await Promise.all((await findAll(service.pid)).map((pid) => readHolder(pid, service.pid)));
  const byName = Map.groupBy(holders, ({ name }) => name);
  const sum = (of: readonly Holder[], at: number) => of.reduce((all, { pss }) => all + (pss[at] ?? 0), 0);
  const show = (of: readonly Holder[]) => {
    const [all, anonymous, file, shared] = [0, 1, 2, 3].map((at) => sum(of, at).toFixed(1));
    return `${all} MiB (anonymous ${anonymous}, files ${file}, shared memory ${shared})`;
  };
  const rows = [...byName]
    .sort(([, one], [, other]) => sum(other, 0) - sum(one, 0))
    .map(([name, of]) => ({ measure: of.length === 1 ? name : `${of.length} x ${name}`, value: show(of) }));
  rows.push({ measure: "all", value: show(holders) });
  return { rows, total: sum(holders, 0) };
}

const { values } = parseArgs({ options: { against: { type: "string" } } });
const rows: Row[] = [];
for (const checkout of values.against === undefined ? [undefined] : [values.against, undefined]) {
  await using service = await startService({}, checkout);
  const measured = await measureIdle(service);
  if (values.against !== undefined) rows.push({ measure: checkout ?? "this checkout", value: "" });
  const total = `${measured.total.toFixed(1)} MiB`;
  rows.push(...measured.rows, atMost("an idle server, PSS", measured.total, TARGET_MB, total, " MiB"));
}
console.log(formatTable(rows));
process.exitCode = rows.at(-1)?.met === false ? 1 : 0;
