/**
 * Lists a server's tools within limits and converts them to service tools. Invalid tools are left out with the
 * reason.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { cleanText, quoteForeign } from "#modules/shared/failures.ts";
import type { ToolDefinition } from "#sdk";
import { CONTENT_SCHEMA } from "../call/answer.ts";
import type { Connection, RequestLimits } from "../call/connection.ts";
import type { ModuleConfig } from "../config.ts";
import { outlineOf, type ToolDomain } from "../definition.ts";
import { McpFailure } from "../failures.ts";
import { checkSchema, type SchemaCheck } from "./schemas.ts";

const pageSchema = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().max(10_000).nullish(),
});

/** Returns the tools unchecked. @throws McpFailure, also if the list is too long */
export async function listTools(
  connection: Connection,
  config: ModuleConfig,
  limits: RequestLimits,
): Promise<unknown[]> {
  if (!connection.server.hasTools) {
    throw new McpFailure("mcp_bad_answer", "The server says that it has no tools (no such capability).");
  }
  const deadline = performance.now() + limits.timeoutMs;
  const tools: unknown[] = [];
  const cursors = new Set<string>();
  let bytes = 0;
  let cursor: string | undefined;
  for (let pages = 1; pages <= config.maxListPages; pages += 1) {
    const timeoutMs = deadline - performance.now();
    if (timeoutMs <= 0) {
      throw new McpFailure("mcp_timeout", `The list of tools took longer than ${limits.timeoutMs} ms.`);
    }
    const params = cursor === undefined ? {} : { cursor };
    const page = await connection.request("tools/list", params, pageSchema, { ...limits, timeoutMs });
    const text = writeTools(page.tools);
    bytes += Buffer.byteLength(text);
    if (bytes > config.maxListBytes) {
      throw tooLarge(`is larger than ${config.maxListBytes} bytes`, "maxListBytes");
    }
    // Parsing the text turns raw integers in schemas into numbers.
    tools.push(...(JSON.parse(text) as unknown[]));
    if (tools.length > config.maxTools) throw tooLarge(`has more than ${config.maxTools} tools`, "maxTools");
    if (!page.nextCursor) return tools;
    // A page that points back to an earlier one is the last.
    if (cursors.has(page.nextCursor)) return tools;
    cursor = page.nextCursor;
    cursors.add(cursor);
  }
  throw tooLarge(`has more than ${config.maxListPages} pages`, "maxListPages");
}

function writeTools(tools: unknown[]): string {
  try {
    return JSON.stringify(tools);
  } catch {
    throw new McpFailure("mcp_bad_answer", "The server's list of tools is nested too deeply to be read.");
  }
}

function tooLarge(problem: string, setting: string): McpFailure {
  return new McpFailure(
    "mcp_too_large",
    `The server's list of tools ${problem} (${setting} of the module mcp).`,
  );
}

const MAX_NAME_CHARACTERS = 500;
const MAX_DESCRIPTION_CHARACTERS = 20_000;

const optional = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => value ?? undefined, schema.optional());
/** Servers write `"true"`. Other values count as absent: the protocol's defaults are the cautious ones. */
const hint = z.preprocess(
  (value) => (value === "true" ? true : value === "false" ? false : value),
  z.boolean().optional().catch(undefined),
);
const text = optional(z.string());
const schema = z.record(z.string(), z.unknown());

const toolSchema = z.object({
  name: z.string().min(1).max(MAX_NAME_CHARACTERS),
  title: text,
  description: text,
  inputSchema: optional(schema),
  outputSchema: optional(schema),
  annotations: optional(z.object({ title: text, destructiveHint: hint, readOnlyHint: hint })),
  execution: optional(z.object({ taskSupport: text })),
});
type ServerTool = z.infer<typeof toolSchema>;

export interface OfferedTools {
  tools: ToolDefinition[];
  leftOut: { name: string; reason: string }[];
}

/** Sorts by name. `stored` has an installed service's ids by name. */
export function offerTools(
  listed: readonly unknown[],
  stored: ReadonlyMap<string, string> = new Map(),
): OfferedTools {
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
  const ids = assignIds([...offered.keys()], stored);
  const tools = [...offered]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, tool]) => ({ id: ids.get(key) as string, ...tool }));
  return { tools, leftOut };
}

