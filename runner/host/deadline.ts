/** The time limit of a run: counts only while the run is not paused, and calls back once. */

/** The longest delay a timer takes; longer ones are waited for in steps. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Deadline extends Disposable {
  /** Stops the clock. Pauses count: as many `resume` calls are needed. */
  pause(): void;
  resume(): void;
}

/** Starts a clock of `limitMs` of running time; null: no limit. `ring` is called once at most. */
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
