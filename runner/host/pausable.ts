/**
 * One execution as it can be paused: what its start needs so that it can be repeated, and the pause itself. The same for
 * every environment; knows no slot and no binding.
 */

import type { ErrorDetail } from "#sdk";
import type { Journal } from "../wire/protocol.ts";
import { type CallLog, createCallLog } from "./call-log.ts";
import { type Checkpoint, makeCheckpoint, readCheckpoint } from "./checkpoint.ts";
import { makeSeeds, type Seeds } from "./run-settings.ts";
import type { RunPause } from "./supervisor.ts";

export interface PausableRun {
  /** For `toStartParams`. */
  readonly repeat: Seeds & { journal?: Journal };
  /** For `superviseRun`. */
  readonly supervised: { log: CallLog; usedMs: number; onStart: (pause: RunPause) => void };
  /** Answers once the script is frozen; null: it cannot be repeated. Rejects when it has not begun, or ended before. */
  pause(): Promise<Checkpoint | null>;
  resume(): void;
}

/** Why an execution cannot be repeated from `checkpoint`; null: it can, or there is none. */
export function findCheckpointFault(checkpoint: unknown): ErrorDetail | null {
  try {
    if (checkpoint !== undefined) readCheckpoint(checkpoint);
    return null;
  } catch (error) {
    return { name: "CheckpointError", message: (error as Error).message, reason: "replay_divergence" };
  }
}

/** `checkpoint`: of the execution that is repeated, if any. Throws when it is none. */
export function createPausable(checkpoint: unknown): PausableRun {
  const before = checkpoint === undefined ? null : readCheckpoint(checkpoint);
  const { seed, randomSeed } = before ?? makeSeeds();
  const log = createCallLog(before?.calls);
  let control: RunPause | null = null;
  return {
    repeat: { seed, randomSeed, ...(before !== null && { journal: before.journal }) },
    supervised: {
      log,
      usedMs: before?.usedMs ?? 0,
      onStart: (pause) => {
        control = pause;
      },
    },
    async pause() {
      if (control === null) throw new Error("The execution has not begun.");
      const { journal, usedMs } = await control.pause();
      const calls = log.calls();
      if (journal === null || calls === null) return null;
      return makeCheckpoint({ seed, randomSeed, calls, journal, usedMs });
    },
    resume: () => control?.resume(),
  };
}
