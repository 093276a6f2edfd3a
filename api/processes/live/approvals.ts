/**
 * Approvals of one run: every request an approver was asked about, its state, and the requests that still wait for a
 * decision.
 */
import { retryWhileAway } from "#api/db/retry.ts";
import { AppError } from "#api/errors.ts";
import type { CallRefusal } from "#api/tools/contract.ts";
import type { ApprovalEvent, PreparedApproval, RunApproval } from "../model/calls.ts";
import type { Ending } from "../model/records.ts";
import type { ApprovalState } from "../model/states.ts";

export interface ApprovalRequest {
  seq: number;
  digest: Buffer;
  /** Seals the request. Anything it throws rejects the request. */
  prepare(): PreparedApproval;
  signal: AbortSignal;
}

export interface ApprovalRoom {
  maxApprovals: number;
  hasRoom(): Promise<boolean>;
  isOver(): boolean;
}

export type Decision = { approval: RunApproval } | { refusal: CallRefusal };

interface Waiter {
  approval: RunApproval;
  settle(decision: Decision): void;
}

const MAX_EARLY_DECISIONS = 1000;

export class PendingApprovals {
  readonly #onEvent: (state: ApprovalState) => void;
  readonly #byId = new Map<string, RunApproval>();
  readonly #waiters = new Map<string, Waiter>();
  /** Ids of approvals that are in the database. Only these are shown. */
  readonly #stored = new Set<string>();
  /** Ids of approvals that may be in the database although no request waits for them. */
  readonly #withdrawn = new Set<string>();
  /** Decisions that arrived before the approvals of earlier children were read. */
  readonly #early = new Map<string, { state: ApprovalState; reason: string | null }>();
  readonly #events: ApprovalEvent[] = [];
  onWaiting: () => void = () => {};

  /** `onEvent` is called when a stored approval was requested or decided. */
  constructor(onEvent: (state: ApprovalState) => void) {
    this.#onEvent = onEvent;
  }

  get events(): readonly ApprovalEvent[] {
    return this.#events;
  }

