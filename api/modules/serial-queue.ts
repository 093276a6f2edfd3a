/** One change at a time, in the order in which they were asked for, with a bound on how many may wait. */

export interface SerialQueue {
  /** Runs `work` after everything before it. Throws what `refuse` makes when too much is waiting already. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export function createSerialQueue(maxWaiting: number, refuse: () => Error): SerialQueue {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    async run(work) {
      if (waiting >= maxWaiting) throw refuse();
      waiting += 1;
      const turn = last.then(work);
      last = turn.catch(() => {});
      try {
        return await turn;
      } finally {
        waiting -= 1;
      }
    },
  };
}
