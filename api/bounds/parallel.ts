/** Work that is heavy in memory or connections, a few at a time. */

export interface Gate {
  /** Runs `work` as soon as fewer than the gate's number are at it. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export interface GateOptions {
  maxRunning: number;
  /** Without one any number may wait. */
  maxWaiting?: number;
  /** What the one too many is told. */
  refuse?: () => Error;
}

export function createGate({ maxRunning, maxWaiting = Infinity, refuse }: GateOptions): Gate {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async run(work) {
      if (running < maxRunning) running += 1;
      else {
        if (waiting.length >= maxWaiting) throw refuse?.() ?? new Error("Too much is waiting already.");
        // A job that ends hands its place over, so the number running does not change.
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
