/**
 * Puts an approval to the person at the client. The form is built here, of the few kinds of field that elicitation has:
 * what a script asked for is never handed on as it is, and the answer is checked by whoever decides.
 */
import {
  type ClientCapabilities,
  type ElicitRequestFormParams,
  type ElicitResult,
  PrimitiveSchemaDefinitionSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { ApprovalRecord } from "../approvals/model.ts";
import type { Decision } from "./ports.ts";

const MAX_SHOWN_CHARACTERS = 2000;
const MAX_FIELDS = 50;
const DECLINED = "Declined in the MCP client.";

export function canElicit(client: ClientCapabilities | undefined): boolean {
  const elicitation = client?.elicitation;
  // An empty object is what clients of before the two modes send: they know forms.
  return elicitation != null && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** Null where elicitation has no form for what is asked. */
export function describeForm(approval: ApprovalRecord): ElicitRequestFormParams | null {
  if (approval.kind === "call") {
    const args = JSON.stringify(approval.parameters ?? {});
    const shown = args.length > MAX_SHOWN_CHARACTERS ? `${args.slice(0, MAX_SHOWN_CHARACTERS)}…` : args;
    const warning = approval.destructive ? " It may change or delete something." : "";
    return {
      message: `Process ${approval.processId} wants to call ${approval.serviceId}.${approval.toolId} with ${shown.toWellFormed()}. Allow it?${warning}`,
      requestedSchema: { type: "object", properties: {} },
    };
  }
  const requestedSchema = readFields(approval.schema);
  return requestedSchema && { message: approval.message, requestedSchema };
}

function readFields(schema: unknown): ElicitRequestFormParams["requestedSchema"] | null {
  if (typeof schema !== "object" || schema === null) return null;
  const { type, properties, required } = schema as Record<string, unknown>;
  if (type !== "object" || typeof properties !== "object" || properties === null) return null;
  const entries = Object.entries(properties);
  if (entries.length > MAX_FIELDS) return null;
  const fields: ElicitRequestFormParams["requestedSchema"]["properties"] = {};
  for (const [name, field] of entries) {
    const parsed = PrimitiveSchemaDefinitionSchema.safeParse(field);
    if (!parsed.success) return null;
    fields[name] = parsed.data;
  }
  const names = Array.isArray(required) ? required.filter((name) => Object.hasOwn(fields, name)) : [];
  return { type: "object", properties: fields, required: names };
}

/** Null: the person has not decided. */
export function readDecision(approval: ApprovalRecord, { action, content }: ElicitResult): Decision | null {
  if (action === "decline") return { approved: false, reason: DECLINED };
  if (action === "cancel") return null;
  return approval.kind === "ask" ? { approved: true, data: content ?? {} } : { approved: true };
}
