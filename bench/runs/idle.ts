/**
 * `npm run bench -- idle [--against <checkout>]`: proportional set sizes of an idle server's processes, with the
 * embedded database and two warm children, a minute after one run. Exit code 1 above the target.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type BenchService, startService } from "../service.ts";
import { atMost, formatTable, type Row } from "../stats.ts";
import { listTree, read, readPssMb } from "../tree.ts";

const REST_MS = 60_000;
const TARGET_MB = 220;
const FIELDS = ["Pss", "Pss_Anon", "Pss_File", "Pss_Shmem"] as const;

/** Postgres replaces the command line of each of its processes by its current activity. */
function nameProcess(pid: number, comm: string, serverPid: number): string {
  if (pid === serverPid) return "server";
  const title = read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").replace("[local]", "").trim();
  if (comm !== "postgres") return comm;
  return title.startsWith("postgres:") ? title : "postgres: first process";
}

async function measureIdle(service: BenchService): Promise<{ rows: Row[]; total: number }> {
  await service.request("POST", "/processes", { code: "return 1", block: true });
  await sleep(REST_MS);
  const holders = [...listTree(service.pid)].map(([pid, { name }]) => ({
    name: nameProcess(pid, name, service.pid),
    pss: FIELDS.map((field) => readPssMb(pid, field)),
  }));
  const sum = (of: typeof holders, at: number) => of.reduce((all, { pss }) => all + (pss[at] ?? 0), 0);
  const show = (of: typeof holders) => {
    const [all, anonymous, file, shared] = FIELDS.map((_, at) => sum(of, at).toFixed(1));
    return `${all} MiB (anonymous ${anonymous}, files ${file}, shared memory ${shared})`;
  };
  const rows = [...Map.groupBy(holders, ({ name }) => name)]
    .sort(([, one], [, other]) => sum(other, 0) - sum(one, 0))
    .map(([name, of]) => ({ measure: of.length === 1 ? name : `${of.length} x ${name}`, value: show(of) }));
  return { rows: [...rows, { measure: "all", value: show(holders) }], total: sum(holders, 0) };
}

const { values } = parseArgs({ options: { against: { type: "string" } } });
const rows: Row[] = [];
for (const checkout of values.against === undefined ? [undefined] : [values.against, undefined]) {
  await using service = await startService({}, checkout);
  const { rows: measured, total } = await measureIdle(service);
  if (values.against !== undefined) rows.push({ measure: checkout ?? "this checkout", value: "" });
  rows.push(...measured, atMost("an idle server, PSS", total, TARGET_MB, `${total.toFixed(1)} MiB`, " MiB"));
}
console.log(formatTable(rows));
process.exitCode = rows.at(-1)?.met === false ? 1 : 0;
