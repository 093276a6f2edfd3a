/**
 * Slots of an environment: limits how many runs are in progress at once and queues the others. First come, first
 * served.
 */

const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Slot {
  /** Frees the slot for the next run in the queue. Idempotent. */
  release(): void;
  /** Takes a released slot again at once, even if that exceeds the limit. Idempotent. */
  takeBack(): void;
}

export interface SlotPool {
  readonly size: number;
  /**
   * Waits for a slot, at most `ttlMs`; null is no limit. Resolves with `expired` if none became free in time, and
   * with `aborted` if the signal aborted first. Never rejects.
   */
  acquire(ttlMs: number | null, signal: AbortSignal): Promise<Slot | "expired" | "aborted">;
}

export function createSlotPool(size: number): SlotPool {
  const line = new Set<() => void>();
  let busy = 0;

  function occupy(): Slot {
    busy++;
    let isHeld = true;
    return {
      release() {
        if (!isHeld) return;
        isHeld = false;
        busy--;
        const [enter] = line;
        if (busy < size) enter?.();
      },
      takeBack() {
        if (!isHeld) busy++;
        isHeld = true;
      },
    };
  }

  return {
    size,
    async acquire(ttlMs, signal) {
      if (signal.aborted) return "aborted";
      if (busy < size) return occupy();
      const { promise, resolve } = Promise.withResolvers<Slot | "expired" | "aborted">();
      const enter = () => {
        line.delete(enter);
        resolve(occupy());
      };
      const leave = (why: "expired" | "aborted") => {
        if (line.delete(enter)) resolve(why);
      };
      const onAbort = () => leave("aborted");
      line.add(enter);
      signal.addEventListener("abort", onAbort, { once: true });
      const timer = ttlMs === null ? undefined : setTimeout(leave, Math.min(ttlMs, MAX_TIMER_MS), "expired");
      return promise.finally(() => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
      });
    },
  };
}
