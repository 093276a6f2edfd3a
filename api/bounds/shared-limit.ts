/** Lets all keys share one concurrency limit: the waiting key with the fewest running jobs goes next. */
import { createSharedRoom } from "#runner/shared-room.ts";

export interface SharedLimit {
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
}

export function createSharedLimit(maxRunning: number, kept: number): SharedLimit {
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
