/** Reaps children that libuv did not start and so does not watch. */

import type { Kernel } from "../kernel/syscalls.ts";
import { type ChildExit, findEnded, reap } from "./native-spawn.ts";

/** SIGCHLD reports the end of a child; if one is missed, this poll detects it. */
const SLOW_POLL_MS = 500;
const ORPHANS_MS = 30_000;
const ORPHANS_EVERY_MS = 200;

export interface RunningChild {
  readonly exited: Promise<ChildExit>;
  kill(): void;
}

export interface RunningChildren {
  watch(pid: number): RunningChild;
  /**
   * Reaps unwatched children of a process group: a zygote killed between a fork and its report leaves one, which
   * exits by itself because its pipes close. Continues while the group has children, for at most ORPHANS_MS.
   */
  reapOrphans(group: number): void;
  killAll(): void;
  allReaped(): Promise<void>;
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
      // Like a libuv child, it keeps the event loop alive until it is reaped.
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
        // The child was reaped elsewhere; the next check reports it.
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
