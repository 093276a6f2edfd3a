/**
 * The yardstick of typescript-ivm: only creates an isolate, runs and disposes with isolated-vm. Runs as its own
 * program (`--no-node-snapshot`) and prints one JSON line: milliseconds per loop and loops per second.
 */
import ivm from "isolated-vm";
import { median } from "../stats.ts";

const WARM_UP = 50;
const SAMPLES = 500;

async function loopOnce(): Promise<void> {
  const isolate = new ivm.Isolate({ memoryLimit: 128 });
  const context = await isolate.createContext();
  const script = await isolate.compileScript("(async () => 1)()");
  await script.run(context, { promise: true, copy: true });
  isolate.dispose();
}

for (let i = 0; i < WARM_UP; i++) await loopOnce();
const samples: number[] = [];
const startedAt = performance.now();
for (let i = 0; i < SAMPLES; i++) {
  const before = performance.now();
  await loopOnce();
  samples.push(performance.now() - before);
}
const elapsedMs = performance.now() - startedAt;
console.log(JSON.stringify({ p50Ms: median(samples), perSecond: (SAMPLES * 1000) / elapsedMs }));
