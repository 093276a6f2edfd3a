/** Children that libuv did not start, and so does not watch: seen to their end, and reaped. */

import type { Kernel } from "../kernel/syscalls.ts";
import { type ChildExit, findEnded, reap } from "./native-spawn.ts";

/** SIGCHLD tells that a child has ended; should one be missed, it is found this much later. */
const SLOW_POLL_MS = 500;
const ORPHANS_MS = 30_000;
const ORPHANS_EVERY_MS = 200;

export interface RunningChild {
  /** Never rejects. */
  readonly exited: Promise<ChildExit>;
  /** SIGKILL. Does nothing once it was reaped. */
  kill(): void;
}

export interface RunningChildren {
  watch(pid: number): RunningChild;
  /**
   * Reaps children of a process group that are not watched: a zygote that was killed between a fork and its report leaves one,
   * which ends by itself, as its pipes are closed. For as long as the group has children, and ORPHANS_MS at most.
   */
  reapOrphans(group: number): void;
  killAll(): void;
  /** Resolves when every one has been reaped. */
  allReaped(): Promise<void>;
  /** No further child is watched. */
  stop(): void;
}

export function watchChildren(kernel: Kernel): RunningChildren {
  const running = new Set<RunningChild & { pid: number; reapIfEnded(): void }>();
  const reapEnded = () => {
    for (const child of running) child.reapIfEnded();
  };
  process.on("SIGCHLD", reapEnded);
  const slowPoll = setInterval(reapEnded, SLOW_POLL_MS).unref();
  return {
    watch(pid) {
      const child = watchChild(kernel, pid, () => {
        running.delete(child);
        if (running.size === 0) slowPoll.unref();
      });
      running.add(child);
      // As a child of libuv's own would, it keeps the event loop going until it has been reaped.
      slowPoll.ref();
      return child;
    },
    reapOrphans(group) {
      const until = performance.now() + ORPHANS_MS;
      const look = () => {
        const pid = findEnded(kernel, group);
        if (pid > 0 && ![...running].some((child) => child.pid === pid)) reap(kernel, pid);
        if (pid >= 0 && performance.now() < until) setTimeout(look, ORPHANS_EVERY_MS).unref();
      };
      look();
    },
    killAll() {
      for (const child of running) child.kill();
    },
    async allReaped() {
      await Promise.all([...running].map((child) => child.exited));
    },
    stop() {
      process.off("SIGCHLD", reapEnded);
      clearInterval(slowPoll);
    },
  };
}

function watchChild(kernel: Kernel, pid: number, whenReaped: () => void) {
  const { promise: exited, resolve } = Promise.withResolvers<ChildExit>();
  let reaped = false;
  return {
    pid,
    exited,
    kill() {
      if (reaped) return;
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // Reaped elsewhere: the next check says so.
      }
    },
    reapIfEnded() {
      if (reaped) return;
      const exit = reap(kernel, pid);
      if (!exit) return;
      reaped = true;
      whenReaped();
      resolve(exit);
    },
  };
}
