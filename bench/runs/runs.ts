/**
 * `npm run bench`: the cost of a run, relative to a bare process on the same machine in the same minute. Rounds of
 * the yardstick, of the service and of one that boots a process for every run (CYRNEL_ZYGOTE=off) alternate, so that
 * a noisy neighbour affects all of them. Exit code 1 if a target is missed. The search over tools is measured last.
 */
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { measureRate, spawnBare } from "../bare-spawn.ts";
import { type BenchService, startService } from "../service.ts";
import { atLeast, atMost, formatTable, median, ms, perSecond, quantile, type Row } from "../stats.ts";
import { findByName, readPssMb } from "../tree.ts";

const ROUNDS = 5;
const SAMPLES_PER_ROUND = 20;
const RATE_ROUND_MS = 4000;
/** V8 compiles the server's own code in this time. */
const WARM_UP_MS = 20_000;
const CAPACITY = 150;
const BURST = 100;
/** Lets the pool refill between sequential runs. */
const PAUSE_MS = 60;
const cores = availableParallelism();

const sleep = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));

async function sampleRuns(service: BenchService, count: number, pauseMs: number): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < count; i++) {
    if (pauseMs > 0) await sleep(pauseMs);
    samples.push((await service.run("return 1")).ms);
  }
  return samples;
}

/** Pauses as long as between runs: a core that has rested is slower at first. */
async function sampleBare(count: number): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < count; i++) {
    await sleep(PAUSE_MS);
    samples.push(await spawnBare());
  }
  return samples;
}

async function mustAnswer(service: BenchService, method: string, path: string, body: unknown): Promise<void> {
  const answer = await service.request(method, path, body);
  if (answer.status >= 300)
    throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
}

/** V8 still compiles the server's part of a call during the first script. */
const CALLING_SCRIPTS = 5;

/** Measures a call to the host and back inside the script. Returns median milliseconds. */
async function measureCall(service: BenchService): Promise<number> {
  const code = `
    const samples: number[] = [];
    for (let i = 0; i < 500; i++) {
      const before = performance.now();
      await cyrnel.discoverServices();
      samples.push(performance.now() - before);
    }
    return samples.sort((a, b) => a - b)[250];`;
  const medians: number[] = [];
  for (let i = 0; i < CALLING_SCRIPTS; i++) {
    await sleep(PAUSE_MS);
    medians.push(Number((await service.run(code)).result));
  }
  return median(medians);
}

/** Computes for about a second. */
const COMPUTING_SCRIPT = `
  const list: number[] = [];
  for (let i = 0; i < 400_000; i++) list.push((i * 7919) % 1_000_003);
  list.sort((a, b) => a - b);
  const object: Record<string, unknown> = {};
  for (let i = 0; i < 200_000; i++) object["k" + (i % 5000)] = [i, { v: i }];
  let text = "";
  for (let i = 0; i < 20; i++) text = JSON.stringify(JSON.parse(JSON.stringify(object)));
  let matches = 0;
  for (let i = 0; i < 200; i++) matches += (text.match(/\\d+/g) ?? []).length;
  let sum = 0;
  for (let i = 0; i < 100_000_000; i++) sum = (sum * 31 + i) | 0;
  return [matches, sum];`;

/** Returns the speed of `service` as a share of the yardstick's. */
async function compareComputing(service: BenchService, yardstick: BenchService): Promise<number> {
  const shares: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const own = (await service.run(COMPUTING_SCRIPT)).ms;
    shares.push((await yardstick.run(COMPUTING_SCRIPT)).ms / own);
  }
  return median(shares);
}

