/**
 * `npm run bench -- costs [--against <checkout>] [--rounds n]`: what a run costs of CPU time, by the process that spends
 * it, in both environments; for isolates also the rate beside the raw loop. With a second checkout, which must be built,
 * its server takes turns with this one's, so that a noisy machine hits both.
 */
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { parseArgs, promisify } from "node:util";
import { type BenchService, startService } from "../service.ts";
import { formatTable, median, ms, perSecond, quantile, type Row } from "../stats.ts";

const ENVIRONMENTS = ["typescript-process", "typescript-ivm"] as const;
const WARM_UP_RUNS = { "typescript-process": 500, "typescript-ivm": 3000 };
const ROUND_RUNS = { "typescript-process": 200, "typescript-ivm": 1000 };
const SINGLE_RUNS = 50;
const MS_PER_TICK = 10;
const PARALLEL = availableParallelism() * 2;
const CODE = "return 1";

/** Milliseconds of CPU time, by kind of process. */
type Spent = Record<"server" | "postgres" | "compiler" | "children", number>;

/** CPU time of a server and of everything below it, ended children included. */
async function readSpent(serverPid: number): Promise<Spent> {
  const found = new Map<number, { parent: number; name: string; own: number; ended: number }>();
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, "latin1").catch(() => null);
    if (stat === null) continue;
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number);
    const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
    found.set(Number(entry), {
      parent: Number(fields[1]),
      name,
      own: (user + system) * MS_PER_TICK,
      ended: (endedUser + endedSystem) * MS_PER_TICK,
    });
  }
  const spent: Spent = { server: 0, postgres: 0, compiler: 0, children: 0 };
  for (const [pid, { parent, name, own, ended }] of found) {
    let above = parent;
    while (above !== serverPid && found.has(above)) above = found.get(above)?.parent ?? 0;
    if (pid === serverPid) {
      spent.server += own;
      spent.children += ended;
    } else if (above === serverPid) {
      if (name.startsWith("postgres")) spent.postgres += own + ended;
      else if (name.startsWith("esbuild")) spent.compiler += own;
      else spent.children += own + ended;
    }
  }
  return spent;
}

async function runOnce(service: BenchService): Promise<void> {
  const { body } = await service.request("POST", "/processes", { code: CODE, block: true });
  if ((body as { exitState?: string }).exitState !== "success")
    throw new Error(`a run failed: ${JSON.stringify(body)}`);
}

/** Runs per second. */
async function runMany(service: BenchService, runs: number): Promise<number> {
  const before = performance.now();
  let begun = 0;
  const loop = async () => {
    while (begun++ < runs) await runOnce(service);
  };
  await Promise.all(Array.from({ length: PARALLEL }, loop));
  return (runs * 1000) / (performance.now() - before);
}

async function runSingly(service: BenchService): Promise<number[]> {
  const samples: number[] = [];
  for (let n = 0; n < SINGLE_RUNS; n++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const before = performance.now();
    await runOnce(service);
    samples.push(performance.now() - before);
  }
  return samples;
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
  const before = await readSpent(service.pid);
  const rate = await runMany(service, runs);
  const after = await readSpent(service.pid);
  const kinds = Object.entries(after) as [keyof Spent, number][];
  into.spent.push(
    Object.fromEntries(kinds.map(([kind, spent]) => [kind, (spent - before[kind]) / runs])) as Spent,
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
  for (const { name } of servers) {
    const { spent, rates, ratios, single } = figures.get(name) as Figures;
    const of = (kind: keyof Spent) => median(spent.map((one) => one[kind]));
    const value = (["server", "postgres", "compiler", "children"] as const)
      .map((kind) => `${kind} ${of(kind).toFixed(2)}`)
      .join(", ");
    const host = median(spent.map(({ server, postgres, compiler }) => server + postgres + compiler));
    rows.push(
      { measure: `${environment}, ${name}`, value: `${value} ms` },
      { measure: "  host: all but the children", value: ms(host) },
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
