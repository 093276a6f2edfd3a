/** Reads an MCP definition: a server's address, or the command that starts it. */
import { z } from "zod";
import { findUrlProblem } from "#modules/shared/settings.ts";
import { isJsonObject, isRawInteger, type JSONSchema } from "#sdk";
import { type McpFailure, refuseSettings } from "./failures.ts";

const MAX_DEFINITION_CHARACTERS = 256 * 1024;

const serverUrl = z
  .string()
  .max(8192)
  .transform((text, context) => {
    const problem = findProblem(text);
    if (problem === null) return new URL(text).href;
    context.addIssue({ code: "custom", message: problem });
    return z.NEVER;
  });

const noNul = z
  .string()
  .max(32_768)
  .regex(/^[^\0]*$/, { error: "must not contain a NUL character" });

const httpServer = z.strictObject({ transport: z.literal("http"), url: serverUrl });
const stdioServer = z.strictObject({
  transport: z.literal("stdio"),
  command: noNul.min(1),
  args: z.array(noNul).max(200).default([]),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: "not the name of a variable" }), noNul)
    .default({}),
});

export const serverDefinitionSchema = z.discriminatedUnion("transport", [httpServer, stdioServer], {
  error: (issue) => (issue.code === "invalid_union" ? 'expected "http" or "stdio"' : undefined),
});
export type ServerDefinition = z.infer<typeof serverDefinitionSchema>;

/** Adapter data of a tool: everything needed to call it. */
export const toolDomainSchema = z.object({
  name: z.string(),
  /** True if the server promises structured content. */
  structured: z.boolean(),
  /** Top level of the output schema, used to decide how text is read. */
  outline: z
    .object({ types: z.array(z.string()).optional(), required: z.array(z.string()).optional() })
    .optional(),
});
export type ToolDomain = z.infer<typeof toolDomainSchema>;
type Outline = NonNullable<ToolDomain["outline"]>;

/** The schema itself is not trusted and not compiled. */
export function outlineOf({ type, required }: JSONSchema): Outline {
  const types = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === "string");
  return {
    ...(types.length > 0 && { types }),
    ...(Array.isArray(required) && { required: required.filter((name) => typeof name === "string") }),
  };
}

export function fitsOutline(value: unknown, { types, required = [] }: Outline): boolean {
  if (types !== undefined && !types.some((type) => isOfType(value, type))) return false;
  const isPlain = typeof value === "object" && value !== null && !Array.isArray(value);
  return !isPlain || required.every((name) => Object.hasOwn(value, name));
}

function isOfType(value: unknown, type: string): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isJsonObject(value);
  if (isRawInteger(value)) return type === "integer" || type === "number";
  return type === "integer" ? Number.isInteger(value) : typeof value === type;
}

const EXAMPLES =
  'Expected JSON: {"transport": "http", "url": "https://..."} or {"transport": "stdio", "command": "...", "args": [], "env": {}}.';

/** @throws McpFailure that says what was expected and what was found */
export function readDefinition(input: string): ServerDefinition {
  if (input.length > MAX_DEFINITION_CHARACTERS) {
    throw refuse(`it is longer than ${MAX_DEFINITION_CHARACTERS} characters`);
  }
  let json: unknown;
  try {
    json = JSON.parse(input);
  } catch {
    throw refuse("it is not JSON");
  }
  const parsed = serverDefinitionSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw refuse(`${issue?.path.join(".") || "the whole of it"}: ${issue?.message ?? "does not fit"}`);
}

function refuse(problem: string): McpFailure {
  return refuseSettings(`The definition cannot be used: ${problem}. ${EXAMPLES}`);
}

function findProblem(text: string): string | null {
  const problem = findUrlProblem(text);
  if (problem !== null) return problem;
  return new URL(text).hash === "" ? null : "must not contain a fragment (#...)";
}
