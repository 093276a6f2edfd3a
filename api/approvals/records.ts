import { withDigits } from "#sdk";
import { AppError } from "../errors.ts";
import { type Caller, rightsOf } from "../http/auth.ts";
import type { CallCaller } from "../tools/contract.ts";
import type { ApprovalRecord, ApprovalSummary } from "./model.ts";
import type { ApprovalsOptions, Decider } from "./ports.ts";
import { type ApprovalRow, findApproval } from "./store.ts";

export interface ApprovalRecords {
  isVisible(row: ApprovalRow, reader: CallCaller): boolean;
  /** Throws AppError `not_found`, also if the approval is hidden from the reader. */
  require(id: string, reader: CallCaller): Promise<ApprovalRow>;
  readContent(id: string): Promise<ApprovalContent>;
  toRecord(row: ApprovalRow): Promise<ApprovalRecord>;
}

export interface ApprovalContent {
  parameters?: unknown;
  /** Missing if the parameters name no files. */
  files?: ApprovalRecord["files"];
  schema?: Record<string, unknown> | null;
}

export function createApprovalRecords({
  pool,
  vault,
  redactor,
  gate,
}: Pick<ApprovalsOptions, "pool" | "vault" | "redactor" | "gate">): ApprovalRecords {
  function isVisible({ serviceId, toolId }: ApprovalRow, reader: CallCaller): boolean {
    return serviceId === null || toolId === null || gate.canSee(reader, { serviceId, toolId });
  }

  async function readContent(id: string): Promise<ApprovalContent> {
    const kept = await vault.recall(pool, "approval", [id]);
    return (kept.get(id) as ApprovalContent | undefined) ?? {};
  }

  return {
    isVisible,
    readContent,
    async require(id, reader) {
      const row = await findApproval(pool, id);
      if (row !== null && isVisible(row, reader)) return row;
      throw new AppError("not_found", `There is no approval ${id}. GET /approvals lists them.`);
    },
    async toRecord(row) {
      const { parameters = null, files = [], schema = null } = await readContent(row.id);
      return {
        ...toSummary(row),
        parameters: withDigits(redactor.value(parameters)),
        files,
        schema: redactor.value(schema),
      };
    },
  };
}

export function toDecider(caller: Caller | null): Decider {
  return { name: caller?.id ?? "", ...rightsOf(caller) };
}

/** Returns true if the caller submitted the process or started the run, and so must not decide. */
export function isOwnRequest(
  { requestedBy, startedBy }: Pick<ApprovalSummary, "requestedBy" | "startedBy">,
  callerId: string,
): boolean {
  // In anonymous mode all callers are the same, so there is no second person to decide.
  return callerId !== "anonymous" && (requestedBy === callerId || startedBy === callerId);
}

export function toSummary(row: ApprovalRow): ApprovalSummary {
  const { id, processId, kind, serviceId, toolId, destructive, message, state, policyId } = row;
  return {
    id,
    processId,
    kind,
    serviceId,
    toolId,
    destructive,
    message,
    state,
    requestedBy: row.requestedBy,
    requestedByName: row.requestedByName,
    startedBy: row.startedBy,
    policyId,
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt.toISOString(),
    decidedAt: row.decidedAt?.toISOString() ?? null,
    decidedBy: row.decidedBy,
    reason: row.reason,
    usedAt: row.usedAt?.toISOString() ?? null,
  };
}
