/** How many scripts run at once, and the line behind them, in the order of submission. */

export interface Slot extends Disposable {
  /** False: the signal aborted before there was room. */
  isHeld: boolean;
}

export function createSlots(max: number) {
  let busy = 0;
  const waiting: (() => void)[] = [];

  function release(): void {
    const next = waiting.shift();
    if (next === undefined) busy -= 1;
    else next();
  }

  function hold(): Slot {
    let isHeld = true;
    return {
      isHeld,
      [Symbol.dispose]() {
        if (isHeld) release();
        isHeld = false;
      },
    };
  }

  return {
    get busy() {
      return busy;
    },
    get isFull() {
      return busy >= max;
    },
    acquire(signal: AbortSignal): Promise<Slot> {
      const none: Slot = { isHeld: false, [Symbol.dispose]() {} };
      if (signal.aborted) return Promise.resolve(none);
      if (busy < max) {
        busy += 1;
        return Promise.resolve(hold());
      }
      return new Promise((resolve) => {
        const take = () => {
          signal.removeEventListener("abort", giveUp);
          resolve(hold());
        };
        const giveUp = () => {
          waiting.splice(waiting.indexOf(take), 1);
          resolve(none);
        };
        waiting.push(take);
        signal.addEventListener("abort", giveUp, { once: true });
      });
    },
  };
}
