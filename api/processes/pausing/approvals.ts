/** Approvals as runs need them, so that neither feature imports the other. api/approvals/run-approvals.ts implements this. */

import type { Db, Fragment } from "#api/db/pool.ts";
import type { ToolPath } from "#api/tools/contract.ts";
import type { PreparedApproval, RunApproval } from "../model/calls.ts";
import type { ApprovalState } from "../model/states.ts";

/** What an approver is to decide. */
export interface NewApproval {
  processId: number;
  /** The first claim of the run. */
  run: string;
  /** Number of the request in the run, from 1. */
  seq: number;
  kind: "call" | "ask";
  /** Null for a question. */
  path: ToolPath | null;
  destructive: boolean;
  digest: Buffer;
  message: string;
  /** The parameters of a call or the schema of an answer. Sealed. */
  content: unknown;
  policyId?: string | undefined;
}

export interface ApprovalStore {
  /** Throws AppError `secrets_key_missing`, RangeError for what is too large to be kept. */
  prepare(asked: NewApproval): PreparedApproval;
  /** Runs in the transaction that pauses the run, which may be attempted again. */
  store(db: Db, prepared: readonly PreparedApproval[]): Promise<unknown>;
  /** Lists what the run with a checkpoint has asked so far, in order. */
  listOfRun(db: Db, processId: number): Promise<RunApproval[]>;
  /** Lists what the last run of a process asked and what was decided, in order. */
  listEvents(db: Db, processId: number): Promise<{ id: string; state: ApprovalState }[]>;
  /**
   * A statement that marks an approved request as used by `use`, a UUID. It returns no row if another use was first, the request is
   * not approved, or `when` returns no row.
   */
  use(db: Db, id: string, use: string, when?: Fragment): Fragment;
  /** Expires those that are pending: no run waits for them any more. */
  withdraw(db: Db, ids: readonly string[], reason: string): Promise<void>;
  /** Reads the approver's answer. */
  readAnswer(db: Db, id: string): Promise<unknown>;
}
