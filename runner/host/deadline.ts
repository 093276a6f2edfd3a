const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Deadline extends Disposable {
  /** Stops the clock until `resume` was called as often as `pause`. */
  pause(): void;
  resume(): void;
}

/** Starts a clock of `limitMs` of running time; null is no limit. Calls `ring` at most once. */
export function startDeadline(limitMs: number | null, ring: () => void): Deadline {
  let leftMs = limitMs ?? Number.POSITIVE_INFINITY;
  let runningSince: number | null = null;
  let pauses = 0;
  let timer: NodeJS.Timeout | undefined;
  let isOver = limitMs === null;

  function run(): void {
    if (isOver) return;
    runningSince = performance.now();
    timer = setTimeout(check, Math.min(Math.ceil(leftMs), MAX_TIMER_MS));
  }

  function stop(): void {
    clearTimeout(timer);
    if (runningSince !== null) leftMs -= performance.now() - runningSince;
    runningSince = null;
  }

  function check(): void {
    stop();
    if (leftMs > 0) {
      run();
      return;
    }
    isOver = true;
    ring();
  }

  run();
  return {
    pause() {
      if (pauses++ === 0) stop();
    },
    resume() {
      if (pauses === 0) throw new Error("a deadline that is not paused cannot be resumed");
      if (--pauses === 0) run();
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      isOver = true;
    },
  };
}

/** A replay may take twice as long as the original run plus this margin. */
const REPLAY_MARGIN_MS = 10_000;

/** Starts the clock of a run. A replay of `replayedMs` does not use the run's own time but has its own limit. */
export function startRunClock(timeoutMs: number | null, replayedMs: number | null, ring: () => void) {
  const usedMs = replayedMs ?? 0;
  const clock = startDeadline(timeoutMs === null ? null : Math.max(1, timeoutMs - usedMs), ring);
  let replay: Deadline | null = null;
  if (replayedMs !== null) {
    clock.pause();
    replay = startDeadline(replayedMs * 2 + REPLAY_MARGIN_MS, ring);
  }
  /** When the script began or, in a replay, caught up. */
  let ownSince = performance.now();
  let pausedMs = 0;
  let pausedAt: number | null = null;
  return {
    catchUp() {
      replay?.[Symbol.dispose]();
      ownSince = performance.now();
      clock.resume();
    },
    pause(): number {
      pausedAt = performance.now();
      clock.pause();
      return usedMs + pausedAt - ownSince - pausedMs;
    },
    /** Resumes the clock. Returns false if the run is not paused. */
    resume(): boolean {
      if (pausedAt === null) return false;
      pausedMs += performance.now() - pausedAt;
      pausedAt = null;
      clock.resume();
      return true;
    },
    [Symbol.dispose]() {
      clock[Symbol.dispose]();
      replay?.[Symbol.dispose]();
    },
  };
}
