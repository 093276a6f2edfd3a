import type { ModuleLogger } from "#sdk";
import type { LiveRun } from "../live/run.ts";
import type { PauseStore, RunName } from "./transactions.ts";

/** A live run, as its pauses move it. */
export type PausableRun = Pick<
  LiveRun,
  "calls" | "approvals" | "usage" | "results" | "snapshot" | "pause" | "resume" | "detach" | "decide"
> & { execution: Pick<LiveRun["execution"], "canPause" | "pause" | "resume"> };

export interface PauseControllerOptions {
  name: RunName;
  run: PausableRun;
  store: PauseStore;
  holdMs: number;
  maxApprovals: number;
  /** Called when the run has paused. */
  onPaused(): void;
  log: ModuleLogger;
}
