/** Queue of runs that wait for a child. First come, first served. */
import type { Child } from "./spawn.ts";

export interface Waiter extends PromiseWithResolvers<Child | null> {
  /** Only failed starts with a higher number count against this waiter. */
  since: number;
  triesLeft: number;
}

export class WaitingLine {
  readonly waiters: ReadonlySet<Waiter>;
  readonly #waiters = new Set<Waiter>();

  constructor() {
    this.waiters = this.#waiters;
  }

  join(since: number, triesLeft: number): Waiter {
    const waiter = { ...Promise.withResolvers<Child | null>(), since, triesLeft };
    this.#waiters.add(waiter);
    return waiter;
  }

  leave(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    waiter.resolve(null);
  }

  /** Hands a child to the first waiter. Returns false if there is none. */
  hand(child: Child): boolean {
    const [waiter] = this.#waiters;
    if (waiter === undefined) return false;
    this.#waiters.delete(waiter);
    waiter.resolve(child);
    return true;
  }

  /** Records that start `number` failed, and rejects waiters that have no attempt left. */
  fail(number: number, error: Error): void {
    for (const waiter of this.#waiters) {
      if (waiter.since >= number || --waiter.triesLeft > 0) continue;
      this.#waiters.delete(waiter);
      waiter.reject(error);
    }
  }

  close(error: Error): void {
    for (const waiter of this.#waiters) waiter.reject(error);
    this.#waiters.clear();
  }
}
