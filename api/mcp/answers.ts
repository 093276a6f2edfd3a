/** What a tool answers: JSON as text for the model and as data for programs; refusals marked as errors. */
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { McpPorts } from "./ports.ts";

const MAX_ISSUES = 20;

export function answerWith(value: Record<string, unknown>): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value };
}

/** `{error, code, issues?}`, the codes of docs/errors.md. */
export function answerRefusal(
  error: unknown,
  { describeError, log }: Pick<McpPorts, "describeError" | "log">,
  requestId: string,
): CallToolResult {
  const { status, code, message, issues } = describeError(error);
  if (status >= 500) log.error({ err: error, requestId }, "an MCP request failed");
  const refusal = { error: message, code, ...(issues && { issues }), requestId };
  return { ...answerWith(refusal), isError: true };
}

export function answerInvalid(tool: string, error: z.ZodError, requestId: string): CallToolResult {
  const issues = error.issues.slice(0, MAX_ISSUES).map((issue) => ({
    path: issue.path.map(String).join("."),
    message: issue.message,
  }));
  const [first] = issues;
  const message = `The arguments of ${tool} are not valid: ${first?.path || "arguments"}: ${first?.message}`;
  return { ...answerWith({ error: message, code: "invalid_request", issues, requestId }), isError: true };
}

const MAX_SEARCH_LIMIT = 50;
const DEFAULT_SEARCH_LIMIT = 10;
const MAX_QUERY_CHARACTERS = 200;
const MAX_ID_CHARACTERS = 200;

const path = z
  .string()
  .max(2 * MAX_ID_CHARACTERS + 1)
  .regex(/^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*){1,8}$/, "expected service.tool, as search_tools answers it");

export const runInput = z.strictObject({
  script: z.string().describe("TypeScript. Top-level await and return; the returned JSON is `value`."),
  timeoutMs: z.int().positive().nullable().optional().describe("Default 30000."),
  ref: z.string().optional().describe("A label of your own, unique."),
});

export const searchToolsInput = z.strictObject({
  query: z
    .string()
    .trim()
    .max(MAX_QUERY_CHARACTERS)
    .refine((text) => !text.includes("\0"), "must not hold a NUL character")
    .describe("Any words; empty lists all."),
  limit: z.int().min(1).max(MAX_SEARCH_LIMIT).default(DEFAULT_SEARCH_LIMIT),
  serviceId: z.string().max(MAX_ID_CHARACTERS).optional(),
});

export const readToolInput = z.strictObject({ path: path.describe("service.tool") });

export const resumeInput = z.strictObject({
  execution_id: z.string().max(MAX_ID_CHARACTERS).describe("`paused.executionId`"),
  approved: z.boolean(),
  // Any JSON: a schema that says so is recursive, which some models are not given. The HTTP schema checks it.
  data: z.unknown().optional().describe("The person's answer, where a form was asked."),
});

export const resultInput = z.strictObject({ processId: z.int().positive().max(Number.MAX_SAFE_INTEGER) });
