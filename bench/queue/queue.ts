/**
 * `npm run bench -- queue`: what it costs to queue a process on one server and to take it on another, by the rows themselves
 * (`claim_queued`) and by jobs of graphile-worker beside them. Both store the process and its end. Options: --processes 2000
 * --rounds 3.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startEmbeddedPostgres } from "#api/db/embedded.ts";
import { migrate } from "#api/db/migrate.ts";
import { formatTable, median, ms, quantile, type Row } from "../stats.ts";
import { openJobs, openRows, type Queue, type Watch } from "./queues.ts";

const ONE_BY_ONE = 200;
const PAUSE_MS = 15;
const ADDING = 10;
/** Of `/proc`. */
const TICKS_PER_SECOND = 100;

const { values } = parseArgs({
  options: { processes: { type: "string", default: "2000" }, rounds: { type: "string", default: "3" } },
});
const processes = Number(values.processes);
const rounds = Number(values.rounds);

interface Figures {
  /** From before adding to claimed, with nothing else to do; milliseconds. */
  latencies: number[];
  /** Of Postgres, per process; milliseconds. */
  cpuMs: number[];
  /** Of this program, which adds and takes; milliseconds per process. */
  ownCpuMs: number[];
  perSecond: number[];
}

/** CPU time of a process and all below it, those that have ended included. Milliseconds. */
async function readCpu(root: number): Promise<number> {
  let ticks = 0;
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, "latin1").catch(() => null);
    const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields === undefined) continue;
    const own = Number(fields[11]) + Number(fields[12]);
    if (Number(entry) === root) ticks += own + Number(fields[13]) + Number(fields[14]);
    else if (Number(fields[1]) === root) ticks += own;
  }
  return (ticks * 1000) / TICKS_PER_SECOND;
}

async function measure(
  open: (watch: Watch) => Promise<Queue>,
  postmaster: number,
  into: Figures,
): Promise<void> {
  const claimed = new Map<number, () => void>();
  const seen = new Set<number>();
  let unended = 0;
  let whenNoneIsOpen = () => {};
  await using queue = await open({
    claimed(id) {
      seen.add(id);
      claimed.get(id)?.();
    },
    ended() {
      unended -= 1;
      if (unended === 0) whenNoneIsOpen();
    },
  });
  const isClaimed = (id: number) =>
    seen.has(id) ? Promise.resolve() : new Promise<void>((resolve) => claimed.set(id, resolve));
  for (let n = 0; n < ONE_BY_ONE; n += 1) {
    await sleep(PAUSE_MS);
    unended += 1;
    const start = performance.now();
    await isClaimed(await queue.add(n));
    into.latencies.push(performance.now() - start);
  }
  await sleep(500);

  const before = await readCpu(postmaster);
  const ownBefore = process.cpuUsage();
  const start = performance.now();
  const over = Promise.withResolvers<void>();
  whenNoneIsOpen = over.resolve;
  unended = processes;
  let next = 0;
  await Promise.all(
    Array.from({ length: ADDING }, async () => {
      while (next < processes) {
        next += 1;
        await queue.add(next);
      }
    }),
  );
  await over.promise;
  const tookMs = performance.now() - start;
  await sleep(200);
  const own = process.cpuUsage(ownBefore);
  into.cpuMs.push(((await readCpu(postmaster)) - before) / processes);
  into.ownCpuMs.push((own.user + own.system) / 1000 / processes);
  into.perSecond.push((processes / tookMs) * 1000);
}

const directory = await mkdtemp(path.join(tmpdir(), "cyrnel-bench-queue-"));
const results = new Map<string, Figures>();
try {
  await using postgres = await startEmbeddedPostgres({ directory, durable: false });
  await migrate(postgres.url);
  const postmaster = Number(
    (await readFile(path.join(directory, "data/postmaster.pid"), "utf8")).split("\n")[0],
  );
  const queues = { "the rows": openRows, "graphile-worker": openJobs };
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, open] of Object.entries(queues)) {
      const into = results.get(name) ?? { latencies: [], cpuMs: [], ownCpuMs: [], perSecond: [] };
      results.set(name, into);
      await measure((watch) => open(postgres.url, watch), postmaster, into);
    }
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}

const rows: Row[] = [...results].flatMap(([name, { latencies, cpuMs, ownCpuMs, perSecond }]) => [
  {
    measure: `${name}: from adding to claiming`,
    value: `p50 ${ms(median(latencies))}, p95 ${ms(quantile(latencies, 0.95))}`,
  },
  { measure: `${name}: CPU of the database per process`, value: ms(median(cpuMs)) },
  { measure: `${name}: CPU of the servers per process`, value: ms(median(ownCpuMs)) },
  { measure: `${name}: processes queued, taken and ended`, value: `${median(perSecond).toFixed(0)}/s` },
]);
const [ours, jobs] = [...results.values()] as [Figures, Figures];
rows.push({
  measure: "CPU of the database, graphile-worker over the rows",
  value: `${(median(jobs.cpuMs) / median(ours.cpuMs)).toFixed(2)} x`,
});
console.log(formatTable(rows));
