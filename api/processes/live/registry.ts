/** The runs in memory, by process id. Environments reach them through the bindings, readers through the service. */
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
