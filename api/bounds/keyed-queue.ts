/** One change at a time per key, in the order in which they were asked for; keys do not wait for each other. */
import { createSerialQueue, type SerialQueue, type TurnOptions } from "./serial-queue.ts";

export interface KeyedQueue {
  /** Runs `work` after everything before it under the same key. Throws what `refuse` makes when too much waits there. */
  run<T>(key: string, work: () => Promise<T>, options?: TurnOptions): Promise<T>;
}

export function createKeyedQueue(maxWaitingPerKey: number, refuse: (key: string) => Error): KeyedQueue {
  const queues = new Map<string, { queue: SerialQueue; users: number }>();
  return {
    async run(key, work, options) {
      let entry = queues.get(key);
      if (entry === undefined) {
        entry = { queue: createSerialQueue(maxWaitingPerKey, () => refuse(key)), users: 0 };
        queues.set(key, entry);
      }
      entry.users += 1;
      try {
        return await entry.queue.run(work, options);
      } finally {
        entry.users -= 1;
        if (entry.users === 0) queues.delete(key);
      }
    },
  };
}