  get pending(): string[] {
    return [...this.#stored].filter((id) => this.#byId.get(id)?.state === "pending");
  }

  /** Ids of the approvals that requests of this child wait for. */
  get waiting(): string[] {
    return [...this.#waiters.keys()];
  }

  get isWaiting(): boolean {
    return this.#waiters.size > 0;
  }

  get unstored(): PreparedApproval[] {
    const waited = [...this.#waiters.values()].map(({ approval }) => approval);
    return waited.filter(({ id }) => !this.#stored.has(id)) as PreparedApproval[];
  }

  get withdrawn(): string[] {
    return [...this.#withdrawn];
  }

  find(seq: number): RunApproval | undefined {
    return this.#byId.values().find((approval) => approval.seq === seq);
  }

  /** Restores the approvals and events of earlier children. Decisions that arrived meanwhile are preserved. */
  restore(approvals: readonly RunApproval[], events: readonly ApprovalEvent[]): void {
    this.#events.push(...events);
    for (const approval of approvals) {
      this.#stored.add(approval.id);
      this.#byId.set(approval.id, approval);
      // Approvals and events are read separately, so a decision may have arrived in between.
      this.#record(approval);
      const early = this.#early.get(approval.id);
      if (early !== undefined) this.decide(approval.id, early.state, early.reason);
    }
    this.#early.clear();
  }

  /** Waits for a decision. Never rejects; resolves with a refusal when the signal aborts. */
  async request({ seq, digest, prepare, signal }: ApprovalRequest, room: ApprovalRoom): Promise<Decision> {
    const known = this.find(seq);
    if (known !== undefined && known.state !== "pending") return { approval: known };
    if (known === undefined) {
      const refusal = await this.#refuse(digest, room, signal);
      if (refusal !== null) return { refusal };
    }
    if (signal.aborted || room.isOver()) return { refusal: RUN_HAS_ENDED };
    // Other requests may have asked meanwhile.
    if (known === undefined && this.#byId.size >= room.maxApprovals) {
      return { refusal: tooMany(room.maxApprovals) };
    }
    let approval: RunApproval;
    try {
      approval = known ?? prepare();
    } catch (error) {
      return { refusal: cannotBeSealed(error) };
    }
    this.#byId.set(approval.id, approval);
    return this.#wait(approval, signal);
  }

  decide(id: string, state: ApprovalState, reason: string | null): void {
    const approval = this.#byId.get(id);
    if (approval === undefined && this.#early.size < MAX_EARLY_DECISIONS)
      this.#early.set(id, { state, reason });
    if (approval?.state !== "pending" || state === "pending") return;
    approval.state = state;
    approval.reason = reason;
    if (this.#stored.has(id)) this.#record(approval);
    this.#waiters.get(id)?.settle({ approval });
  }

  recordStored(approvals: readonly RunApproval[]): void {
    for (const approval of approvals) {
      this.#stored.add(approval.id);
      this.#record({ id: approval.id, state: "pending" });
      // A decision may arrive before the database confirms the statement that stored the approval.
      if (approval.state !== "pending") this.#record(approval);
    }
  }

  /** Rejects requests whose approvals were not stored, or might not have been. */
  withdraw(approvals: readonly RunApproval[], refusal: CallRefusal): void {
    for (const { id } of approvals) {
      this.#withdrawn.add(id);
      this.#byId.delete(id);
      this.#waiters.get(id)?.settle({ refusal });
    }
  }

  recordWithdrawn(ids: readonly string[]): void {
    for (const id of ids) this.#withdrawn.delete(id);
  }

  refuseAll(refusal: CallRefusal): void {
    for (const { settle } of [...this.#waiters.values()]) settle({ refusal });
  }

  /** Expires pending approvals: the run has ended, so no decision is needed. */
  close(): void {
    for (const id of this.pending) {
      const approval = this.#byId.get(id) as RunApproval;
      approval.state = "expired";
      this.#record(approval);
    }
  }

  /**
   * Explains an ending caused by an uncaught denial. The error contains an approval id that cannot be guessed, which
   * distinguishes it from any other error.
   */
  explain(ending: Ending): Ending {
    const isOfScript = ending.reason === "script_error" || ending.reason === "unhandled_rejection";
    if (!isOfScript || ending.error === null) return ending;
    for (const { id, state } of this.#byId.values()) {
      if ((state !== "denied" && state !== "expired") || !ending.error.message.includes(id)) continue;
      return { ...ending, reason: state === "denied" ? "approval_denied" : "approval_expired" };
    }
    return ending;
  }

  async #refuse(
    digest: Buffer,
    { maxApprovals, hasRoom }: ApprovalRoom,
    signal: AbortSignal,
  ): Promise<CallRefusal | null> {
    const denied = this.#byId.values().find((one) => one.state === "denied" && one.digest.equals(digest));
    if (denied !== undefined) return deniedBefore(denied);
    if (this.#byId.size >= maxApprovals) return tooMany(maxApprovals);
    try {
      return (await retryWhileAway(hasRoom, signal)) ? null : NO_ROOM_TO_PAUSE;
    } catch {
      return DATABASE_IS_AWAY;
    }
  }

  async #wait(approval: RunApproval, signal: AbortSignal): Promise<Decision> {
    const { promise, resolve } = Promise.withResolvers<Decision>();
    const settle = (decision: Decision) => {
      this.#waiters.delete(approval.id);
      resolve(decision);
      this.onWaiting();
    };
    this.#waiters.set(approval.id, { approval, settle });
    const abort = () => settle({ refusal: RUN_HAS_ENDED });
    signal.addEventListener("abort", abort, { once: true });
    this.onWaiting();
    const decision = await promise;
    signal.removeEventListener("abort", abort);
    return decision;
  }

  #record({ id, state }: ApprovalEvent): void {
    if (this.#events.findLast((event) => event.id === id)?.state === state) return;
    this.#events.push({ id, state });
    this.#onEvent(state);
  }
}

/** Returns null if the request was approved. `what` names the call or question. */
export function refuseUnlessApproved({ id, state, reason }: RunApproval, what: string): CallRefusal | null {
  switch (state) {
    case "approved":
      return null;
    case "denied":
      return { failure: "approval_denied", message: `${id}: ${what} was denied${because(reason)}.` };
    default:
      return { failure: "approval_expired", message: `${id}: no approver decided about ${what} in time.` };
  }
}

function because(reason: string | null): string {
  return reason === null ? "" : ` (${reason})`;
}

export function unavailable(message: string): CallRefusal {
  return { failure: "call_unavailable", message };
}

export const NO_APPROVALS: CallRefusal = {
  failure: "approval_unavailable",
  message: "The call needs approval, and this server has no approvals.",
};
export const RUN_HAS_ENDED = unavailable("The run has ended.");
export const NOT_STORED = unavailable(
  "No approver can be asked: the request could not be stored. Try again shortly.",
);
const NO_ROOM_TO_PAUSE = unavailable(
  "No approver can be asked: as many processes are paused as CYRNEL_MAX_PAUSED_PROCESSES allows. Try again when some of them continue.",
);
const DATABASE_IS_AWAY = unavailable(
  "No approver can be asked: the database does not respond. Try again shortly.",
);

function deniedBefore({ id, reason }: RunApproval): CallRefusal {
  return {
    failure: "approval_denied",
    message: `${id}: an approver already denied exactly this${because(reason)}. The run does not ask again.`,
  };
}

function tooMany(maxApprovals: number): CallRefusal {
  return {
    failure: "too_many_approvals",
    message: `The run has asked for ${maxApprovals} approvals, the most it may (CYRNEL_MAX_APPROVALS_PER_PROCESS).`,
  };
}

/** Without a key nothing can be sealed, and nothing is stored unsealed. */
function cannotBeSealed(error: unknown): CallRefusal {
  const why =
    error instanceof AppError && error.code === "secrets_key_missing"
      ? "the server has no key to seal the request with (CYRNEL_SECRETS_KEY)"
      : error instanceof RangeError
        ? "the request is too large to be stored"
        : "the request could not be sealed";
  return {
    failure: "approval_unavailable",
    message: `This needs approval, and no approver can be asked: ${why}.`,
  };
}
