/**
 * Approvals as runs use them, so that neither feature imports the other. Implemented by
 * api/approvals/run-approvals.ts.
 */

import type { Db, Fragment } from "#api/db/pool.ts";
import type { ToolPath } from "#api/tools/contract.ts";
import type { PreparedApproval, RunApproval } from "../model/calls.ts";
import type { ApprovalState } from "../model/states.ts";

export interface NewApproval {
  processId: number;
  /** First claim of the run. */
  run: string;
  seq: number;
  kind: "call" | "ask";
  /** Null for a question. */
  path: ToolPath | null;
  destructive: boolean;
  digest: Buffer;
  message: string;
  /** Sealed parameters of a call, or the sealed schema of an answer. */
  content: unknown;
  policyId?: string | undefined;
}

export interface ApprovalStore {
  /** Seals an approval. Throws AppError `secrets_key_missing`, or RangeError if it is too large to store. */
  prepare(asked: NewApproval): PreparedApproval;
  /** Runs in the transaction that pauses the run. The transaction may be retried. */
  store(db: Db, prepared: readonly PreparedApproval[]): Promise<unknown>;
  /** Lists the approvals of a run that has a checkpoint, in order. */
  listOfRun(db: Db, processId: number): Promise<RunApproval[]>;
  /** Lists the approval events of a process's last run, in order. */
  listEvents(db: Db, processId: number): Promise<{ id: string; state: ApprovalState }[]>;
  /**
   * Returns a statement that marks an approved request as used by `use`, a UUID. It yields no row if another use was
   * first, the request is not approved, or `when` yields no row.
   */
  use(db: Db, id: string, use: string, when?: Fragment): Fragment;
  /** Expires pending approvals that no run waits for any more. */
  withdraw(db: Db, ids: readonly string[], reason: string): Promise<void>;
  readAnswer(db: Db, id: string): Promise<unknown>;
}
