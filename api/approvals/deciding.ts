/** Decisions about approvals. Only the first decision counts; later ones get an error that names it. */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { settleIntegers } from "#kernel/tool-docs/large-integers.ts";
import type { JSONSchema } from "#sdk";
import type { RememberedRule } from "../access/policies/service.ts";
import { AppError } from "../errors.ts";
import { KEYLESS } from "../http/auth.ts";
import { announceDecision } from "./expiry.ts";
import type { ApproveBody, DenyBody } from "./model.ts";
import type { ApprovalsOptions, Decider } from "./ports.ts";
import { type ApprovalRecords, isOwnRequest } from "./records.ts";
import { answerId } from "./run-approvals.ts";
import { type ApprovalRow, decideApproval } from "./store.ts";

const MAX_ISSUES = 10;
/** Maximum time for which the response to a decision waits for the run to resume. */
const MAX_MOVE_MS = 1000;

export interface Deciding {
  approve(id: string, body: ApproveBody, decider: Decider): Promise<ApprovalRow>;
  deny(id: string, body: DenyBody, decider: Decider): Promise<ApprovalRow>;
  /** True while this server processes a decision about the approval, and will notify its run itself. */
  isDeciding(id: string): boolean;
}

/** `sweepSoon` is called when an expired approval is found. */
export function createDeciding(
  options: ApprovalsOptions,
  records: ApprovalRecords,
  sweepSoon: () => void,
): Deciding {
  const { pool, vault, redactor, processes } = options;
  const deciding = new Set<string>();

  async function settle(
    id: string,
    decision: { state: "approved" | "denied"; reason: string | null; answer?: unknown },
    row: ApprovalRow,
    decider: Decider,
    beforeTelling: () => Promise<void> = async () => {},
  ): Promise<ApprovalRow> {
    const { state, reason, answer } = decision;
    const owner = { kind: "approval" as const, id: answerId(id) };
    const kept = answer === undefined ? null : { owner, sealed: vault.seal(owner, answer) };
    // The notification listener ignores this approval until the decision is complete.
    deciding.add(id);
    try {
      const { decided, isQueued } = await pool.begin(async (db) => {
        // Sent together and executed in this order.
        const [, decided, isQueued] = await Promise.all([
          processes.lockForDecision(db, row.processId),
          decideApproval(db, id, { state, by: decider.name, reason }),
          processes.requeue(db, row.processId, id),
        ]);
        if (decided !== null && kept !== null) await vault.keep(db, [kept]);
        return { decided, isQueued };
      });
      if (decided !== null) {
        await beforeTelling().finally(() => announceDecision(processes, decided, isQueued));
        // Waits so that the next reader of the process finds it running.
        await Promise.race([
          processes.whenResumed(row.processId),
          sleep(MAX_MOVE_MS, undefined, { ref: false }),
        ]);
        return decided;
      }
    } finally {
      deciding.delete(id);
    }
    return acceptRepeated(id, decision, decider);
  }

  /** Accepts a repeated decision: the same decision by the same decider is not a conflict. */
  async function acceptRepeated(
    id: string,
    { state, reason, answer }: { state: "approved" | "denied"; reason: string | null; answer?: unknown },
    decider: Decider,
  ): Promise<ApprovalRow> {
    const first = await records.require(id, decider);
    if (first.state === "pending" || first.state === "expired") {
      if (first.state === "pending") sweepSoon();
      throw new AppError(
        "approval_expired",
        `The approval ${id} has expired${first.decidedAt === null ? "" : ` at ${first.decidedAt.toISOString()}`}${first.reason === null ? "" : `: ${first.reason}`} It cannot be decided any more.`,
      );
    }
    const isSame =
      first.state === state &&
      first.decidedBy === decider.name &&
      (state === "approved" ? await isSameAnswer(id, answer) : first.reason === reason);
    if (isSame) return first;
    throw new AppError(
      "already_decided",
      `The approval ${id} was ${first.state} by ${first.decidedBy} at ${first.decidedAt?.toISOString()}. A decision cannot be changed.`,
    );
  }

  async function isSameAnswer(id: string, answer: unknown): Promise<boolean> {
    const kept = await vault.recall(pool, "approval", [answerId(id)]);
    return isDeepStrictEqual(kept.get(answerId(id)), answer);
  }

  async function requireDecidable(id: string, decider: Decider): Promise<ApprovalRow> {
    const row = await records.require(id, decider);
    if (options.allowSelfApproval || !isOwnRequest(row, decider.name)) return row;
    throw new AppError(
      "self_approval",
      "A key that submitted a process or started its run cannot decide its approvals. Use another key with the scope approvals:decide, or set CYRNEL_ALLOW_SELF_APPROVAL.",
    );
  }

  async function checkData(row: ApprovalRow, data: unknown, decider: Decider): Promise<unknown> {
    if (row.kind === "call") {
      if (data === undefined) return undefined;
      throw refuseBody([{ path: "body.data", message: "only a question of a script takes an answer" }]);
    }
    const answer = data === undefined ? null : data;
    const { schema = null } = await records.readContent(row.id);
    if (schema === null) {
      refuseRounding(answer, null);
      return answer;
    }
    const hash = createHash("sha256").update(JSON.stringify(schema)).digest("hex");
    const outcome = await options.checkAnswer(decider.name, `ask ${hash}`, schema, answer);
    switch (outcome.kind) {
      case "valid":
        refuseRounding(outcome.parameters, schema);
        return outcome.parameters;
      case "invalid":
        throw refuseBody(
          outcome.issues.map(({ path, message }) => ({
            path: path.replace(/^parameters/, "body.data"),
            message,
          })),
        );
      default:
        throw refuseBody([
          { path: "body.data", message: "could not be checked against the schema of the question" },
        ]);
    }
  }

  /** Returns the rule to create from an approval. Throws invalid_request if no rule would be correct. */
  function describeRule(
    { id, serviceId, toolId, processId, policyId, requestedBy, startedBy }: ApprovalRow,
    remember: NonNullable<ApproveBody["remember"]>,
    decider: Decider,
  ): RememberedRule {
    const refuse = (message: string) => refuseBody([{ path: "body.remember", message }]);
    if (serviceId === null || toolId === null) throw refuse("only a tool call can be remembered");
    const [roleId, other] = [requestedBy, startedBy].map((name) => {
      if (KEYLESS.has(name)) return null;
      const key = options.keys.find(name);
      if (key !== null) return key.roleId;
      throw refuse(
        `the key ${name} was revoked or has expired, so nothing can be remembered for it: leave it out`,
      );
    });
    if (roleId === undefined || roleId !== other) {
      throw refuse(
        "the run was started under another role than it was submitted, so it has no one role to remember for: leave it out",
      );
    }
    return {
      serviceId,
      toolId,
      approvalId: id,
      replaces: policyId,
      keyIds: [requestedBy, startedBy, decider.name].filter((name) => !KEYLESS.has(name)),
      roleId,
      processId: remember.for === "process" ? processId : null,
      expiresAt: new Date(Date.now() + remember.minutes * 60_000),
    };
  }

  return {
    isDeciding: (id) => deciding.has(id),
    async approve(id, { data, remember }, decider) {
      const row = await requireDecidable(id, decider);
      const rule = remember && describeRule(row, remember, decider);
      const checking = checkData(row, data, decider);
      // Once the approval is decided, the data need not be valid: they are only compared with the stored answer.
      const answer = await (row.state === "pending" ? checking : checking.catch(() => data));
      // Runs after the decision, because a rejected one must not create a rule, but before the run resumes and asks
      // again.
      const beforeTelling = async () => {
        if (rule !== undefined) await options.remember(rule);
      };
      return settle(id, { state: "approved", reason: null, answer }, row, decider, beforeTelling);
    },
    async deny(id, { reason = null }, decider) {
      const row = await requireDecidable(id, decider);
      const shown = reason === null ? null : redactor.text(reason);
      return settle(id, { state: "denied", reason: shown }, row, decider);
    },
  };
}

/** Rejects numbers that would be rounded. The approver can write the value differently; the script could not. */
function refuseRounding(answer: unknown, schema: JSONSchema | null): void {
  const issues: { path: string; message: string }[] = [];
  settleIntegers(answer, schema, "answer", ({ path = "" }) => {
    const message =
      "would be rounded: the script gets an integer beyond 2^53 only where the schema of its question says that it is an integer. Send it as a string";
    issues.push({ path: path.replace(/^answer/, "body.data"), message });
  });
  if (issues.length > 0) throw refuseBody(issues.slice(0, MAX_ISSUES));
}

function refuseBody(issues: { path: string; message: string }[]): AppError {
  const sentence = issues.map(({ path, message }) => `${path} ${message}`).join("; ");
  return new AppError("invalid_request", `The request is not valid: ${sentence}.`, { issues });
}
