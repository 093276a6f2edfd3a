import type { ModuleLogger } from "#sdk";
import type { LiveRun } from "../live/run.ts";
import type { PauseStore, RunName } from "./transactions.ts";

/** The part of a live run that its pauses use. */
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
  onPaused(): void;
  log: ModuleLogger;
}
