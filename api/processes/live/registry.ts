/**
 * The runs in memory, by process id, and the listeners to changes of a process: long-polls, blocking requests and event
 * streams. A notification carries only the id; the listener reads what it needs.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { LiveRun } from "./run.ts";

export class RunRegistry {
  readonly #runs = new Map<number, LiveRun>();
  /** Ids whose last run ended without the environment's confirmation: late reports may still name them. */
  readonly #unconfirmed = new Set<number>();
  /** The run that an environment executes: set in everything that `execute` does or starts, even after its end. */
  readonly executing = new AsyncLocalStorage<Pick<LiveRun, "id" | "rights">>();

  /** Includes detached runs whose child has not exited yet. */
  get size(): number {
    return this.#runs.size;
  }

  /** Runs that count for admission: those that are not paused. */
  get active(): number {
    let active = 0;
    for (const live of this.#runs.values()) if (live.state !== "paused") active += 1;
    return active;
  }

  /** Excludes detached runs: the database shows them. */
  get(id: number): LiveRun | undefined {
    const live = this.#runs.get(id);
    return live?.phase === "detached" ? undefined : live;
  }

  hasOlderThan(ms: number): boolean {
    const beforeMs = performance.now() - ms;
    for (const { begunMs } of this.#runs.values()) if (begunMs <= beforeMs) return true;
    return false;
  }

  /** Includes detached runs. */
  held(id: number): LiveRun | undefined {
    return this.#runs.get(id);
  }

  all(): LiveRun[] {
    return [...this.#runs.values()].filter(({ phase }) => phase !== "detached");
  }

  add(live: LiveRun): void {
    this.#runs.set(live.id, live);
  }

  remove(live: LiveRun): void {
    if (this.#runs.get(live.id) === live) this.#runs.delete(live.id);
  }

  /** Environments name runs by process id only, so the id must not run again until the old run has ended there. */
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
  /** Listeners to the states of every process. */
  readonly #listenersOfAll = new Set<Listener>();
  readonly #closed = new AbortController();

  /** Aborts when the server stops: all waits end. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Number of listeners, over all processes. */
  get size(): number {
    let size = this.#listenersOfAll.size;
    for (const listeners of this.#listeners.values()) size += listeners.size;
    return size;
  }

  /** With id null: to the states of every process, without output, which comes too often for a list. */
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

/** Waits for changes, one after another: a change between two waits is not lost, and many count as one. */
export class ChangeWaiter implements Disposable {
  readonly #subscription: Disposable;
  #changed = false;
  #wake: ((reason: WakeReason) => void) | null = null;

  /** With id null: every process. `only: "state"` ignores output. */
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
