/** Waiting for a process: until its run has ended (`block`), or until it is idle or paused (`?wait`). */
import { performance } from "node:perf_hooks";
import { ChangeWaiter, type ProcessFeed } from "../live/feed.ts";
import type { RunRegistry } from "../live/registry.ts";
import type { LiveRun } from "../live/run.ts";
import type { WaitUntil } from "../model/peers.ts";
import type { ProcessView } from "../model/records.ts";
import { viewLiveRun } from "./render.ts";

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
  /** Longest sleep without looking again, in case nobody told. */
  maxSleepMs: number;
  /** Ends the wait: the client has gone, or the server stops. */
  signals: readonly AbortSignal[];
}

/** Resolves with the process when it is idle, with null when it is gone, with `aborted` when a signal was first. */
export async function waitUntilIdle(options: WaitOptions): Promise<ProcessView | null | "aborted"> {
  const { registry, feed, id, read, signals, maxSleepMs } = options;
  using waiter = new ChangeWaiter(feed, id, "state");
  let live: LiveRun | undefined;
  for (;;) {
    // A run that its child has left is repeated by another.
    if (live === undefined || live.isLeft) live = registry.get(id);
    if (!live) {
      const view = await read();
      if (!view || view.row.state === "idle") return view;
      // Claimed while it was being read: the run is in memory now.
      live = registry.get(id);
      const there = live === undefined ? await options.elsewhere(view, "idle", maxSleepMs) : null;
      if (there?.row.state === "idle") return there;
      // It was waited for there already.
      if (there !== null && !signals.some(({ aborted }) => aborted)) continue;
    }
    if (live?.state === "idle") return live.isStored ? viewLiveRun(live) : read();
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
