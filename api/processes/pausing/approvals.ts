/** What a run needs of approvals, so that neither feature imports the other. api/approvals/run-approvals.ts is what fills it. */

import type { Db, Fragment } from "#api/db/pool.ts";
import type { ToolPath } from "#api/tools/contract.ts";
import type { RunApproval } from "../model/records.ts";
import type { ApprovalState } from "../model/states.ts";

/** What a person is to decide. */
export interface NewApproval {
  processId: number;
  /** The first claim of the run. */
  run: string;
  /** Which of the run's requests it is, from 1. */
  seq: number;
  kind: "call" | "ask";
  /** Null for a question. */
  path: ToolPath | null;
  destructive: boolean;
  digest: Buffer;
  message: string;
  /** Sealed: the parameters of a call, the schema of an answer. */
  content: unknown;
  policyId?: string | undefined;
}

/** An approval that is sealed and has its id, and is not stored yet. */
export interface PreparedApproval extends RunApproval {
  state: "pending";
}

export interface ApprovalStore {
  /** Throws AppError `secrets_key_missing`, RangeError for what is too large to be kept. */
  prepare(asked: NewApproval): PreparedApproval;
  /** In the transaction that pauses the run, which may be attempted again. */
  store(db: Db, prepared: readonly PreparedApproval[]): Promise<unknown>;
  /** All that the run with a checkpoint has asked so far, in the order of asking. */
  listOfRun(db: Db, processId: number): Promise<RunApproval[]>;
  /** What the last run of a process has asked, and was told, in the order in which it happened. */
  listEvents(db: Db, processId: number): Promise<{ id: string; state: ApprovalState }[]>;
  /**
   * A statement that marks an approved request as used by `use`, a UUID; it answers no row when another use was first,
   * when it is not approved, or when `when` answers none.
   */
  use(db: Db, id: string, use: string, when?: Fragment): Fragment;
  /** Those that are pending are expired: no run waits for them any more. */
  withdraw(db: Db, ids: readonly string[], reason: string): Promise<void>;
  /** What the person answered. */
  readAnswer(db: Db, id: string): Promise<unknown>;
}
