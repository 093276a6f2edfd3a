/** A server's tools as tools of a service. What cannot be offered is left out, with the reason, rather than refused with all the rest. */
import { z } from "zod";
import { cleanText, quoteForeign } from "#modules/shared/failures.ts";
import type { JSONSchema, ToolDefinition } from "#sdk";
import type { ToolDomain } from "../definition.ts";

import { assignIds } from "./identifiers.ts";
import { checkSchema } from "./schemas.ts";

const MAX_NAME_CHARACTERS = 500;
const MAX_DESCRIPTION_CHARACTERS = 20_000;

const toolSchema = z.object({
  name: z.string().min(1).max(MAX_NAME_CHARACTERS),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: z.record(z.string(), z.unknown()),
  outputSchema: z.record(z.string(), z.unknown()).optional(),
  annotations: z
    .object({
      title: z.string().optional(),
      destructiveHint: z.boolean().optional(),
      readOnlyHint: z.boolean().optional(),
    })
    .optional(),
  execution: z.object({ taskSupport: z.string().optional() }).optional(),
});
type ServerTool = z.infer<typeof toolSchema>;

export interface OfferedTools {
  tools: ToolDefinition[];
  leftOut: { name: string; reason: string }[];
}

/** Sorted by name: the order in which a server lists its tools carries no meaning. */
export function offerTools(listed: readonly unknown[]): OfferedTools {
  const offered = new Map<string, Omit<ToolDefinition, "id">>();
  const leftOut: OfferedTools["leftOut"] = [];
  for (const [index, raw] of listed.entries()) {
    const name = (raw as { name?: unknown } | null)?.name;
    const shown = typeof name === "string" ? quoteForeign(name, 100) : `number ${index + 1}`;
    const result = offerTool(raw);
    if (typeof result === "string") leftOut.push({ name: shown, reason: result });
    else if (offered.has(result.key)) leftOut.push({ name: shown, reason: "its name is listed twice" });
    else offered.set(result.key, result.tool);
  }
  const ids = assignIds([...offered.keys()]);
  const tools = [...offered]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, tool]) => ({ id: ids.get(key) as string, ...tool }));
  return { tools, leftOut };
}

function offerTool(raw: unknown): { key: string; tool: Omit<ToolDefinition, "id"> } | string {
  const parsed = toolSchema.safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `its ${issue?.path.join(".") || "description"} is not what the protocol prescribes`;
  }
  const tool = parsed.data;
  if (cleanText(tool.name) !== tool.name) return "its name holds control characters";
  if (tool.execution?.taskSupport === "required") return "it can be called as a background task only";
  const input = checkSchema(tool.inputSchema);
  if (!input.ok) return `its inputSchema cannot be used: ${input.problem}`;
  if (input.schema.type !== undefined && input.schema.type !== "object")
    return "its inputSchema is not that of an object";
  const output = tool.outputSchema === undefined ? null : checkSchema(tool.outputSchema);
  return {
    key: tool.name,
    tool: {
      name: quoteForeign(tool.title || tool.annotations?.title || tool.name, MAX_NAME_CHARACTERS),
      description: quoteForeign(tool.description ?? "", MAX_DESCRIPTION_CHARACTERS),
      inputSchema: { ...input.schema, type: "object" },
      outputSchema: output === null ? CONTENT_SCHEMA : output.ok ? output.schema : {},
      adapterDomain: { name: tool.name, structured: output !== null } satisfies ToolDomain,
      destructive: isDestructive(tool),
    },
  };
}

/**
 * The protocol's defaults: a tool may change things (readOnlyHint: false), and then may destroy them (destructiveHint:
 * true). A server that says both "read-only" and "destructive" is taken at its worse word.
 */
function isDestructive({ annotations }: ServerTool): boolean {
  return annotations?.destructiveHint ?? annotations?.readOnlyHint !== true;
}

const BASE64 = { type: "string", contentEncoding: "base64" };
const TEXT: JSONSchema = { type: "string" };
const media = (type: string): JSONSchema => ({
  type: "object",
  properties: { type: { const: type }, mimeType: TEXT, base64: BASE64 },
  required: ["type", "mimeType", "base64"],
});
const block: JSONSchema[] = [
  TEXT,
  media("image"),
  media("audio"),
  {
    type: "object",
    properties: { type: { const: "resource" }, uri: TEXT, mimeType: TEXT, text: TEXT, base64: BASE64 },
    required: ["type", "uri"],
  },
  {
    type: "object",
    properties: {
      type: { const: "resource_link" },
      uri: TEXT,
      name: TEXT,
      description: TEXT,
      mimeType: TEXT,
    },
    required: ["type", "uri", "name"],
  },
];

/** What answer.ts makes of content that is not structured. */
const CONTENT_SCHEMA: JSONSchema = {
  description: "Text as a string; several pieces of content as an array; null when there is none.",
  anyOf: [...block, { type: "array", items: { anyOf: block } }, { type: "null" }],
};
