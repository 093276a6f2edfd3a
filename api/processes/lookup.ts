/** What the operations on processes share: the parts they work with, reading one process, waiting for it, refusing it. */
import type { Db } from "#api/db/pool.ts";
import { AppError } from "#api/errors.ts";
import type { Environments } from "#api/modules/environments.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { LimitMaxima } from "./limits.ts";
import type { ProcessFeed } from "./live/feed.ts";
import type { ApprovalEvent } from "./live/run-approvals.ts";
import { type WaitOptions, waitUntilIdle } from "./live/waits.ts";
import type { RunRegistry } from "./registry.ts";
import { type ProcessView, viewLiveRun, viewStored } from "./render.ts";
import type { ProcessState } from "./states.ts";
import { readProcess } from "./store-reads.ts";

const SHUTDOWN_RETRY_AFTER_SECONDS = 5;

export interface ProcessesContext {
  db: Db;
  environments: Environments;
  registry: RunRegistry;
  feed: ProcessFeed;
  dispatcher: Dispatcher;
  maxima: LimitMaxima;
  /** What the last run of a process has asked people, in the order in which it happened. */
  readApprovals(id: number): Promise<readonly ApprovalEvent[]>;
}

/** From memory while it runs, else from the database; null when there is none. */
export async function readView(context: ProcessesContext, id: number): Promise<ProcessView | null> {
  const live = context.registry.get(id);
  if (live) return viewLiveRun(live);
  const stored = await readProcess(context.db, id);
  return stored && viewStored(stored);
}

export function waitOptions(context: ProcessesContext, id: number, signal: AbortSignal): WaitOptions {
  const { registry, feed } = context;
  return { registry, feed, id, read: () => readView(context, id), signals: [signal, feed.closed] };
}

/** Waits for the end of a run, or of the client's patience, or of the server. Throws shutting_down, not_found. */
export async function waitForEnd(
  context: ProcessesContext,
  id: number,
  signal: AbortSignal,
): Promise<ProcessView> {
  const view = await waitUntilIdle(waitOptions(context, id, signal));
  if (view === "aborted") {
    throw new AppError(
      "shutting_down",
      `The server is shutting down. Process ${id} is kept: read it later.`,
      { retryAfterSeconds: SHUTDOWN_RETRY_AFTER_SECONDS },
    );
  }
  return view ?? refuseUnknown(id);
}

export function refuseUnknown(id: number): never {
  throw new AppError("not_found", `There is no process ${id}.`);
}

export function requireIdle(id: number, state: ProcessState): void {
  if (state === "idle") return;
  throw new AppError(
    "process_not_idle",
    `Process ${id} is ${state}; this needs it to be idle. Wait for its end, or kill it.`,
  );
}
