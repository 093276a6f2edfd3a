/** Whether a person is asked about a request of a script, and what comes of it. */

import { retryWhileAway } from "#api/db/retry.ts";
import { AppError } from "#api/errors.ts";
import type { CallRefusal } from "#api/tools/contract.ts";
import type { RunApproval } from "../model/records.ts";
import type { ApprovalState } from "../model/states.ts";
import type { PreparedApproval } from "./approvals.ts";

/** A request that a person is to decide. */
export interface AskedRequest {
  seq: number;
  digest: Buffer;
  /** Seals it; what it throws is a refusal. */
  prepare(): PreparedApproval;
  signal: AbortSignal;
}

export interface Asking {
  asked: AskedApprovals;
  waiting: WaitingRequests;
  maxApprovals: number;
  /** Whether one more process may pause. */
  hasRoom(): Promise<boolean>;
  isOver(): boolean;
  /** The request is another than the one that a person was asked about. */
  diverged(message: string): void;
}

/** Waits for a person's decision. Never rejects, but resolves with a refusal when the signal aborts. */
export async function askFor(asking: Asking, request: AskedRequest): Promise<Decision> {
  const { asked, waiting, maxApprovals } = asking;
  const { seq, digest, signal } = request;
  const known = asked.find(seq);
  if (known !== undefined && !known.digest.equals(digest)) {
    asking.diverged(`Request ${seq} of the script is another than the one that a person was asked about`);
    return { refusal: RUN_HAS_ENDED };
  }
  if (known !== undefined && known.state !== "pending") return { approval: known };
  if (known === undefined) {
    const refusal = await refuse(asking, request);
    if (refusal !== null) return { refusal };
  }
  if (signal.aborted || asking.isOver()) return { refusal: RUN_HAS_ENDED };
  // Others may have asked meanwhile.
  if (known === undefined && asked.size >= maxApprovals) return { refusal: tooMany(maxApprovals) };
  let approval: RunApproval;
  try {
    approval = known ?? request.prepare();
  } catch (error) {
    return { refusal: cannotBeKept(error) };
  }
  asked.add(approval);
  return waiting.wait(approval, known !== undefined, signal);
}

async function refuse(
  { asked, maxApprovals, hasRoom }: Asking,
  { digest, signal }: AskedRequest,
): Promise<CallRefusal | null> {
  const denied = asked.findDenied(digest);
  if (denied !== undefined) return deniedBefore(denied);
  if (asked.size >= maxApprovals) return tooMany(maxApprovals);
  try {
    return (await retryWhileAway(hasRoom, signal)) ? null : NO_ROOM_TO_PAUSE;
  } catch {
    return DATABASE_IS_AWAY;
  }
}

const MAX_HEARD = 1000;

export class AskedApprovals {
  readonly #onChange: (id: string, state: ApprovalState) => void;
  readonly #bySeq = new Map<number, RunApproval>();
  readonly #byId = new Map<string, RunApproval>();
  readonly #stored = new Set<string>();
  readonly #withdrawn = new Set<string>();
  /** Decisions about what this child does not know yet. */
  readonly #heard = new Map<string, { state: ApprovalState; reason: string | null }>();

