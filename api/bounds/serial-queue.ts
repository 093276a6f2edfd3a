/** One change at a time, in the order in which they were asked for, with a bound on how many may wait. */

export interface SerialQueue {
  /** Runs `work` after everything before it. Throws what `refuse` makes when too much is waiting already. */
  run<T>(work: () => Promise<T>, options?: TurnOptions): Promise<T>;
}

export interface TurnOptions {
  /** Never refused: for the host's own work, which is bounded elsewhere. */
  always?: boolean;
}

export function createSerialQueue(maxWaiting: number, refuse: () => Error): SerialQueue {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    async run(work, { always = false } = {}) {
      if (waiting >= maxWaiting && !always) throw refuse();
      waiting += 1;
      const turn = last.then(work);
      // Without what came of it: that may be large.
      last = turn.then(
        () => {},
        () => {},
      );
      try {
        return await turn;
      } finally {
        waiting -= 1;
      }
    },
  };
}
