/** Work that is heavy in memory or connections, a few at a time. */
import { createSharedRoom } from "#runner/shared-room.ts";

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

export interface SharedGate {
  /** Runs `work` as soon as the key's turn has come: of those who wait, the key that has the fewest at it is next. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
}

/** `kept` of the places are for keys that have none. */
export function createSharedGate(maxRunning: number, kept: number): SharedGate {
  const room = createSharedRoom(maxRunning, kept);
  const waiting: { key: string; start(): void }[] = [];
  function startNext(): void {
    let next = waiting[0];
    for (const one of waiting) if (next && room.heldBy(one.key) < room.heldBy(next.key)) next = one;
    if (next === undefined || room.take(next.key, 1) !== null) return;
    waiting.splice(waiting.indexOf(next), 1);
    next.start();
    startNext();
  }
  return {
    async run(key, work) {
      await new Promise<void>((start) => {
        waiting.push({ key, start });
        startNext();
      });
      try {
        return await work();
      } finally {
        room.give(key, 1);
        startNext();
      }
    },
  };
}
