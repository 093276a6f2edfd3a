/** Requests of one run that wait for a person, in one child. */
import type { CallRefusal } from "#api/tools/gate.ts";
import type { RunApproval } from "../desk.ts";
import { RUN_HAS_ENDED } from "./refusals.ts";

/** A decision, or why there is none. */
export type Decision = { approval: RunApproval } | { refusal: CallRefusal };

export interface Waiter {
  approval: RunApproval;
  /** Whether the database knows what is waited for. */
  isStored: boolean;
}

export class WaitingRequests {
  readonly #onChange: () => void;
  /** By the id of the approval. */
  readonly #waiters = new Map<string, Waiter & { settle(decision: Decision): void }>();

  /** `onChange`: somebody has begun to wait, or waits no more. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#waiters.size;
  }

  get ids(): string[] {
    return [...this.#waiters.keys()];
  }

  /** Those that the database does not know yet. */
  get fresh(): Waiter[] {
    return [...this.#waiters.values()].filter(({ isStored }) => !isStored);
  }

  /** Resolves when it is settled, or `signal` aborts. Never rejects. */
  async wait(approval: RunApproval, isStored: boolean, signal: AbortSignal): Promise<Decision> {
    const { promise, resolve } = Promise.withResolvers<Decision>();
    const settle = (decision: Decision) => {
      this.#waiters.delete(approval.id);
      resolve(decision);
      this.#onChange();
    };
    this.#waiters.set(approval.id, { approval, isStored, settle });
    const abort = () => settle({ refusal: RUN_HAS_ENDED });
    signal.addEventListener("abort", abort, { once: true });
    this.#onChange();
    const decision = await promise;
    signal.removeEventListener("abort", abort);
    return decision;
  }

  /** Nothing when nobody waits for it here. */
  settle(id: string, decision: Decision): void {
    this.#waiters.get(id)?.settle(decision);
  }

  refuseAll(refusal: CallRefusal): void {
    for (const { settle } of [...this.#waiters.values()]) settle({ refusal });
  }
}
