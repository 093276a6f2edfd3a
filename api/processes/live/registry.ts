/**
 * The runs in memory, by process id, and who is told when a process changes: long-polls, blocking requests and event
 * streams. What is told are ids only; a listener reads what it needs itself.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { LiveRun } from "./run.ts";

export class RunRegistry {
  readonly #runs = new Map<number, LiveRun>();
  /** Ids whose last run ended without the environment's confirmation: it may still speak for them. */
  readonly #unconfirmed = new Set<number>();
  /** The run that an environment executes: set for everything that `execute` does or starts, also after its end. */
  readonly executing = new AsyncLocalStorage<Pick<LiveRun, "id" | "rights">>();

  /** Those included that their child is about to let go of. */
  get size(): number {
    return this.#runs.size;
  }

  /** Runs that count for admission: those that are not paused. */
  get active(): number {
    let active = 0;
    for (const live of this.#runs.values()) if (live.state !== "paused") active += 1;
    return active;
  }

  /** Not one that its child is about to let go of: what is shown of that is in the database. */
  get(id: number): LiveRun | undefined {
    const live = this.#runs.get(id);
    return live?.isLeft ? undefined : live;
  }

  hasOlderThan(ms: number): boolean {
    const beforeMs = performance.now() - ms;
    for (const { begunMs } of this.#runs.values()) if (begunMs <= beforeMs) return true;
    return false;
  }

  /** In any case. */
  held(id: number): LiveRun | undefined {
    return this.#runs.get(id);
  }

  all(): LiveRun[] {
    return [...this.#runs.values()].filter(({ isLeft }) => !isLeft);
  }

  add(live: LiveRun): void {
    this.#runs.set(live.id, live);
  }

  remove(live: LiveRun): void {
    if (this.#runs.get(live.id) === live) this.#runs.delete(live.id);
  }

  /** An environment names runs by process id only, so the id must not run again until the old run has ended there. */
  holdUntil(id: number, confirmed: Promise<void>): void {
    this.#unconfirmed.add(id);
    void confirmed.then(() => this.#unconfirmed.delete(id));
  }

  isUnconfirmed(id: number): boolean {
    return this.#unconfirmed.has(id);
  }
}

export type ProcessChange = "state" | "data";
type Listener = (change: ProcessChange) => void;

export class ProcessFeed {
  readonly #listeners = new Map<number, Set<Listener>>();
  /** Of the states of every process. */
  readonly #listenersOfAll = new Set<Listener>();
  readonly #closed = new AbortController();

  /** Aborts when the server stops: all waits end. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** How many listeners there are, over all processes. */
  get size(): number {
    let size = this.#listenersOfAll.size;
    for (const listeners of this.#listeners.values()) size += listeners.size;
    return size;
  }

  /** Null: to the states of every process, without output, which comes too often for a list. */
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
