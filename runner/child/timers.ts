/**
 * Timers of a run, which the realm requests from its embedder by id. In a slot, all are cleared when the run ends, so
 * that none fires in a later run.
 */
// Captured before the lockdown, which removes the globals.
const { setTimeout, setImmediate, clearTimeout, clearImmediate } = globalThis;
// Not the global `performance`: naming it loads Node modules, which costs a booted child a quarter of its start.
const { hrtime } = process;

/** More than the realm lets a script arm, so only a realm that was taken over reaches this limit. */
const MAX_TIMERS = 20_000;

export interface Timers {
  /** Arms timer `id` once; 0 ms means the next turn of the event loop. Returns false if too many are armed. */
  arm(id: number, ms: number): boolean;
  clear(id: number): void;
  clearAll(): void;
  /** Number of timers that are armed and have not fired. */
  readonly armed: number;
  /** Milliseconds until the next timer is due: 0 if it already is, Infinity if there is none. */
  readonly nextInMs: number;
}

export function createTimers(fire: (id: number) => void): Timers {
  const delayed = new Map<number, { timer: NodeJS.Timeout; dueAt: number }>();
  const immediate = new Map<number, NodeJS.Immediate>();

  return {
    arm(id, ms) {
      if (delayed.size + immediate.size >= MAX_TIMERS) return false;
      if (ms === 0) {
        immediate.set(
          id,
          setImmediate(() => {
            immediate.delete(id);
            fire(id);
          }),
        );
      } else {
        const timer = setTimeout(() => {
          delayed.delete(id);
          fire(id);
        }, ms);
        delayed.set(id, { timer, dueAt: nowMs() + ms });
      }
      return true;
    },
    clear(id) {
      clearTimeout(delayed.get(id)?.timer);
      clearImmediate(immediate.get(id));
      delayed.delete(id);
      immediate.delete(id);
    },
    clearAll() {
      for (const { timer } of delayed.values()) clearTimeout(timer);
      for (const timer of immediate.values()) clearImmediate(timer);
      delayed.clear();
      immediate.clear();
    },
    get armed() {
      return delayed.size + immediate.size;
    },
    get nextInMs() {
      if (immediate.size > 0) return 0;
      let next = Number.POSITIVE_INFINITY;
      for (const { dueAt } of delayed.values()) next = Math.min(next, dueAt);
      return Math.max(0, next - nowMs());
    },
  };
}

/** Returns the time since a fixed moment in the past. Never decreases. */
function nowMs(): number {
  const [seconds, nanoseconds] = hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
