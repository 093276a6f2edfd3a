/**
 * Asks the client's user to decide an approval. The form uses the few kinds of field that elicitation allows: a
 * script's schema is never passed on unchanged, and the approvals feature validates the response.
 */
import {
  type ClientCapabilities,
  type ElicitRequestFormParams,
  type ElicitResult,
  PrimitiveSchemaDefinitionSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describeCall, describeOrigin, visibleJson, visibleLine, visibleText } from "#client/visible-text.ts";
import type { ApprovalRecord } from "../approvals/model.ts";
import type { Decision } from "./ports.ts";

/** Longest text that a dialog may show. The console shows larger approvals. */
const MAX_SHOWN_CHARACTERS = 4000;
const MAX_SHOWN_LINES = 40;
const MAX_FIELDS = 50;
const DECLINED = "Declined in the MCP client.";

export function canElicit(client: ClientCapabilities | undefined): boolean {
  const elicitation = client?.elicitation;
  // Clients older than the two modes send an empty object and support forms.
  return elicitation != null && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** Builds a form for the approval, or returns null if a dialog cannot show it completely and unchanged. */
export function describeForm(approval: ApprovalRecord): ElicitRequestFormParams | null {
  const origin = describeOrigin(approval);
  const what = describeCall(approval);
  const call = what === null ? origin : `${origin}. ${what} That is`;
  const form =
    approval.kind === "call"
      ? {
          message: `${call} with ${visibleJson(approval.parameters ?? {})}.${describeFiles(approval)} Allow it?${approval.destructive ? " It may change or delete something." : ""}`,
          requestedSchema: { type: "object" as const, properties: {} },
        }
      : describeQuestion(origin, approval);
  if (form === null) return null;
  const lines = form.message.split("\n").length;
  return JSON.stringify(form).length > MAX_SHOWN_CHARACTERS || lines > MAX_SHOWN_LINES ? null : form;
}

function describeFiles({ files }: ApprovalRecord): string {
  if (files.length === 0) return "";
  const each = files.map(({ name, size, sha256 }) => `${visibleJson(name)}, ${size} bytes, sha256 ${sha256}`);
  return ` It sends ${each.join("; ")}.`;
}

/** Marks each line of a script's text, so that it cannot be mistaken for the server's. */
function describeQuestion(
  origin: string,
  { message, schema }: ApprovalRecord,
): ElicitRequestFormParams | null {
  const requestedSchema = readFields(schema);
  if (requestedSchema === null) return null;
  const words = visibleText(message).replace(/^/gm, "> ");
  return { message: `${origin}:\n${words}`, requestedSchema };
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
    const { title, description, ...rest } = parsed.data;
    // Names and values become part of the response, so they must be shown unaltered.
    if (visibleJson({ [name]: rest }) !== JSON.stringify({ [name]: rest })) return null;
    fields[name] = {
      ...rest,
      ...(title !== undefined && { title: visibleLine(title) }),
      ...(description !== undefined && { description: visibleLine(description) }),
    } as typeof parsed.data;
  }
  const names = Array.isArray(required) ? required.filter((name) => Object.hasOwn(fields, name)) : [];
  return { type: "object", properties: fields, required: names };
}

/** Returns the user's decision, or null if the user made none. */
export function readDecision(approval: ApprovalRecord, { action, content }: ElicitResult): Decision | null {
  if (action === "decline") return { approved: false, reason: DECLINED };
  if (action === "cancel") return null;
  return approval.kind === "ask" ? { approved: true, data: content ?? {} } : { approved: true };
}
