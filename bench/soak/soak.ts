/**
 * `npm run bench -- soak [runs]`: that many runs (20,000) over HTTP, half of them in each environment, against one server as
 * `npm start` starts it. Prints memory after a collection, descriptors and children on the way, and a verdict; ends with exit
 * code 1 if they grow over the second half of an environment's runs, or a run ends otherwise than it has to.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type BenchService, startService } from "../service.ts";
import { atMost, formatTable, median, perSecond, type Row } from "../stats.ts";
import { countChildren, type Footprint, readFootprint } from "./footprint.ts";
import { chooseScript } from "./scripts.ts";

const RUNS = Number(process.argv[2] ?? 20_000);
const ENVIRONMENTS = ["typescript-ivm", "typescript-process"];
/** Looks at the server, each when nothing runs. */
const LOOKS = 40;
const CLIENTS = availableParallelism() * 4;
const SETTLE_MS = 400;
const MAX_SETTLE_MS = 15_000;
/** Of the second half's median. */
const MAX_GROWTH = 0.05;
const MAX_MORE_DESCRIPTORS = 5;

interface Look extends Footprint {
  runs: number;
}

if (!Number.isInteger(RUNS) || RUNS < 2 * LOOKS) {
  throw new Error(
    `the number of runs has to be a whole number of at least ${2 * LOOKS}; found ${process.argv[2]}`,
  );
}

async function runOnce(service: BenchService, n: number): Promise<void> {
  const { code, options, exitState } = chooseScript(n);
  const { status, body } = await service.request("POST", "/processes", { code, block: true, options });
  const record = body as { exitState?: string };
  if (status !== 201 || record.exitState !== exitState) {
    throw new Error(
      `run ${n} had to end as ${exitState}: HTTP ${status} ${JSON.stringify(body).slice(0, 500)}`,
    );
  }
}

async function runMany(service: BenchService, from: number, to: number): Promise<void> {
  let next = from;
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (next < to) {
      const n = next;
      next += 1;
      await runOnce(service, n);
    }
  });
  await Promise.all(clients);
}

/** When the number of children has stayed the same for a moment: those used up are gone, and the spare ones there again. */
async function look(service: BenchService, probe: string, runs: number): Promise<Look> {
  const deadline = performance.now() + MAX_SETTLE_MS;
  let seen = await countChildren(service.pid);
  for (;;) {
    await sleep(SETTLE_MS);
    const again = await countChildren(service.pid);
    if (again === seen || performance.now() > deadline) break;
    seen = again;
  }
  return { ...(await readFootprint(service.pid, probe)), runs };
}

/** Least squares: how much more there is per run. */
function slopeOf(looks: readonly Look[], value: (look: Look) => number): number {
  const meanRuns = looks.reduce((sum, { runs }) => sum + runs, 0) / looks.length;
  const mean = looks.reduce((sum, at) => sum + value(at), 0) / looks.length;
  let covariance = 0;
  let variance = 0;
  for (const at of looks) {
    covariance += (at.runs - meanRuns) * (value(at) - mean);
    variance += (at.runs - meanRuns) ** 2;
  }
  return covariance / variance;
}

async function soak(service: BenchService, probe: string, environment: string, runs: number): Promise<Row[]> {
  const { status } = await service.request("POST", `/modules/${environment}/enabled`, { enabled: true });
  if (status >= 300) throw new Error(`${environment} could not be enabled: HTTP ${status}`);
  const looks: Look[] = [await look(service, probe, 0)];
  let busyMs = 0;
  for (let at = 1; at <= LOOKS; at += 1) {
    const from = Math.round(((at - 1) * runs) / LOOKS);
    const to = Math.round((at * runs) / LOOKS);
    const start = performance.now();
    await runMany(service, from, to);
    busyMs += performance.now() - start;
    const seen = await look(service, probe, to);
    looks.push(seen);
    process.stderr.write(
      `${environment} ${to} runs: heap ${seen.heapMb.toFixed(1)} MiB, resident ${seen.rssMb.toFixed(1)} MiB, ${seen.descriptors} descriptors, ${seen.children} children\n`,
    );
  }
  const second = looks.slice(LOOKS / 2);
  const span = runs / 2;
  const growthOf = (what: string, value: (at: Look) => number): Row => {
    const perRun = slopeOf(second, value);
    const percent = ((perRun * span) / median(second.map(value))) * 100;
    const shown = `${percent.toFixed(2)} % (${(perRun * 1024).toFixed(2)} KiB per run)`;
    return atMost(`  ${what}, fitted growth over the second half`, percent, MAX_GROWTH * 100, shown, " %");
  };
  const descriptors = slopeOf(second, (at) => at.descriptors) * span;
  const children = slopeOf(second, (at) => at.children) * span;
  const show = (value: (at: Look) => number) =>
    [0, LOOKS / 2, LOOKS].map((at) => value(looks[at] as Look).toFixed(0)).join(", ");
  return [
    { measure: `${environment}: ${runs} runs`, value: perSecond((runs / busyMs) * 1000) },
    { measure: "  heap at the start, half, end", value: `${show(({ heapMb }) => heapMb)} MiB` },
    growthOf("heap", ({ heapMb }) => heapMb),
    { measure: "  resident at the start, half, end", value: `${show(({ rssMb }) => rssMb)} MiB` },
    growthOf("resident", ({ rssMb }) => rssMb),
    { measure: "  resident outside of V8's heap", value: `${show(({ outsideMb }) => outsideMb)} MiB` },
    growthOf("resident outside of V8's heap", ({ outsideMb }) => outsideMb),
    {
      measure: "  resident before collections, at most in the first and second half",
      value: [looks.slice(0, LOOKS / 2), second]
        .map((half) => Math.max(...half.map(({ rssBeforeMb }) => rssBeforeMb)).toFixed(0))
        .join(", ")
        .concat(" MiB"),
    },
    { measure: "  descriptors at the start, half, end", value: show((at) => at.descriptors) },
    atMost(
      "  descriptors, fitted growth over the second half",
      descriptors,
      MAX_MORE_DESCRIPTORS,
      descriptors.toFixed(1),
    ),
    { measure: "  children at the start, half, end", value: show((at) => at.children) },
    atMost("  children, fitted growth over the second half", children, 1, children.toFixed(1)),
  ];
}

const rows: Row[] = [];
const directory = await mkdtemp(path.join(tmpdir(), "cyrnel-bench-soak-"));
try {
  const probe = path.join(directory, "probe.json");
  await using service = await startService({
    NODE_OPTIONS: `--import ${new URL("./probe.ts", import.meta.url).pathname}`,
    SOAK_PROBE: probe,
  });
  for (const environment of ENVIRONMENTS) {
    rows.push(...(await soak(service, probe, environment, Math.round(RUNS / ENVIRONMENTS.length))));
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
const missed = rows.filter(({ met }) => met === false).map(({ measure }) => measure.trim());
console.log(formatTable(rows));
console.log(
  missed.length === 0
    ? `\nFlat over ${RUNS} runs: memory, descriptors, children.`
    : `\nNOT flat over ${RUNS} runs: ${missed.join("; ")}.`,
);
process.exitCode = missed.length === 0 ? 0 : 1;
