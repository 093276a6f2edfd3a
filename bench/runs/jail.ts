/**
 * `npm run bench -- jail`: CPU time of a child's start, latency of a warm run and sustained rate, alternating between
 * level strict and level development, so that a noisy neighbour affects both. Exit code 1 if a target is missed.
 */
import { mkdtemp, readdir, readFile, rmdir } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { instantiate } from "#modules/typescript-process/index.ts";
import { PROCESS_READABLE, planProcessLaunch } from "#runner/isolation/process-launch.ts";
import { openWall, type Wall } from "#runner/isolation/wall.ts";
import { spawnChild } from "#runner/pool/spawn.ts";
import { findNodeBinary } from "#runner/process/node-binary.ts";
import type { EnvironmentBindings, EnvironmentModule, IsolationLevel } from "#sdk";
import { measureRate, spawnBare } from "../bare-spawn.ts";
import { atLeast, atMost, formatTable, median, ms, perSecond, type Row } from "../stats.ts";

const ROUNDS = 5;
const STARTS_PER_ROUND = 20;
const RUNS_PER_ROUND = 40;
const RATE_ROUND_MS = 3000;
/** Lets the pool refill between runs. */
const PAUSE_MS = 60;
const MEMORY_MB = 128;
const LEVELS = ["strict", "development"] as const;
const cores = availableParallelism();
const node = findNodeBinary();

type PerLevel<T> = Record<(typeof LEVELS)[number], T>;

/** Returns the CPU milliseconds of all threads of a waiting child. */
async function readCpuMs(pid: number): Promise<number> {
  let nanoseconds = 0;
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    nanoseconds += Number(
      (await readFile(`/proc/${pid}/task/${thread}/schedstat`, "latin1")).split(" ", 1)[0],
    );
  }
  return nanoseconds / 1e6;
}

async function startOnce(wall: Wall, cwd: string): Promise<number> {
  const settings = { allowEval: false, allowWasm: false, paranoid: false };
  const child = await spawnChild(
    planProcessLaunch(node, wall, settings, cwd)(MEMORY_MB),
    undefined,
    wall.start,
  );
  try {
    return await readCpuMs(child.pid);
  } finally {
    child.kill();
    child.channel.close();
    await child.exited;
  }
}

async function openEnvironment(isolation: IsolationLevel): Promise<EnvironmentModule> {
  const environment = instantiate();
  const nothing = () => {};
  const refuse = () => Promise.reject(new Error("The benchmark's scripts make no calls."));
  const calls = [
    "invokeTool",
    "discoverServices",
    "discoverTools",
    "getService",
    "getTool",
    "getToolDocs",
    "ask",
  ];
  const reports = ["setState", "setError", "emitStdout", "emitStderr", "emitOutput", "setResult", "setUsage"];
  const bindings = Object.fromEntries([
    ...calls.map((name) => [name, refuse]),
    ...reports.map((name) => [name, nothing]),
  ]);
  await environment.setup({
    config: {},
    secrets: {},
    fetch: globalThis.fetch,
    isolation,
    logger: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    bindings: bindings as unknown as EnvironmentBindings,
  });
  return environment;
}

let lastEid = 0;
async function runOnce(environment: EnvironmentModule): Promise<number> {
  const before = performance.now();
  const state = await environment.execute({
    eid: ++lastEid,
    code: "return 1",
    options: { timeoutMs: 30_000, cpuMs: 10_000 },
  });
  if (state !== "success") throw new Error(`a benchmark run ended with ${state}`);
  return performance.now() - before;
}

const sleep = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));
const cpu: PerLevel<number[]> = { strict: [], development: [] };
const warm: PerLevel<number[]> = { strict: [], development: [] };
const rates: PerLevel<number[]> = { strict: [], development: [] };
const bareRates: number[] = [];
const cwd = await mkdtemp(join(tmpdir(), "cyrnel-bench-"));
{
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rmdir(cwd));
  const open = (level: IsolationLevel) =>
    openWall({ level, nodePath: node.path, readable: PROCESS_READABLE, cwd, paranoid: false });
  const walls = { strict: undo.use(await open("strict")), development: undo.use(await open("development")) };
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < STARTS_PER_ROUND; i++) {
      for (const level of LEVELS) cpu[level].push(await startOnce(walls[level], cwd));
    }
  }
}
for (let round = 0; round < ROUNDS; round++) {
  bareRates.push(await measureRate(spawnBare, cores, RATE_ROUND_MS));
  for (const level of LEVELS) {
    const environment = await openEnvironment(level);
    for (let i = 0; i < 5; i++) await runOnce(environment);
    for (let i = 0; i < RUNS_PER_ROUND; i++) {
      await sleep(PAUSE_MS);
      warm[level].push(await runOnce(environment));
    }
    rates[level].push(await measureRate(() => runOnce(environment), cores * 2, RATE_ROUND_MS));
    await environment.teardown();
  }
}

const cpuCost = median(cpu.strict) - median(cpu.development);
const warmCost = median(warm.strict) - median(warm.development);
const ratio = median(rates.strict.map((rate, i) => rate / (bareRates[i] as number)));
const rows: Row[] = [
  { measure: "start of a child, CPU, development", value: ms(median(cpu.development)) },
  { measure: "start of a child, CPU, strict", value: ms(median(cpu.strict)) },
  atMost("  cost of the jail", cpuCost, 5, ms(cpuCost), " ms"),
  { measure: "warm run, p50, development", value: ms(median(warm.development)) },
  { measure: "warm run, p50, strict", value: ms(median(warm.strict)) },
  atMost("  cost of the jail", warmCost, 0.2, ms(warmCost), " ms"),
  { measure: `bare node -e 0, ${cores} at a time`, value: perSecond(median(bareRates)) },
  { measure: "runs, sustained, development", value: perSecond(median(rates.development)) },
  { measure: "runs, sustained, strict", value: perSecond(median(rates.strict)) },
  atLeast("  strict / bare rate", ratio, 0.8, ratio.toFixed(3)),
];
console.log(`Node ${process.version}, ${cores} cores, ${process.platform} ${process.arch}\n`);
console.log(formatTable(rows));
process.exitCode = rows.some((row) => row.met === false) ? 1 : 0;
