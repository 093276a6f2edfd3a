/** What a tool answers: JSON as text for the model and as data for programs; refusals marked as errors. */
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { z } from "zod";
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
