/** What one run has asked people, in the order in which it happened: for its record, its event stream and its ending. */
import type { ApprovalState } from "../pausing/desk.ts";
import type { Ending } from "./ending.ts";

export interface ApprovalEvent {
  id: string;
  state: ApprovalState;
}

export class RunApprovals {
  readonly #events: ApprovalEvent[] = [];
  readonly #states = new Map<string, ApprovalState>();

  get events(): readonly ApprovalEvent[] {
    return this.#events;
  }

  /** Ids of those that wait for a person. */
  get pending(): string[] {
    return [...this.#states].filter(([, state]) => state === "pending").map(([id]) => id);
  }

  note(id: string, state: ApprovalState): void {
    if (this.#states.get(id) === state) return;
    this.#states.set(id, state);
    this.#events.push({ id, state });
  }

  /** The run is over: nobody waits any more. */
  close(): void {
    for (const id of this.pending) this.note(id, "expired");
  }

  /**
   * A script that does not catch a denial ends by it. The sentence that the script got names the approval by an id nobody
   * guesses, so it is told from any other error.
   */
  explain(ending: Ending): Ending {
    if (ending.reason !== "script_error" || ending.error === null) return ending;
    for (const [id, state] of this.#states) {
      if ((state !== "denied" && state !== "expired") || !ending.error.message.includes(id)) continue;
      return { ...ending, reason: state === "denied" ? "approval_denied" : "approval_expired" };
    }
    return ending;
  }
}
