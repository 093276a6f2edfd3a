/**
 * The timers of a run, as the realm asks its embedder for them: the process's own, by id. In a slot all are cleared when the
 * run ends, so that none fires in a later run.
 */
// Kept from before the lockdown, which takes the globals away.
const { setTimeout, setImmediate, clearTimeout, clearImmediate } = globalThis;
// Not the global `performance`: naming it loads modules of Node, which costs a booted child a quarter of its start.
const { hrtime } = process;

/** More than the realm lets a script arm: only a realm that was taken over gets there. */
const MAX_TIMERS = 20_000;

/** The process's own timers, all cleared when the run ends: none fires in a later run. */
export interface Timers {
  /** Arms timer `id` once; 0 ms means the next turn of the event loop. False when too many are armed. */
  arm(id: number, ms: number): boolean;
  clear(id: number): void;
  clearAll(): void;
  /** Armed and not fired yet. */
  readonly armed: number;
  /** Milliseconds until the next one is due, 0 if it is; Infinity without any. */
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

/** Since a moment in the past; never goes back. */
function nowMs(): number {
  const [seconds, nanoseconds] = hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
