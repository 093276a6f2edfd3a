/** Work that runs a few at a time, in the order in which it was asked for, with a bound on how much may wait. */
import pLimit from "p-limit";

export interface QueueOptions {
  /** Running and waiting jobs together. */
  maxHeld: number;
  atOnce?: number;
  refuse(): Error;
}

export interface TurnOptions {
  /** Is never refused. The host's own work is bounded elsewhere. */
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

/** One job at a time for each key; keys do not wait for each other. */
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
