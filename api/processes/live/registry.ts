/**
 * Runs in memory by process id, and the listeners for process changes: long-polls, blocking requests and event
 * streams. A notification carries only the id; the listener reads what it needs.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { LiveRun } from "./run.ts";

export class RunRegistry {
  readonly #runs = new Map<number, LiveRun>();
  /** Ids whose last run ended without confirmation by the environment. Late reports may still name them. */
  readonly #unconfirmed = new Set<number>();
  /**
   * The run that an environment executes. Available in everything `execute` does or starts, even after the run's end.
   */
  readonly executing = new AsyncLocalStorage<Pick<LiveRun, "id" | "rights">>();

  /** Includes detached runs whose child has not exited yet. */
  get size(): number {
    return this.#runs.size;
  }

  /** Number of runs that count for admission: those that are not paused. */
  get active(): number {
    let active = 0;
    for (const live of this.#runs.values()) if (live.state !== "paused") active += 1;
    return active;
  }

  /** Excludes detached runs, which the database shows. */
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

  /**
   * Environments identify runs by process id only, so the id must not run again until its old run has ended there.
   */
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
  readonly #listenersOfAll = new Set<Listener>();
  readonly #closed = new AbortController();

  /** Aborts when the server stops, which ends all waits. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  get size(): number {
    let size = this.#listenersOfAll.size;
    for (const listeners of this.#listeners.values()) size += listeners.size;
    return size;
  }

  /**
   * Listens to one process or, with id null, to the states of all processes. The latter excludes output, which
   * changes too often.
   */
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

/** Waits for successive changes. A change between two waits is not lost; several changes count as one. */
export class ChangeWaiter implements Disposable {
  readonly #subscription: Disposable;
  #changed = false;
  #wake: ((reason: WakeReason) => void) | null = null;

  /** With id null, waits for any process. `only: "state"` ignores output. */
  constructor(feed: ProcessFeed, id: number | null, only?: "state") {
    this.#subscription = feed.listen(id, (change) => {
      if (only !== undefined && change !== only) return;
      this.#changed = true;
      this.#wake?.("changed");
    });
  }

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