  /** `onChange`: something that the database knows was asked for or decided. */
  constructor(onChange: (id: string, state: ApprovalState) => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Ids of stored ones that wait for a person. */
  get pending(): string[] {
    return [...this.#stored].filter((id) => this.#byId.get(id)?.state === "pending");
  }

  find(seq: number): RunApproval | undefined {
    return this.#bySeq.get(seq);
  }

  findDenied(digest: Buffer): RunApproval | undefined {
    return [...this.#byId.values()].find((one) => one.state === "denied" && one.digest.equals(digest));
  }

  add(approval: RunApproval): void {
    this.#byId.set(approval.id, approval);
    this.#bySeq.set(approval.seq, approval);
  }

  /** It was not stored, or that is not known. */
  withdraw({ id, seq }: RunApproval): void {
    this.#withdrawn.add(id);
    this.#byId.delete(id);
    this.#bySeq.delete(seq);
  }

  /** Ids that the database may hold, and that no request waits for. */
  get withdrawn(): string[] {
    return [...this.#withdrawn];
  }

  /** The database knows that no request waits for these. */
  noteWithdrawn(ids: readonly string[]): void {
    for (const id of ids) this.#withdrawn.delete(id);
  }

  noteStored({ id, state }: RunApproval): void {
    this.#stored.add(id);
    this.#onChange(id, "pending");
    // A decision may be known before the answer to the statement that stored what was asked.
    if (state !== "pending") this.#onChange(id, state);
  }

  /** Of the children before. Decisions that came while it was being read stay. */
  carry(approvals: readonly RunApproval[]): void {
    for (const approval of approvals) {
      this.#stored.add(approval.id);
      this.add(approval);
      const heard = this.#heard.get(approval.id);
      if (heard !== undefined) this.decide(approval.id, heard.state, heard.reason);
    }
    this.#heard.clear();
  }

  /** The approval, when it was pending. */
  decide(id: string, state: ApprovalState, reason: string | null): RunApproval | null {
    const approval = this.#byId.get(id);
    if (approval === undefined && this.#heard.size < MAX_HEARD) this.#heard.set(id, { state, reason });
    if (approval === undefined || approval.state !== "pending" || state === "pending") return null;
    approval.state = state;
    approval.reason = reason;
    if (this.#stored.has(id)) this.#onChange(id, state);
    return approval;
  }
}

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

  /** `onChange`: a request has begun to wait, or waits no more. */
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

  /** Nothing when no request waits for it here. */
  settle(id: string, decision: Decision): void {
    this.#waiters.get(id)?.settle(decision);
  }

  refuseAll(refusal: CallRefusal): void {
    for (const { settle } of [...this.#waiters.values()]) settle({ refusal });
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
  "No person can be asked: the request could not be stored. Try again shortly.",
);
export const NO_ROOM_TO_PAUSE = unavailable(
  "As many processes are paused as may be (CYRNEL_MAX_PAUSED_PROCESSES), so no person can be asked. Try again when some were decided.",
);
export const DATABASE_IS_AWAY = unavailable(
  "No person can be asked: the database does not answer at the moment. Try again shortly.",
);

export function deniedBefore({ id, reason }: RunApproval): CallRefusal {
  return {
    failure: "approval_denied",
    message: `${id}: exactly this was denied before${because(reason)}. It is not asked again in this run.`,
  };
}

export function tooMany(maxApprovals: number): CallRefusal {
  return {
    failure: "too_many_approvals",
    message: `The run has asked a person ${maxApprovals} times, which is the most it may (CYRNEL_MAX_APPROVALS_PER_PROCESS).`,
  };
}

/** `what` names the call or question. Returns null if it was approved. */
export function refuseUnlessApproved({ id, state, reason }: RunApproval, what: string): CallRefusal | null {
  switch (state) {
    case "approved":
      return null;
    case "denied":
      return { failure: "approval_denied", message: `${id}: ${what} was denied${because(reason)}.` };
    default:
      return { failure: "approval_expired", message: `${id}: no person decided about ${what} in time.` };
  }
}

/** Without a key nothing can be sealed, and what cannot be sealed is not stored. */
export function cannotBeKept(error: unknown): CallRefusal {
  const why =
    error instanceof AppError && error.code === "secrets_key_missing"
      ? "the server has no key to keep what is asked with (CYRNEL_SECRETS_KEY)"
      : error instanceof RangeError
        ? "what is asked for is too large to be kept"
        : "what is asked for could not be kept";
  return {
    failure: "approval_unavailable",
    message: `A person has to approve this, and no person can be asked: ${why}.`,
  };
}