async function benchProcessEnvironment(service: BenchService, booting: BenchService): Promise<Row[]> {
  const rateOf = (of: BenchService, forMs: number) => measureRate(() => of.run("return 1"), cores * 2, forMs);
  for (const one of [service, booting]) await rateOf(one, WARM_UP_MS);
  const bare: number[] = [];
  const warm: number[] = [];
  const warmBooted: number[] = [];
  const cold: number[] = [];
  const coldBooted: number[] = [];
  const bareRates: number[] = [];
  const runRates: number[] = [];
  const bootRates: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await sleep(300);
    bare.push(...(await sampleBare(SAMPLES_PER_ROUND)));
    warm.push(...(await sampleRuns(service, SAMPLES_PER_ROUND, PAUSE_MS)));
    warmBooted.push(...(await sampleRuns(booting, SAMPLES_PER_ROUND, PAUSE_MS)));
    bareRates.push(await measureRate(spawnBare, cores, RATE_ROUND_MS));
    runRates.push(await rateOf(service, RATE_ROUND_MS));
    bootRates.push(await rateOf(booting, RATE_ROUND_MS));
  }
  await sleep(1000);
  const pss = findByName(service.pid, "cyrnel-run").map((pid) => readPssMb(pid));
  const callMs = await measureCall(service);
  const computing = await compareComputing(service, booting);
  for (const one of [service, booting]) {
    await mustAnswer(one, "PATCH", "/modules/typescript-process/config", [
      { op: "add", path: "/warmPool", value: { min: 0, max: 0 } },
    ]);
  }
  await sleep(200);
  const bareAgain: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    bareAgain.push(...(await sampleBare(SAMPLES_PER_ROUND)));
    cold.push(...(await sampleRuns(service, SAMPLES_PER_ROUND, PAUSE_MS)));
    coldBooted.push(...(await sampleRuns(booting, SAMPLES_PER_ROUND, PAUSE_MS)));
  }
  for (const one of [service, booting]) {
    await mustAnswer(one, "PATCH", "/modules/typescript-process/config", [
      { op: "remove", path: "/warmPool" },
    ]);
  }

  const bareP50 = median(bare);
  const ratio = median(warm) / bareP50;
  const coldRatio = median(cold) / median(bareAgain);
  const rateRatios = runRates.map((rate, i) => rate / (bareRates[i] as number));
  const bootRatios = bootRates.map((rate, i) => rate / (bareRates[i] as number));
  return [
    { measure: "bare node -e 0, p50", value: ms(bareP50) },
    { measure: `bare node -e 0, ${cores} at a time`, value: perSecond(median(bareRates)) },
    { measure: "process run over HTTP, warm, p50", value: ms(median(warm)) },
    { measure: "process run over HTTP, warm, p95", value: ms(quantile(warm, 0.95)) },
    atMost("  warm p50 / bare p50", ratio, 0.12, ratio.toFixed(3)),
    describeBooted("warm", median(warmBooted), bareP50),
    { measure: "process run over HTTP, no warm pool, p50", value: ms(median(cold)) },
    { measure: "process run over HTTP, no warm pool, p95", value: ms(quantile(cold, 0.95)) },
    atMost("  no warm pool p50 / bare p50", coldRatio, 0.4, coldRatio.toFixed(3)),
    describeBooted("no warm pool", median(coldBooted), median(bareAgain)),
    { measure: "process runs, sustained", value: perSecond(median(runRates)) },
    atLeast("  sustained / bare rate", median(rateRatios), 2.5, median(rateRatios).toFixed(3)),
    { measure: "process runs, sustained, CYRNEL_ZYGOTE=off", value: perSecond(median(bootRates)) },
    atLeast("  sustained / bare rate", median(bootRatios), 0.85, median(bootRatios).toFixed(3)),
    atLeast("computing in a fork / in a booted process", computing, 0.9, computing.toFixed(3)),
    atMost(
      `idle warm child, PSS (median of ${pss.length})`,
      median(pss),
      3,
      `${median(pss).toFixed(1)} MiB`,
      " MiB",
    ),
    atMost("no-op call from a process child, p50", callMs, 0.3, ms(callMs), " ms"),
  ];
}

function describeBooted(title: string, p50: number, bareP50: number): Row {
  return {
    measure: `  ${title}, CYRNEL_ZYGOTE=off, p50 (and / bare p50)`,
    value: `${ms(p50)} (${(p50 / bareP50).toFixed(3)})`,
  };
}

