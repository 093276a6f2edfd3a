/**
 * `npm run bench -- costs [--against <checkout>] [--rounds n] [--only environment]`: CPU time of a run per process. A
 * second checkout, which must be built, takes turns with this one; exit code 1 if a run takes longer here.
 */
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs, promisify } from "node:util";
import { type BenchService, startService } from "../service.ts";
import { atMost, formatTable, median, ms, perSecond, quantile, type Row } from "../stats.ts";
import { listTree, read, readStat } from "../tree.ts";

const ENVIRONMENTS = ["typescript-process", "typescript-ivm"] as const;
const WARM_UP_RUNS = { "typescript-process": 500, "typescript-ivm": 3000 };
const ROUND_RUNS = { "typescript-process": 200, "typescript-ivm": 1000 };
const SINGLE_RUNS = 50;
const MS_PER_TICK = 10;
const MAX_HOST_MS = 3.5;
const MAX_RATIO = 1.02;
const PAIRS = 1000;
const COMPARED = "a run one at a time, p50,";
const PARALLEL = availableParallelism() * 2;
const CODE = "return 1";

const HOST_KINDS = [
  "server, main thread",
  "server, its other threads",
  "Postgres, connections",
  "Postgres, its own work",
  "compiler",
] as const;
const KINDS = [...HOST_KINDS, "zygote", "children"] as const;

/** Milliseconds of CPU time. */
type Spent = Record<(typeof KINDS)[number], number>;

/** Adds two fields, user and system time, and returns milliseconds. */
const sumTicks = (fields: readonly string[], from: number) =>
  (Number(fields[from]) + Number(fields[from + 1])) * MS_PER_TICK;
const OWN_TICKS = 11;
const ENDED_TICKS = 13;

function nameKind(pid: number, name: string): (typeof KINDS)[number] {
  if (name.startsWith("esbuild") || name === "cyrnel-preparer") return "compiler";
  if (name === "cyrnel-zygote") return "zygote";
  if (!name.startsWith("postgres")) return "children";
  const title = read(`/proc/${pid}/cmdline`);
  return title.startsWith("postgres: cyrnel") ? "Postgres, connections" : "Postgres, its own work";
}

/** Reads the CPU time of a server and its descendants, including ended children. */
function readSpent(serverPid: number): Spent {
  const spent = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Spent;
  for (const [pid, { name, fields }] of listTree(serverPid)) {
    const own = sumTicks(fields, OWN_TICKS);
    const ended = sumTicks(fields, ENDED_TICKS);
    if (pid === serverPid) {
      const main = sumTicks(readStat(`/proc/${pid}/task/${pid}/stat`)?.fields ?? [], OWN_TICKS);
      spent["server, main thread"] += main;
      spent["server, its other threads"] += own - main;
      spent.children += ended;
    } else {
      spent[nameKind(pid, name)] += own + (name.startsWith("esbuild") ? 0 : ended);
    }
  }
  return spent;
}

async function runMany(service: BenchService, runs: number): Promise<number> {
  const before = performance.now();
  let begun = 0;
  const loop = async () => {
    while (begun++ < runs) await service.run(CODE);
  };
  await Promise.all(Array.from({ length: PARALLEL }, loop));
  return (runs * 1000) / (performance.now() - before);
}

async function runSingly(service: BenchService): Promise<number[]> {
  const samples: number[] = [];
  for (let n = 0; n < SINGLE_RUNS; n++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    samples.push((await service.run(CODE)).ms);
  }
  return samples;
}

/** Compares the medians of alternating single runs. */
async function compareSingly(
  own: BenchService,
  other: BenchService,
): Promise<{ ratio: number; shown: string }> {
  const samples = new Map<BenchService, number[]>([
    [own, []],
    [other, []],
  ]);
  for (let pair = 0; pair < PAIRS; pair++) {
    for (const service of pair % 2 === 0 ? [own, other] : [other, own]) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      samples.get(service)?.push((await service.run(CODE)).ms);
    }
  }
  const [here = 0, there = 0] = [own, other].map((service) => median(samples.get(service) ?? []));
  return { ratio: here / there, shown: `${(here / there).toFixed(3)} (${ms(here)} over ${ms(there)})` };
}

interface Figures {
  spent: Spent[];
  rates: number[];
  ratios: number[];
  single: number[];
}

async function measureRound(
  service: BenchService,
  runs: number,
  rawRate: number,
  into: Figures,
): Promise<void> {
  const before = readSpent(service.pid);
  const rate = await runMany(service, runs);
  const after = readSpent(service.pid);
  into.spent.push(
    Object.fromEntries(KINDS.map((kind) => [kind, (after[kind] - before[kind]) / runs])) as Spent,
  );
  into.rates.push(rate);
  into.ratios.push(rate / rawRate);
  into.single.push(...(await runSingly(service)));
}

async function measureRaw(): Promise<number> {
  const program = new URL("./raw-isolate.ts", import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, ["--no-node-snapshot", program]);
  return (JSON.parse(stdout) as { perSecond: number }).perSecond;
}

const { values } = parseArgs({
  options: {
    against: { type: "string" },
    rounds: { type: "string", default: "5" },
    only: { type: "string" },
  },
});
await using stack = new AsyncDisposableStack();
const servers = [
  ...(values.against === undefined
    ? []
    : [{ name: values.against, service: stack.use(await startService({}, values.against)) }]),
  { name: "this checkout", service: stack.use(await startService()) },
];
const rows: Row[] = [];
for (const environment of ENVIRONMENTS) {
  if (values.only !== undefined && values.only !== environment) continue;
  const runs = ROUND_RUNS[environment];
  const figures = new Map<string, Figures>();
  for (const { name, service } of servers) {
    await service.request("POST", `/modules/${environment}/enabled`, { enabled: true });
    await runMany(service, WARM_UP_RUNS[environment]);
    figures.set(name, { spent: [], rates: [], ratios: [], single: [] });
  }
  const rawRates: number[] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const { name, service } of round % 2 === 0 ? servers : servers.toReversed()) {
      const rawRate = await measureRaw();
      rawRates.push(rawRate);
      await measureRound(service, runs, rawRate, figures.get(name) as Figures);
    }
  }
  const [first, second] = servers;
  if (first !== undefined && second !== undefined) {
    const { ratio, shown } = await compareSingly(second.service, first.service);
    rows.push(atMost(`${COMPARED} ${environment}, here over ${first.name}`, ratio, MAX_RATIO, shown));
  }
  for (const { name } of servers) {
    const { spent, rates, ratios, single } = figures.get(name) as Figures;
    const host = median(spent.map((one) => HOST_KINDS.reduce((sum, kind) => sum + one[kind], 0)));
    rows.push(
      { measure: `${environment}, ${name}`, value: "" },
      ...KINDS.map((kind) => ({ measure: `  ${kind}`, value: ms(median(spent.map((one) => one[kind]))) })),
      atMost("  host: all but zygote and children", host, MAX_HOST_MS, ms(host), " ms"),
      { measure: "  sustained", value: perSecond(median(rates)) },
      { measure: "  one at a time, p50, p95", value: `${ms(median(single))}, ${ms(quantile(single, 0.95))}` },
    );
    if (environment === "typescript-ivm") {
      rows.push({
        measure: "  sustained / raw loop",
        value: `${median(ratios).toFixed(3)} (raw ${perSecond(median(rawRates))})`,
      });
    }
  }
}
console.log(formatTable(rows));
if (rows.some(({ measure, met }) => measure.startsWith(COMPARED) && met === false)) process.exitCode = 1;
