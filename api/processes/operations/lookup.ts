import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Environments } from "#api/components/modules/environments.ts";
import type { Db } from "#api/db/pool.ts";
import { AppError } from "#api/errors.ts";
import type { Caller } from "#api/http/auth.ts";
import type { StrictChecks } from "#api/tools/validation/strict-checks.ts";
import type { RunRegistry } from "../live/registry.ts";
import { ChangeWaiter, type ProcessFeed } from "../live/registry.ts";
import type { LiveRun } from "../live/run.ts";
import type { ApprovalEvent } from "../model/calls.ts";
import type { ProcessFiles } from "../model/files.ts";
import type { Peers, WaitUntil } from "../model/peers.ts";
import type { Placement, ProcessRow, ProcessView, QueuePlace, StoredRun } from "../model/records.ts";
import { HELD_STATES, type ProcessState } from "../model/states.ts";
import { readProcess, readProcessRow, readSubmitter } from "../store/reads.ts";
import { viewLiveRun, viewStored } from "./render.ts";

const SHUTDOWN_RETRY_AFTER_SECONDS = 5;

/** Maximum limits a client may request. Null means no limit. */
export interface LimitMaxima {
  maxTimeoutMs: number | null;
  maxCpuMs: number | null;
}

export interface ProcessesContext {
  db: Db;
  environments: Environments;
  registry: RunRegistry;
  feed: ProcessFeed;
  peers: Peers;
  maxima: LimitMaxima;
  checks: Pick<StrictChecks, "check">;
  files: ProcessFiles;
  traceParent(): string | null;
  readApprovals(id: number): Promise<readonly ApprovalEvent[]>;
  findPlaces(ids: readonly number[]): Promise<Map<number, QueuePlace>>;
  submit<T extends { stored: StoredRun | null }>(
    key: string,
    store: (placement: Placement | null) => Promise<T>,
  ): Promise<T>;
  forgetQueued(id: number): void;
  /** Reconciles runs in memory with claims in the database. */
  reconcile(): Promise<void>;
  /** Waits for the end of a run. A stopping server stays up for it while other servers finish the run. */
  stayFor<T>(end: Promise<T>): Promise<T>;
}

/** Whose processes are visible: the viewer's own or, with the scope `processes:all`, those of every key. */
export type Viewer = Pick<Caller, "id" | "scopes">;

export function seesAll({ scopes }: Viewer): boolean {
  return scopes.has("processes:all");
}

/** Throws not_found, also for a process of another key that the viewer may not see. */
export async function requireVisible(
  { db, registry }: ProcessesContext,
  id: number,
  viewer: Viewer,
): Promise<void> {
  if (seesAll(viewer)) return;
  const submitter = registry.get(id)?.row.submittedBy ?? (await readSubmitter(db, id));
  if (submitter === viewer.id) return;
  throw new AppError(
    "not_found",
    `This key has submitted no process ${id}. Those of other keys are for keys with the scope processes:all.`,
  );
}

/**
 * Maximum wait between database reads, for a single server and for several. With several, a notification may be lost.
 */
const MAX_SLEEP_ALONE_MS = 60_000;
const MAX_SLEEP_AMONG_OTHERS_MS = 1000;
/** Maximum wait for one request to another server, which may be frozen. The database has the state by then. */
const MAX_REMOTE_WAIT_MS = 3000;

/**
 * Reads from memory while the process runs on any server, otherwise from the database. Returns null if it does not
 * exist.
 */
export async function readView(context: ProcessesContext, id: number): Promise<ProcessView | null> {
  const view = await readHere(context, id);
  if (view === null) return null;
  const there = await readElsewhere(context, view, { until: "settled", maxMs: 0 }, NEVER);
  return there ?? addPlace(context, view);
}

/**
 * Reads from memory while the process runs on this server, otherwise from the database. Does not look up the queue
 * place.
 */
async function readHere({ registry, db }: ProcessesContext, id: number): Promise<ProcessView | null> {
  const live = registry.get(id);
  if (live) return viewLiveRun(live);
  const stored = await readProcess(db, id);
  return stored === null ? null : viewStored(stored);
}

/** Adds the queue place to a view that is shown. Waits skip this, because it ranks the queue. */
export async function addPlace({ findPlaces }: ProcessesContext, view: ProcessView): Promise<ProcessView> {
  const { id, state } = view.row;
  if (state !== "queued") return view;
  return { ...view, queue: (await findPlaces([id])).get(id) };
}

export function findOwner({ peers }: ProcessesContext, row: ProcessRow): string | null {
  const isHeld = (HELD_STATES as readonly ProcessState[]).includes(row.state);
  return isHeld && row.replica !== peers.id ? row.replica : null;
}

/** Returns null if no other server holds the run or it cannot be reached. Callers then use the stored state. */
async function readElsewhere(
  context: ProcessesContext,
  { row }: ProcessView,
  wait: { until: WaitUntil; maxMs: number },
  signal: AbortSignal,
): Promise<ProcessView | null> {
  const owner = findOwner(context, row);
  if (owner === null) return null;
  const maxMs = Math.min(wait.maxMs, MAX_REMOTE_WAIT_MS);
  return context.peers.remote.readView(owner, row.id, { ...wait, maxMs }, signal).catch(() => null);
}

