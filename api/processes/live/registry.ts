/** The runs in memory, by process id. Environments reach them through the bindings, readers through the service. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { RunPauses } from "../pausing/run-pauses.ts";
import type { RunExecution } from "./execution.ts";
import type { LiveRun } from "./run.ts";

interface HeldRun {
  live: LiveRun;
  execution: RunExecution;
  /** Null where nobody can be asked. */
  pauses: RunPauses | null;
}

export class RunRegistry {
  readonly #runs = new Map<number, HeldRun>();
  /** Ids whose last run ended without the environment's confirmation: it may still speak for them. */
  readonly #unconfirmed = new Set<number>();
  /** The run that an environment executes: set for everything that `execute` does or starts, also after its end. */
  readonly executing = new AsyncLocalStorage<Pick<LiveRun, "id" | "rights">>();

  get size(): number {
    return this.#runs.size;
  }

  get(id: number): LiveRun | undefined {
    return this.#runs.get(id)?.live;
  }

  held(id: number): HeldRun | undefined {
    return this.#runs.get(id);
  }

  execution(id: number): RunExecution | undefined {
    return this.#runs.get(id)?.execution;
  }

  pauses(id: number): RunPauses | null {
    return this.#runs.get(id)?.pauses ?? null;
  }

  all(): HeldRun[] {
    return [...this.#runs.values()];
  }

  add(live: LiveRun, execution: RunExecution, pauses: RunPauses | null = null): void {
    this.#runs.set(live.id, { live, execution, pauses });
  }

  remove(live: LiveRun): void {
    if (this.get(live.id) === live) this.#runs.delete(live.id);
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
