/**
 * `npm run bench -- walls`: runaways against a real server. How far beyond its limit each kind gets when it is alone, and whether
 * the server still answers while 200 of them run at once. Exit code 1 if a target is missed.
 */
import { availableParallelism } from "node:os";
import { type BenchService, startService } from "../service.ts";
import { atMost, formatTable, ms, quantile, type Row } from "../stats.ts";

const AT_ONCE = 200;
const ALONE_ROUNDS = 5;
const TIMEOUT_MS = 1000;
const CPU_MS = 1000;
const MEMORY_MB = 64;
const HEALTH_EVERY_MS = 20;
const MAX_STALL_MS = 250;
/** What a run may use beyond its limit: a fifth of it, and so much for noticing. */
const SLACK_MS = 250;
const allowedMs = (limitMs: number) => 1.2 * limitMs + SLACK_MS;
/** Of the process itself: code, stacks, young space; not the script's. */
const PROCESS_MB = 110;

interface Runaway {
  code: string;
  options: Record<string, number>;
  reason: string;
}

const RUNAWAYS: Record<string, Runaway> = {
  time: { code: "for (;;);", options: { timeout: TIMEOUT_MS }, reason: "timeout" },
  CPU: { code: "for (;;);", options: { cpuMs: CPU_MS, timeout: 60_000 }, reason: "cpu_limit" },
  heap: {
    code: "const held = []; for (;;) held.push(new Array(1000).fill(held.length));",
    options: { memoryMb: MEMORY_MB, timeout: 60_000 },
    reason: "memory_limit",
  },
  buffers: {
    code: "const held = []; for (;;) held.push(new Uint8Array(1 << 20).fill(1));",
    options: { memoryMb: MEMORY_MB, timeout: 60_000 },
    reason: "memory_limit",
  },
  output: {
    code: "for (;;) console.log('x'.repeat(1000));",
    options: { timeout: TIMEOUT_MS },
    reason: "timeout",
  },
  fork: {
    code: "for (;;) { await import('node:child_process').catch(() => {}); try { process.kill(1); } catch {} }",
    options: { timeout: TIMEOUT_MS },
    reason: "timeout",
  },
};

interface Ended {
  reason: string;
  error: string | null;
  usage: { wallMs: number; cpuMs: number; peakMemoryBytes: number };
}

/** A run measured while the machine itself stood still says nothing: it is made again. */
async function run(service: BenchService, runaway: Runaway, triesLeft = 5): Promise<Ended> {
  const { code, options, reason } = runaway;
  let stalledMs = 0;
  let last = performance.now();
  const watch = setInterval(() => {
    const now = performance.now();
    stalledMs = Math.max(stalledMs, now - last - HEALTH_EVERY_MS);
    last = now;
  }, HEALTH_EVERY_MS);
  const { body } = await service.request("POST", "/processes", { code, options, block: true });
  clearInterval(watch);
  if (stalledMs > MAX_STALL_MS && triesLeft > 1) return run(service, runaway, triesLeft - 1);
  const ended = body as Ended;
  if (ended.reason !== reason)
    throw new Error(`expected ${reason}, got ${JSON.stringify(body).slice(0, 500)}`);
  return ended;
}

