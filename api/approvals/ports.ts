/** Dependencies of approvals on the rest of the server. */
import type { Db, Pool } from "#api/db/pool.ts";
import type { JSONSchema } from "#sdk";
import type { RememberedRule } from "../access/policies/service.ts";
import type { AuditLog } from "../audit/log.ts";
import type { KeyVerifier } from "../http/auth.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { Vault } from "../secrets/vault.ts";
import type { CallCaller, CallGate } from "../tools/contract.ts";
import type { CheckOutcome } from "../tools/validation/validator.ts";
import type { ApprovalRow } from "./store.ts";

/** A caller who decides or reads. `name` signs decisions: a key id, `bootstrap` or `anonymous`. */
export interface Decider extends CallCaller {
  name: string;
}

/** Processes that wait for approvals. */
export interface WaitingProcesses {
  lockForDecision(db: Db, processId: number): Promise<void>;
  requeue(db: Db, processId: number, approval: string): Promise<boolean>;
  recordRequeued(processId: number): void;
  recordApproval(processId: number, approval: Pick<ApprovalRow, "id" | "state" | "reason">): void;
  whenResumed(processId: number): Promise<void>;
  waitingApprovals(): string[];
}

export interface ApprovalsOptions {
  pool: Pool;
  vault: Pick<Vault, "seal" | "keep" | "recall">;
  redactor: Pick<Redactor, "value" | "text">;
  gate: Pick<CallGate, "canSee">;
  processes: WaitingProcesses;
  /** Creates a rule, for `remember`. */
  remember(rule: RememberedRule): Promise<unknown>;
  keys: Pick<KeyVerifier, "find">;
  audit: Pick<AuditLog, "record">;
  /** Validates an answer against a schema from the script. */
  checkAnswer(decider: string, hash: string, schema: JSONSchema, data: unknown): Promise<CheckOutcome>;
  allowSelfApproval: boolean;
  ttlMs: number;
  log: { warn(fields: object, message: string): void };
}
