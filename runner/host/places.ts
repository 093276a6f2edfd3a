/** How many runs go on at once, and the line of those that wait. First come, first served. */

/** A place in use. */
export interface Place {
  /** Frees it for the next in line. Idempotent. */
  release(): void;
  /** Takes a released place again at once, beyond the count if need be. Idempotent. */
  takeBack(): void;
}

export interface Places {
  /**
   * Waits for a place, at most `ttlMs` (null: without limit). `expired`: there was none in time; `aborted`: the signal came
   * first. Never rejects.
   */
  acquire(ttlMs: number | null, signal: AbortSignal): Promise<Place | "expired" | "aborted">;
}

/** The longest delay a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function createPlaces(count: number): Places {
  const line = new Set<() => void>();
  let busy = 0;

  function occupy(): Place {
    busy++;
    let isHeld = true;
    return {
      release() {
        if (!isHeld) return;
        isHeld = false;
        busy--;
        const [enter] = line;
        if (busy < count) enter?.();
      },
      takeBack() {
        if (!isHeld) busy++;
        isHeld = true;
      },
    };
  }

  return {
    async acquire(ttlMs, signal) {
      if (signal.aborted) return "aborted";
      if (busy < count) return occupy();
      const { promise, resolve } = Promise.withResolvers<Place | "expired" | "aborted">();
      const enter = () => {
        line.delete(enter);
        resolve(occupy());
      };
      const onAbort = () => leave("aborted");
      const leave = (why: "expired" | "aborted") => {
        if (line.delete(enter)) resolve(why);
      };
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
