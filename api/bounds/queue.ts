/** Runs a few jobs at a time, in submission order, and limits how many may wait. */
import pLimit from "p-limit";

export interface QueueOptions {
  maxHeld: number;
  atOnce?: number;
  refuse(): Error;
}

export interface TurnOptions {
  /** Never reject this job. Use it for the host's own work, which is limited elsewhere. */
  always?: boolean;
}

export interface Queue {
  run<T>(work: () => Promise<T>, options?: TurnOptions): Promise<T>;
}

export function createQueue({ maxHeld, atOnce = 1, refuse }: QueueOptions): Queue {
  const limit = pLimit(atOnce);
  return {
    async run(work, { always = false } = {}) {
      if (limit.activeCount + limit.pendingCount >= maxHeld && !always) throw refuse();
      return limit(work);
    },
  };
}

export interface KeyedQueue {
  run<T>(key: string, work: () => Promise<T>, options?: TurnOptions): Promise<T>;
}

/** Runs one job at a time per key; different keys do not wait for each other. */
export function createKeyedQueue(maxHeldPerKey: number, refuse: (key: string) => Error): KeyedQueue {
  const queues = new Map<string, { queue: Queue; users: number }>();
  return {
    async run(key, work, options) {
      let entry = queues.get(key);
      if (entry === undefined) {
        entry = { queue: createQueue({ maxHeld: maxHeldPerKey, refuse: () => refuse(key) }), users: 0 };
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
