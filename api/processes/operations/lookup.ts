/** What the operations on processes share: the parts they work with, reading one process, waiting for it, refusing it. */

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

/** Of what a client may ask for. Null: no limit. */
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
  /** Of inputs. */
  checks: Pick<StrictChecks, "check">;
  files: ProcessFiles;
  /** W3C `traceparent` of the request that is being served; null: it is not traced. */
  traceParent(): string | null;
  /** What the last run of a process has asked people, in the order in which it happened. */
  readApprovals(id: number): Promise<readonly ApprovalEvent[]>;
  /** Places in the queue of those that are queued, by process id. */
  findPlaces(ids: readonly number[]): Promise<Map<number, QueuePlace>>;
  /** Admits a run and has it stored: see admission/. */
  submit<T extends { stored: StoredRun | null }>(
    key: string,
    store: (placement: Placement | null) => Promise<T>,
  ): Promise<T>;
  /** A queued process was ended in the database. */
  forgetQueued(id: number): void;
  /** Brings runs and claims in line with the database. */
  reconcile(): Promise<void>;
  /** Waits for the end of a run: while other servers bring it about, this one stays for the answer. */
  stayFor<T>(end: Promise<T>): Promise<T>;
}

/** Whose processes are asked about: the caller's own, and with the scope `processes:all` those of every key. */
export type Viewer = Pick<Caller, "id" | "scopes">;

export function seesAll({ scopes }: Viewer): boolean {
  return scopes.has("processes:all");
}

/** Throws not_found, also for a process of another key that the viewer may not see: it does not exist for it. */
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

/** Longest wait without a look at the database: alone on it, and where others may change it and their notice may be lost. */
const MAX_SLEEP_ALONE_MS = 60_000;
const MAX_SLEEP_AMONG_OTHERS_MS = 1000;
/** One question to another server: it may be frozen, and the database knows by then. */
const MAX_REMOTE_WAIT_MS = 3000;

/** From memory while it runs, here or elsewhere, else from the database; null when there is none. */
export async function readView(context: ProcessesContext, id: number): Promise<ProcessView | null> {
  const view = await readHere(context, id);
  if (view === null) return null;
  const there = await readElsewhere(context, view, { until: "settled", maxMs: 0 }, NEVER);
  return there ?? addPlace(context, view);
}

/** From memory while it runs here, else from the database. Its place in the queue is not looked for. */
async function readHere({ registry, db }: ProcessesContext, id: number): Promise<ProcessView | null> {
  const live = registry.get(id);
  if (live) return viewLiveRun(live);
  const stored = await readProcess(db, id);
  return stored === null ? null : viewStored(stored);
}

/** For a view that is shown: the queue is ranked for it, which a mere wait has no use for. */
export async function addPlace({ findPlaces }: ProcessesContext, view: ProcessView): Promise<ProcessView> {
  const { id, state } = view.row;
  if (state !== "queued") return view;
  return { ...view, queue: (await findPlaces([id])).get(id) };
}

/** The server that holds a run, when it is another one. */
export function findOwner({ peers }: ProcessesContext, row: ProcessRow): string | null {
  const isHeld = (HELD_STATES as readonly ProcessState[]).includes(row.state);
  return isHeld && row.replica !== peers.id ? row.replica : null;
}

/** Null: no other server holds it, or it cannot be asked; what is stored has to do then. */
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

/** Resolves when a run that another server holds is paused no more, or still asks a person; after a second at most. */
export async function movedElsewhere(context: ProcessesContext, id: number): Promise<void> {
  if (context.peers.others === 0) return;
  for (let looks = 0; looks < MAX_MOVE_LOOKS; looks += 1) {
    const row = await readProcessRow(context.db, id);
    if (row?.state !== "paused" || row.approvals.length > 0 || findOwner(context, row) === null) return;
    await sleep(MOVE_LOOK_MS);
  }
}

/**
 * Waits for the end of a run, or of the client's patience, or of the server. `isQueued`: it was stored as queued by this
 * request, and need not be read to know that. Throws shutting_down, not_found.
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

/** Longest sleep over a run of this server: it tells of every change. */
const MAX_SLEEP_MS = 60_000;

export interface WaitOptions {
  registry: RunRegistry;
  feed: ProcessFeed;
  id: number;
  /** The process as stored; null when it is gone. */
  read: () => Promise<ProcessView | null>;
  /** Waits where the run is, if another server holds it. Null: none does, or it cannot be asked. */
  elsewhere: (view: ProcessView, until: WaitUntil, maxMs: number) => Promise<ProcessView | null>;
  /** Longest sleep without looking again, in case a notice is lost. */
  maxSleepMs: number;
  /** Ends the wait: the client has gone, or the server stops. */
  signals: readonly AbortSignal[];
}

/**
 * Resolves with the process when it is idle, with null when it is gone, with `aborted` when a signal was first.
 * `isQueued`: it is queued now, as far as the caller knows: it is read after the first change.
 */
export async function waitUntilIdle(
  options: WaitOptions,
  isQueued = false,
): Promise<ProcessView | null | "aborted"> {
  const { registry, feed, id, read, signals, maxSleepMs } = options;
  using waiter = new ChangeWaiter(feed, id, "state");
  let live: LiveRun | undefined;
  for (let isFirst = true; ; isFirst = false) {
    // A run that its child has left is repeated by another.
    if (live === undefined || live.phase === "detached") live = registry.get(id);
    if (!live && !(isFirst && isQueued)) {
      const view = await read();
      if (!view || view.row.state === "idle") return view;
      // Claimed while it was being read: the run is in memory now.
      live = registry.get(id);
      const there = live === undefined ? await options.elsewhere(view, "idle", maxSleepMs) : null;
      if (there?.row.state === "idle") return there;
      // It was waited for there already.
      if (there !== null && !signals.some(({ aborted }) => aborted)) continue;
    }
    if (live?.phase === "stored") return viewLiveRun(live);
    if ((await waiter.next(live === undefined ? maxSleepMs : MAX_SLEEP_MS, signals)) === "aborted")
      return "aborted";
  }
}

/** Resolves when the process is idle or paused, or after `maxMs`, or when a signal aborts; with the state then. */
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
