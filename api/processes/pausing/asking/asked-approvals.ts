/** What one run has asked people, in this child and in those before it. */
import type { ApprovalState, RunApproval } from "../desk.ts";

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

  /** It was not stored, or nobody can tell. */
  withdraw({ id, seq }: RunApproval): void {
    this.#withdrawn.add(id);
    this.#byId.delete(id);
    this.#bySeq.delete(seq);
  }

  /** Ids that the database may hold, and that nobody waits for. */
  get withdrawn(): string[] {
    return [...this.#withdrawn];
  }

  /** The database knows that nobody waits for these. */
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