const NEVER = new AbortController().signal;

export function waitOptions(context: ProcessesContext, id: number, signal: AbortSignal): WaitOptions {
  const { registry, feed, peers } = context;
  const signals = [signal, feed.closed];
  return {
    registry,
    feed,
    id,
    read: () => readHere(context, id),
    elsewhere: (view, until, maxMs) =>
      readElsewhere(context, view, { until, maxMs }, AbortSignal.any(signals)),
    maxSleepMs: peers.others > 0 ? MAX_SLEEP_AMONG_OTHERS_MS : MAX_SLEEP_ALONE_MS,
    signals,
  };
}

const MAX_MOVE_LOOKS = 50;
const MOVE_LOOK_MS = 20;

/**
 * Resolves when a run held by another server is no longer paused or still has pending approvals, or after at most a
 * second.
 */
export async function movedElsewhere(context: ProcessesContext, id: number): Promise<void> {
  if (context.peers.others === 0) return;
  for (let looks = 0; looks < MAX_MOVE_LOOKS; looks += 1) {
    const row = await readProcessRow(context.db, id);
    if (row?.state !== "paused" || row.approvals.length > 0 || findOwner(context, row) === null) return;
    await sleep(MOVE_LOOK_MS);
  }
}

/**
 * Waits until the run ends, the client's wait time is over, or the server stops. `isQueued`: this request stored the
 * process as queued, so it need not be read again. Throws shutting_down or not_found.
 */
export async function waitForEnd(
  context: ProcessesContext,
  id: number,
  signal: AbortSignal,
  isQueued = false,
): Promise<ProcessView> {
  const view = await context.stayFor(waitUntilIdle(waitOptions(context, id, signal), isQueued));
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

/** Maximum sleep for a run of this server, which notifies every change. */
const MAX_SLEEP_MS = 60_000;

export interface WaitOptions {
  registry: RunRegistry;
  feed: ProcessFeed;
  id: number;
  read: () => Promise<ProcessView | null>;
  /** Waits on the other server that holds the run. Returns null if there is none or it cannot be reached. */
  elsewhere: (view: ProcessView, until: WaitUntil, maxMs: number) => Promise<ProcessView | null>;
  /** Maximum sleep before reading again, in case a notification is lost. */
  maxSleepMs: number;
  signals: readonly AbortSignal[];
}

/**
 * Resolves with the process when it is idle, with null when it no longer exists, or with `aborted` if a signal came
 * first. `isQueued`: the caller knows that it is queued, so it is read only after the first change.
 */
export async function waitUntilIdle(
  options: WaitOptions,
  isQueued = false,
): Promise<ProcessView | null | "aborted"> {
  const { registry, feed, id, read, signals, maxSleepMs } = options;
  using waiter = new ChangeWaiter(feed, id, "state");
  let live: LiveRun | undefined;
  for (let isFirst = true; ; isFirst = false) {
    // A detached run is replayed by another child.
    if (live === undefined || live.phase === "detached") live = registry.get(id);
    if (!live && !(isFirst && isQueued)) {
      const view = await read();
      if (!view || view.row.state === "idle") return view;
      // The run was claimed during the read and is in memory now.
      live = registry.get(id);
      const there = live === undefined ? await options.elsewhere(view, "idle", maxSleepMs) : null;
      if (there?.row.state === "idle") return there;
      // The other server has already waited.
      if (there !== null && !signals.some(({ aborted }) => aborted)) continue;
    }
    if (live?.phase === "stored") return viewLiveRun(live);
    if ((await waiter.next(live === undefined ? maxSleepMs : MAX_SLEEP_MS, signals)) === "aborted")
      return "aborted";
  }
}

/** Resolves with the process when it is idle or paused, after `maxMs`, or when a signal aborts. */
export async function waitUntilSettled(options: WaitOptions, maxMs: number): Promise<ProcessView | null> {
  const { registry, feed, id, read, signals, maxSleepMs } = options;
  const deadlineMs = performance.now() + maxMs;
  using waiter = new ChangeWaiter(feed, id, "state");
  for (;;) {
    const live = registry.get(id);
    const view = live ? null : await read();
    const state = live?.state ?? view?.row.state;
    const leftMs = deadlineMs - performance.now();
    const show = () => view ?? (live && live.state !== "idle" ? viewLiveRun(live) : read());
    if (state === undefined || state === "idle" || leftMs <= 0) return show();
    const there = view === null ? null : await options.elsewhere(view, "settled", leftMs);
    const isSettled = (there?.row.state ?? state) === "idle" || (there?.row.state ?? state) === "paused";
    if (isSettled) return there ?? show();
    if (there !== null && !signals.some(({ aborted }) => aborted)) continue;
    const sleepMs = Math.min(deadlineMs - performance.now(), live === undefined ? maxSleepMs : MAX_SLEEP_MS);
    if (sleepMs > 0 && (await waiter.next(sleepMs, signals)) === "aborted") return there ?? show();
  }
}