function offerTool(raw: unknown): { key: string; tool: Omit<ToolDefinition, "id"> } | string {
  const parsed = toolSchema.safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `its ${issue?.path.join(".") || "description"} does not follow the protocol`;
  }
  const tool = parsed.data;
  if (cleanText(tool.name) !== tool.name) return "its name contains control characters";
  if (tool.execution?.taskSupport === "required") return "it can be called as a background task only";
  const input = checkSchema(tool.inputSchema ?? {});
  if (!input.ok) return `its inputSchema cannot be used: ${input.problem}`;
  if (input.schema.type !== undefined && input.schema.type !== "object")
    return "its inputSchema does not describe an object";
  const output = tool.outputSchema === undefined ? null : checkSchema(tool.outputSchema);
  return {
    key: tool.name,
    tool: {
      name: quoteForeign(tool.title || tool.annotations?.title || tool.name, MAX_NAME_CHARACTERS),
      description: quoteForeign(tool.description ?? "", MAX_DESCRIPTION_CHARACTERS),
      inputSchema: { ...input.schema, type: "object" },
      outputSchema: output === null ? CONTENT_SCHEMA : output.ok ? output.schema : {},
      adapterDomain: { name: tool.name, ...promiseOf(output) } satisfies ToolDomain,
      destructive: isDestructive(tool),
    },
  };
}

function promiseOf(output: SchemaCheck | null): Omit<ToolDomain, "name"> {
  if (output === null) return { structured: false };
  return output.ok ? { structured: true, outline: outlineOf(output.schema) } : { structured: true };
}

/**
 * A tool is destructive unless it says that it is read-only or not destructive. One that claims to be both read-only
 * and destructive is destructive.
 */
function isDestructive({ annotations }: ServerTool): boolean {
  return annotations?.destructiveHint ?? annotations?.readOnlyHint !== true;
}

const MAX_ID_CHARACTERS = 100;
const HASH_CHARACTERS = 6;
const MAX_SEGMENTS = 8;

/**
 * Assigns ids that do not depend on the tools' order. A stored id stays. A name gets its place in a group, or its
 * identifier if no other name wants that; the rest get part of their hash.
 */
export function assignIds(
  names: readonly string[],
  stored: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  const give = (name: string, id: string) => {
    ids.set(name, id);
    taken.add(id);
  };
  const open = () => sorted.filter((name) => !ids.has(name));
  const sorted = [...new Set(names)].sort();
  for (const name of sorted) {
    const id = stored.get(name);
    if (id !== undefined && !taken.has(id)) give(name, id);
  }
  for (const idOf of [toGroupedId, toIdentifier]) {
    for (const [id, sharers] of Map.groupBy(open(), idOf)) {
      if (id === null || taken.has(id)) continue;
      const owner = sharers.length === 1 ? sharers[0] : sharers.find((name) => name === id);
      if (owner !== undefined) give(owner, id);
    }
  }
  for (const name of open()) {
    const id = toIdentifier(name);
    const short = `${id}_${hash(name)}`;
    give(name, taken.has(short) ? `${id}_${hash(`${id} ${name}`, 16)}` : short);
  }
  return ids;
}

/** Returns `issues.list` for `issues.list` and `issues/list`, or null if a part cannot be an identifier. */
function toGroupedId(name: string): string | null {
  const pieces = name.split(/[./]/);
  const isGrouped = pieces.length > 1 && pieces.length <= MAX_SEGMENTS && name.length <= MAX_ID_CHARACTERS;
  if (!isGrouped || !pieces.every((piece) => /^[A-Za-z_$][\w$-]*$/.test(piece))) return null;
  return pieces.map(toIdentifier).join(".");
}

function toIdentifier(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_$]/g, "_");
  const started = /^[A-Za-z_$]/.test(plain) ? plain : `_${plain}`;
  const short =
    started.length > MAX_ID_CHARACTERS ? `${started.slice(0, MAX_ID_CHARACTERS)}_${hash(name)}` : started;
  // Names that every object has, and `then`, which makes an object a promise, cannot be ids.
  return short in Object.prototype || short === "then" ? `${short}_` : short;
}

function hash(text: string, characters = HASH_CHARACTERS): string {
  return createHash("sha256").update(text).digest("hex").slice(0, characters);
}
