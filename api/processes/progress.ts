/**
 * Stores partial results, so that they survive the server. Parts are append-only, written for all runs in one
 * statement, and only for runs with new data. Storing the ending deletes them.
 */
import type { Db } from "#api/db/pool.ts";
import type { ModuleLogger } from "#sdk";
import type { RunRegistry } from "./live/registry.ts";
import type { LiveRun } from "./live/run.ts";
import type { ProgressPart, RunProgress } from "./model/records.ts";
import { addProgress } from "./store/progress.ts";

/** Interval between parts. Results are stored at most two intervals late; shorter runs are skipped. */
export const PROGRESS_INTERVAL_MS = 1000;
/** Maximum bytes per statement. A single part may be larger. */
const MAX_STATEMENT_BYTES = 4 * 1024 * 1024;

const NOTHING = {
  parts: 0,
  stdout: 0,
  stderr: 0,
  outputs: 0,
  calls: 0,
  ended: 0,
  writing: Promise.resolve(),
};

interface Due {
  live: LiveRun;
  part: ProgressPart;
  bytes: number;
  after: Omit<RunProgress, "writing">;
}

/**
 * Stores new data of runs older than `minAgeMs`. Never rejects; data that could not be stored becomes part of the
 * next attempt.
 */
export async function storeProgress(
  db: Db,
  registry: RunRegistry,
  log: ModuleLogger,
  minAgeMs = PROGRESS_INTERVAL_MS,
): Promise<void> {
  const begunBeforeMs = performance.now() - minAgeMs;
  const runs = registry.all().filter((live) => live.begunMs <= begunBeforeMs);
  for (let batch = takeBatch(runs); batch.length > 0; batch = takeBatch(runs)) {
    const writing = addProgress(
      db,
      batch.map(({ part }) => part),
    ).then(
      (ids) => {
        for (const { live, after } of batch) {
          if (live.progress !== null && ids.includes(live.id)) Object.assign(live.progress, after);
        }
      },
      (error) => log.debug({ err: error }, "what runs have left so far could not be stored yet"),
    );
    // An ending that arrives meanwhile waits, and then also removes these parts.
    for (const { live } of batch) live.progress = { ...NOTHING, ...live.progress, writing };
    await writing;
  }
}

/** Returns the next parts that fit into one statement. Removes their runs, and runs without new data, from `runs`. */
function takeBatch(runs: LiveRun[]): Due[] {
  const batch: Due[] = [];
  let bytes = 0;
  for (let live = runs.shift(); live !== undefined; live = runs.shift()) {
    const due = live.isOver ? null : findNew(live);
    if (due === null) continue;
    batch.push(due);
    bytes += due.bytes;
    if (bytes >= MAX_STATEMENT_BYTES) break;
  }
  return batch;
}

function findNew(live: LiveRun): Due | null {
  const { id, claim, progress, results } = live;
  const before = progress ?? NOTHING;
  const { stdout, stderr, levels, truncated, outputs } = results.read();
  const { all, ended } = live.calls;
  const after = {
    parts: before.parts + 1,
    stdout: stdout.length,
    stderr: stderr.length,
    outputs,
    calls: all.length,
    ended: ended.length,
  };
  const isNew = (["stdout", "stderr", "outputs", "calls", "ended"] as const).some(
    (name) => after[name] !== before[name],
  );
  if (!isNew) return null;
  const part: ProgressPart = {
    id,
    claim,
    part: before.parts,
    stdout: stdout.subarray(before.stdout),
    stderr: stderr.subarray(before.stderr),
    levels,
    truncated,
    output: results.membersSince(before.outputs),
    outputs,
    calls: [...new Set([...all.slice(before.calls), ...ended.slice(before.ended)])],
    usage: live.usage,
    packages: results.packages,
    warnings: live.warnings,
  };
  const bytes =
    part.stdout.length + part.stderr.length + part.output.reduce((sum, { member }) => sum + member.length, 0);
  return { live, part, bytes, after };
}
