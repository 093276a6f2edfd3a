/** Runs that wait for a child, first come, first served. */
import type { Child } from "./spawn.ts";

export interface Waiter extends PromiseWithResolvers<Child | null> {
  /** Only failures of starts with a higher number count against it. */
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

  /** The waiter gets null. */
  leave(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    waiter.resolve(null);
  }

  /** Hands a child to the first in line. Returns false if nothing waits. */
  hand(child: Child): boolean {
    const [waiter] = this.#waiters;
    if (waiter === undefined) return false;
    this.#waiters.delete(waiter);
    waiter.resolve(child);
    return true;
  }

  /** Start `number` failed: rejects the waiters that have no try left. */
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