async function sampleAlone(service: BenchService): Promise<Row[]> {
  const worst = { time: 0, cpu: 0, heap: 0, buffers: 0, heapMs: 0, buffersMs: 0, output: 0 };
  const mib = ({ usage }: Ended) => usage.peakMemoryBytes / 2 ** 20;
  for (let round = 0; round < ALONE_ROUNDS; round++) {
    const time = await run(service, RUNAWAYS.time as Runaway);
    const cpu = await run(service, RUNAWAYS.CPU as Runaway);
    const heap = await run(service, RUNAWAYS.heap as Runaway);
    const buffers = await run(service, RUNAWAYS.buffers as Runaway);
    const output = await run(service, RUNAWAYS.output as Runaway);
    worst.time = Math.max(worst.time, time.usage.wallMs);
    worst.cpu = Math.max(worst.cpu, cpu.usage.cpuMs);
    worst.heap = Math.max(worst.heap, mib(heap));
    worst.heapMs = Math.max(worst.heapMs, heap.usage.wallMs);
    worst.buffers = Math.max(worst.buffers, mib(buffers));
    worst.buffersMs = Math.max(worst.buffersMs, buffers.usage.wallMs);
    worst.output = Math.max(worst.output, output.usage.wallMs);
  }
  const memory = (kind: string, value: number) =>
    atMost(
      `${kind} past ${MEMORY_MB} MB, peak of the whole process`,
      value,
      Math.round(1.2 * MEMORY_MB + PROCESS_MB),
      `${value.toFixed(0)} MiB`,
      " MiB",
    );
  return [
    atMost(
      `loop with ${TIMEOUT_MS} ms, ended after`,
      worst.time,
      allowedMs(TIMEOUT_MS),
      ms(worst.time),
      " ms",
    ),
    atMost(
      `output with ${TIMEOUT_MS} ms, ended after`,
      worst.output,
      allowedMs(TIMEOUT_MS),
      ms(worst.output),
      " ms",
    ),
    atMost(`loop with ${CPU_MS} ms of CPU, used`, worst.cpu, allowedMs(CPU_MS), ms(worst.cpu), " ms"),
    memory("heap", worst.heap),
    { measure: "  ended after", value: ms(worst.heapMs) },
    memory("buffers", worst.buffers),
    { measure: "  ended after", value: ms(worst.buffersMs) },
  ];
}

/** All at once, each kind in turn; health is asked all the while. */
async function crowd(service: BenchService, name: string): Promise<Row[]> {
  const kinds = Object.values(RUNAWAYS);
  const samples: number[] = [];
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      const before = performance.now();
      const { status } = await service.request("GET", "/health");
      if (status !== 200) throw new Error(`/health answered ${status}`);
      samples.push(performance.now() - before);
      await new Promise((resolve) => setTimeout(resolve, HEALTH_EVERY_MS));
    }
  })();
  const before = performance.now();
  const ended = await Promise.allSettled(
    Array.from({ length: AT_ONCE }, (_, n) => {
      const { code, options } = kinds[n % kinds.length] as Runaway;
      return service.request("POST", "/processes", { code, options, block: true });
    }),
  );
  const wallMs = performance.now() - before;
  isOver = true;
  await asking;
  const reasons = Object.groupBy(ended, (one) =>
    one.status === "fulfilled" ? (one.value.body as Ended).reason : "no answer",
  );
  const counts = Object.entries(reasons).map(([reason, group]) => `${reason} ${group?.length}`);
  const after = await service.request("POST", "/processes", { code: "return 1", block: true });
  const isAlive = (after.body as { exitState?: string }).exitState === "success";
  const p95 = quantile(samples, 0.95);
  return [
    atMost(`${name}: /health p95 (${samples.length} asked)`, p95, 100, ms(p95), " ms"),
    { measure: "  p50", value: ms(quantile(samples, 0.5)) },
    { measure: "  slowest", value: ms(quantile(samples, 1)) },
    { measure: "  all ended after", value: ms(wallMs) },
    {
      measure: `  ${counts.join(", ")}`,
      value: isAlive ? "a run works after it" : "NO RUN WORKS",
      met: isAlive,
    },
  ];
}

const rows: Row[] = [];
{
  await using service = await startService({ CYRNEL_MAX_ACTIVE_PROCESSES: "1000" });
  for (let i = 0; i < 5; i++) await service.request("POST", "/processes", { code: "return 1", block: true });
  rows.push(...(await sampleAlone(service)));
  rows.push(...(await crowd(service, `${AT_ONCE} runaways submitted at once`)));
  const answer = await service.request("PATCH", "/modules/typescript-process/config", [
    { op: "add", path: "/maxConcurrency", value: AT_ONCE },
  ]);
  if (answer.status !== 200)
    throw new Error(`the number of slots could not be set: ${JSON.stringify(answer.body)}`);
  rows.push(...(await crowd(service, `${AT_ONCE} runaways running at once`)));
}
console.log(
  `Node ${process.version}, ${availableParallelism()} cores, ${process.platform} ${process.arch}\n`,
);
console.log(formatTable(rows));
process.exitCode = rows.some((row) => row.met === false) ? 1 : 0;
