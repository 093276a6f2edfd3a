/**
 * Determines who may decide an approval over MCP. An approver at an MCP client uses the client's key, so the rule
 * against self-approval checks the key.
 */
import type { ApprovalRecord } from "../approvals/model.ts";
import type { McpPorts, RequestContext } from "./ports.ts";

type Rule = Pick<McpPorts, "isSelfApproval">;
type Asked = Pick<ApprovalRecord, "id" | "requestedBy" | "startedBy" | "processId">;
type Asker = Pick<RequestContext, "caller">;

export type Deciding = "may" | "same_key" | "no_scope";

export function mayDecide({ isSelfApproval }: Rule, approval: Asked, { caller }: Asker): Deciding {
  if (!caller.scopes.has("approvals:decide")) return "no_scope";
  return isSelfApproval(approval, caller) ? "same_key" : "may";
}

/** Tells the model what to do about a pause. `fits` is true if a dialog can show the complete approval. */
export function describeDeciders(rule: Rule, approval: Asked, asker: Asker, fits: boolean): string {
  const elsewhere = `An approver with another key and the scope approvals:decide must decide: POST /approvals/${approval.id}/approve or /deny. Then: result {"processId":${approval.processId}}.`;
  switch (mayDecide(rule, approval, asker)) {
    case "may":
      if (!fits) {
        return `A form at a client cannot show this completely and unchanged. An approver must see all of it and decide in the console of the server (Approvals), or with: cyrnel approvals show ${approval.id}. Then: result {"processId":${approval.processId}}.`;
      }
      return `Ask an approver, then: resume {"execution_id":"${approval.id}","approved":true or false}.`;
    case "same_key":
      return `This key started the process, or this run of it, so it may not decide (CYRNEL_ALLOW_SELF_APPROVAL is off); a decision in this client counts as this key's. ${elsewhere}`;
    case "no_scope":
      return `This key lacks the scope approvals:decide. ${elsewhere}`;
  }
}
