import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { median, quantile } from "../stats.ts";
import { readTreePssMb } from "../tree.ts";
import { type Embedder, openEmbedder } from "./embedder.ts";
import type { Peer } from "./runners.ts";

const SCRIPT = "return 1;";
const LIMITS = { timeoutMs: 10_000, memoryMb: 128 };
/** A server compiles its own code in its first seconds under load; all peers get the same time. */
const WARM_UP_MS = 15_000;
const LATENCY_MS = 1800;
const MAX_SAMPLES = 40;
const MIN_SAMPLES = 5;
const PAUSE_MS = 20;
const RATE_MS = 4000;
const HOLD_MS = 2200;
const HOLD_AFTER_MS = 300;
const MAX_WAIT_MS = 60_000;
const cores = availableParallelism();

export interface Figures {
  p50Ms: number;
  p95Ms: number;
  perSecond: number;
  /** MiB of the host and its child processes, with nothing running. */
  idleMb: number;
  /** Additional MiB per running script. */
  perRunMb: number;
}

export async function measure(peer: Peer, environment: Record<string, string>): Promise<Figures> {
  await using embedder = await openEmbedder(peer, environment);
  await embedder.ask(
    { kind: "rate", body: SCRIPT, limits: LIMITS, parallel: cores, durationMs: WARM_UP_MS },
    MAX_WAIT_MS,
  );
  const [first = 1] = await sample(embedder, 1);
  const count = Math.max(MIN_SAMPLES, Math.min(MAX_SAMPLES, Math.floor(LATENCY_MS / (first + PAUSE_MS))));
  const samples = await sample(embedder, count);
  const perSecond = (await embedder.ask(
    { kind: "rate", body: SCRIPT, limits: LIMITS, parallel: cores, durationMs: RATE_MS },
    MAX_WAIT_MS,
  )) as number;
  await sleep(500);
  const idle = readTreePssMb(embedder.pid);
  const perRunMb = await holdRuns(embedder, idle);
  return {
    p50Ms: median(samples),
    p95Ms: quantile(samples, 0.95),
    perSecond,
    idleMb: idle,
    perRunMb,
  };
}

async function sample(embedder: Embedder, count: number): Promise<number[]> {
  const command = { kind: "latency", body: SCRIPT, limits: LIMITS, count, pauseMs: PAUSE_MS } as const;
  return (await embedder.ask(command, MAX_WAIT_MS)) as number[];
}

/** Computes in as many runs as there are cores. Returns the highest memory of each. */
async function holdRuns(embedder: Embedder, idleMb: number): Promise<number> {
  const body = `const until = Date.now() + ${HOLD_MS}; while (Date.now() < until); return 1;`;
  const runs = Array.from({ length: cores }, () =>
    embedder.ask({ kind: "run", body, limits: LIMITS }, MAX_WAIT_MS),
  );
  const held = Promise.allSettled(runs);
  let isOver = false;
  void held.then(() => {
    isOver = true;
  });
  let most = idleMb;
  while (!isOver) {
    await sleep(HOLD_AFTER_MS);
    most = Math.max(most, readTreePssMb(embedder.pid));
  }
  for (const outcome of await held) if (outcome.status === "rejected") throw outcome.reason;
  return (most - idleMb) / cores;
}
