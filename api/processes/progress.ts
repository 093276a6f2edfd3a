/**
 * Stores what runs have left so far, so that it outlives their server: parts that are only added, for all runs in one
 * statement, and only of runs that something was left of since the last part. Their ending removes the parts.
 */
import type { Db } from "#api/db/pool.ts";
import type { ModuleLogger } from "#sdk";
import type { RunRegistry } from "./live/registry.ts";
import type { LiveRun } from "./live/run.ts";
import type { ProgressPart, RunProgress } from "./model/records.ts";
import { addProgress } from "./store/progress.ts";

/** So that something is stored within twice as long. Shorter runs are never looked at. */
export const PROGRESS_INTERVAL_MS = 1000;
/** Of one statement; a part may be larger. */
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

/** Stores what is new of runs that are older than `minAgeMs`. Never rejects: what could not be stored is part of the next. */
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
    // An ending that comes meanwhile waits, and removes these parts too.
    for (const { live } of batch) live.progress = { ...NOTHING, ...live.progress, writing };
    await writing;
  }
}

/** The next parts that fit into one statement. Takes their runs, and those of which nothing is new, from `runs`. */
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
