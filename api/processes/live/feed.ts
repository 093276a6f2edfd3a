/**
 * Who wants to know when a process changes: long-polls, blocking requests and event streams. Carries ids only; a
 * listener reads what it needs itself.
 */
export type ProcessChange = "state" | "data";
type Listener = (change: ProcessChange) => void;

export class ProcessFeed {
  readonly #listeners = new Map<number, Set<Listener>>();
  /** Of the states of every process. */
  readonly #listenersOfAll = new Set<Listener>();
  readonly #closed = new AbortController();

  /** Aborts when the server stops: nobody is to wait any longer. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** How many listeners there are, over all processes. */
  get size(): number {
    let size = this.#listenersOfAll.size;
    for (const listeners of this.#listeners.values()) size += listeners.size;
    return size;
  }

  /** Null: to the states of every process; their output comes too often for whoever follows a list. */
  listen(id: number | null, listener: Listener): Disposable {
    if (id === null) {
      this.#listenersOfAll.add(listener);
      return { [Symbol.dispose]: () => this.#listenersOfAll.delete(listener) };
    }
    let listeners = this.#listeners.get(id);
    if (!listeners) {
      listeners = new Set();
      this.#listeners.set(id, listeners);
    }
    const own = listeners;
    own.add(listener);
    return {
      [Symbol.dispose]: () => {
        own.delete(listener);
        if (own.size === 0 && this.#listeners.get(id) === own) this.#listeners.delete(id);
      },
    };
  }

  notify(id: number, change: ProcessChange): void {
    if (change === "state") for (const listener of [...this.#listenersOfAll]) listener(change);
    const listeners = this.#listeners.get(id);
    if (!listeners) return;
    for (const listener of [...listeners]) listener(change);
  }

  close(): void {
    this.#closed.abort();
  }
}

export type WakeReason = "changed" | "time" | "aborted";

/** One listener's waits: a change between two waits is not lost, many changes are one. */
export class ChangeWaiter implements Disposable {
  readonly #subscription: Disposable;
  #changed = false;
  #wake: ((reason: WakeReason) => void) | null = null;

  /** `id` null: of every process. `only: 'state'` sleeps through output. */
  constructor(feed: ProcessFeed, id: number | null, only?: "state") {
    this.#subscription = feed.listen(id, (change) => {
      if (only !== undefined && change !== only) return;
      this.#changed = true;
      this.#wake?.("changed");
    });
  }

  /** Waits for a change since the last wait, for at most `maxMs`. */
  async next(maxMs: number, signals: readonly AbortSignal[]): Promise<WakeReason> {
    if (signals.some((signal) => signal.aborted)) return "aborted";
    if (!this.#changed) {
      const { promise, resolve } = Promise.withResolvers<WakeReason>();
      this.#wake = resolve;
      const timer = setTimeout(resolve, maxMs, "time");
      const abort = () => resolve("aborted");
      for (const signal of signals) signal.addEventListener("abort", abort, { once: true });
      const reason = await promise;
      this.#wake = null;
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener("abort", abort);
      if (reason !== "changed") return reason;
    }
    this.#changed = false;
    return "changed";
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
    this.#wake?.("aborted");
  }
}