async function benchIsolateEnvironment(service: BenchService): Promise<Row[]> {
  await mustAnswer(service, "POST", "/modules/typescript-ivm/enabled", { enabled: true });
  const program = new URL("./raw-isolate.ts", import.meta.url).pathname;
  const runs: number[] = [];
  const ratios: number[] = [];
  const rates: number[] = [];
  const rawRates: number[] = [];
  await measureRate(() => service.run("return 1"), cores * 2, 1000);
  for (let round = 0; round < ROUNDS; round++) {
    const { stdout } = await promisify(execFile)(process.execPath, ["--no-node-snapshot", program]);
    const raw = JSON.parse(stdout) as { p50Ms: number; perSecond: number };
    runs.push(...(await sampleRuns(service, SAMPLES_PER_ROUND * 2, 5)));
    const rate = await measureRate(() => service.run("return 1"), cores * 2, RATE_ROUND_MS);
    rates.push(rate);
    rawRates.push(raw.perSecond);
    ratios.push(rate / raw.perSecond);
  }
  const callMs = await measureCall(service);
  await mustAnswer(service, "POST", "/modules/typescript-process/enabled", { enabled: true });
  return [
    { measure: "raw isolated-vm create-run-dispose", value: perSecond(median(rawRates)) },
    atMost("isolate run over HTTP, p50", median(runs), 3, ms(median(runs)), " ms"),
    { measure: "isolate run over HTTP, p95", value: ms(quantile(runs, 0.95)) },
    { measure: "isolate runs, sustained", value: perSecond(median(rates)) },
    atLeast("  sustained / raw rate", median(ratios), 0.5, median(ratios).toFixed(3)),
    atMost("no-op call from an isolate, p50", callMs, 0.3, ms(callMs), " ms"),
  ];
}

/** Compares the longest wait in a burst with the time at the sustained rate, measured right before it. */
async function benchBurst(service: BenchService): Promise<Row[]> {
  const last: number[] = [];
  const ratios: number[] = [];
  let failures = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const rate = await measureRate(() => service.run("return 1"), cores * 2, RATE_ROUND_MS);
    await sleep(500);
    const settled = await Promise.allSettled(Array.from({ length: BURST }, () => service.run("return 1")));
    const waits = settled.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value.ms] : []));
    failures += BURST - waits.length;
    last.push(quantile(waits, 0.99));
    ratios.push(quantile(waits, 0.99) / ((BURST * 1000) / rate));
  }
  return [
    atMost(`${BURST} runs at once, failures`, failures, 0, String(failures)),
    { measure: `${BURST} runs at once, p99`, value: ms(median(last)) },
    atMost(`  p99 / (${BURST} / sustained rate)`, median(ratios), 1.5, median(ratios).toFixed(3)),
  ];
}

async function benchRefusal(service: BenchService): Promise<Row[]> {
  const code = "await new Promise((resolve) => setTimeout(resolve, 600000))";
  const accepted: number[] = [];
  for (let i = 0; i < CAPACITY; i++) {
    const { body } = await service.request("POST", "/processes", { code, options: { timeout: null } });
    accepted.push((body as { id: number }).id);
  }
  const samples: number[] = [];
  for (let i = 0; i < 200; i++) {
    const before = performance.now();
    const { status } = await service.request("POST", "/processes", { code });
    samples.push(performance.now() - before);
    if (status !== 429) throw new Error(`expected a refusal at capacity, got HTTP ${status}`);
  }
  await Promise.all(accepted.map((id) => service.request("POST", `/processes/${id}/signals/kill`, {})));
  return [
    { measure: "refusal at capacity, p50", value: ms(median(samples)) },
    atMost("refusal at capacity, p95", quantile(samples, 0.95), 10, ms(quantile(samples, 0.95)), " ms"),
  ];
}

async function benchAll(): Promise<Row[]> {
  await using service = await startService({ CYRNEL_MAX_ACTIVE_PROCESSES: String(CAPACITY) });
  await using booting = await startService({ CYRNEL_ZYGOTE: "off" });
  return [
    ...(await benchProcessEnvironment(service, booting)),
    ...(await benchIsolateEnvironment(service)),
    ...(await benchBurst(service)),
    ...(await benchRefusal(service)),
  ];
}

const rows = await benchAll();
console.log(`Node ${process.version}, ${cores} cores, ${process.platform} ${process.arch}\n`);
console.log(formatTable(rows));
process.exitCode = rows.some((row) => row.met === false) ? 1 : 0;
await import("../tools/search.ts");
