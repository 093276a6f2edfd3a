/** What both queues have in common: a process that is stored as queued, and how its run ends. */
import type { Db } from "#api/db/pool.ts";
import { finishRun, insertProcess } from "#api/processes/store/changes.ts";

export async function storeQueued(db: Db, n: number): Promise<number> {
  const process = {
    code: `return ${n}`,
    timeoutMs: 30_000,
    memoryMb: null,
    cpuMs: null,
    creator: { kind: "bootstrap", keyId: null },
  } as const;
  const outcome = await insertProcess(db, process, "queued", null);
  if (outcome.kind !== "stored") throw new Error(`not stored: ${outcome.kind}`);
  return outcome.row.id;
}

export async function finish(db: Db, id: number, claim: string): Promise<void> {
  await finishRun(db, {
    id,
    claim,
    exitState: "success",
    reason: "ok",
    error: null,
    memoryMb: 128,
    usage: { queuedMs: 1, startMs: 12, wallMs: 250, cpuMs: 40, peakMemoryBytes: 41_943_040, toolCalls: 0 },
    stdout: Buffer.alloc(0),
    stderr: Buffer.alloc(0),
    levels: null,
    truncated: { stdout: false, stderr: false },
    output: "{}",
    outputs: 0,
    result: "1",
    calls: [],
    artifacts: [],
    packages: [],
    warnings: [],
  });
}
