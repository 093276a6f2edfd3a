/** How many runs go on at once, and the line of those that wait. First come, first served. */

/** A place, given up by disposing it; or why there was none, which needs no disposing but may be. */
export interface Slot extends Disposable {
  /** `expired`: the wait was over; `aborted`: nobody waits any more. */
  readonly refused?: "expired" | "aborted";
}

export interface Slots {
  readonly busy: number;
  /** True if `acquire` would have to wait. */
  readonly isFull: boolean;
  /** Waits for a place, at most `ttlMs` (null: without limit). Never rejects. */
  acquire(ttlMs: number | null, signal: AbortSignal): Promise<Slot>;
  /** A place at once, beyond the count if need be: for a run that had one before. */
  exceed(): Slot;
}

const EXPIRED: Slot = { refused: "expired", [Symbol.dispose]() {} };
const ABORTED: Slot = { refused: "aborted", [Symbol.dispose]() {} };
/** The longest delay a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function createSlots(count: number): Slots {
  const line = new Set<(slot: Slot) => void>();
  let busy = 0;

  function occupy(): Slot {
    busy++;
    let isHeld = true;
    return {
      [Symbol.dispose]() {
        if (!isHeld) return;
        isHeld = false;
        busy--;
        const [next] = line;
        if (busy < count) next?.(occupy());
      },
    };
  }

  return {
    get busy() {
      return busy;
    },
    get isFull() {
      return busy >= count;
    },
    exceed: occupy,
    acquire(ttlMs, signal) {
      if (signal.aborted) return Promise.resolve(ABORTED);
      if (busy < count) return Promise.resolve(occupy());
      return new Promise((resolve) => {
        let timer: NodeJS.Timeout | undefined;
        const leave = (slot: Slot) => {
          line.delete(leave);
          clearTimeout(timer);
          signal.removeEventListener("abort", onAbort);
          resolve(slot);
        };
        const onAbort = () => leave(ABORTED);
        line.add(leave);
        signal.addEventListener("abort", onAbort, { once: true });
        if (ttlMs !== null) timer = setTimeout(() => leave(EXPIRED), Math.min(ttlMs, MAX_TIMER_MS));
      });
    },
  };
}
