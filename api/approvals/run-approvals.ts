/** Approvals for runs: creating, listing and using them. Content is sealed before it is stored. */
import { randomBytes } from "node:crypto";
import type { PreparedApproval } from "#api/processes/model/calls.ts";
import type { ApprovalStore, NewApproval } from "#api/processes/pausing/approvals.ts";
import type { KeptValue, Vault } from "#api/secrets/vault.ts";
import {
  insertApprovals,
  listEvents,
  listOfRun,
  type NewApprovalRow,
  useApproval,
  withdrawApprovals,
} from "./store.ts";

const ID_BYTES = 16;

export function createApprovalStore(
  vault: Pick<Vault, "seal" | "keep" | "recall">,
  ttlMs: number,
): ApprovalStore {
  /** Sealed rows that are not stored yet, by the object the run holds. */
  const prepared = new WeakMap<PreparedApproval, { row: NewApprovalRow; content: KeptValue }>();
  return {
    prepare(asked: NewApproval) {
      const id = `apr_${randomBytes(ID_BYTES).toString("base64url")}`;
      const { path, content, policyId = null, ...rest } = asked;
      const { serviceId = null, toolId = null } = path ?? {};
      const owner = { kind: "approval" as const, id };
      const kept = { owner, sealed: vault.seal(owner, content) };
      const approval: PreparedApproval = {
        id,
        seq: asked.seq,
        kind: asked.kind,
        digest: asked.digest,
        state: "pending",
        reason: null,
      };
      prepared.set(approval, { row: { ...rest, id, serviceId, toolId, policyId }, content: kept });
      return approval;
    },
    async store(db, approvals) {
      const made = approvals.map((approval) => {
        const one = prepared.get(approval);
        if (one === undefined) throw new Error(`the approval ${approval.id} was not prepared here`);
        return one;
      });
      await Promise.all([
        insertApprovals(
          db,
          made.map(({ row }) => row),
          ttlMs,
        ),
        vault.keep(
          db,
          made.map(({ content }) => content),
        ),
      ]);
    },
    listOfRun,
    listEvents,
    use: useApproval,
    withdraw: withdrawApprovals,
    async readAnswer(db, id) {
      const kept = await vault.recall(db, "approval", [answerId(id)]);
      return kept.get(answerId(id)) ?? null;
    },
  };
}

export function answerId(id: string): string {
  return `${id}:answer`;
}
