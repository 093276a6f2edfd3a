/**
 * Generates a service from a definition within a time limit. The adapter and the definition are foreign, so their
 * results are checked before use.
 */
import { waitAtMost } from "#api/bounds/deadline.ts";
import { type Cut, readFailure } from "#api/bounds/failure-text.ts";
import { AppError } from "#api/errors.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import {
  type AdapterModule,
  type DefinitionContext,
  type JSONSchema,
  type ServiceDefinition,
  serviceDefinitionSchema,
  type ToolDefinition,
} from "#sdk";
import { requireSettingsSchema } from "./settings-schema.ts";

const DEFINITION_LIMITS = {
  maxGenerateMs: 60_000,
  maxTools: 20_000,
  maxToolIdCharacters: 200,
  maxNameCharacters: 500,
  maxDescriptionCharacters: 100_000,
  maxToolCharacters: 8 * 1024 * 1024,
  maxTotalCharacters: 256 * 1024 * 1024,
  maxDepth: 400,
  maxProblems: 50,
  maxProblemCharacters: 500,
} as const;

export interface Generation {
  adapterId: string;
  adapter: AdapterModule;
  definition: string;
  settings?: DefinitionContext;
  redactor: Pick<Redactor, "cut">;
}

/** Throws AppError `invalid_definition` with the adapter's message or the reason why its result is invalid. */
export async function generateDefinition(generation: Generation): Promise<ServiceDefinition> {
  const { adapterId, adapter, definition, settings, redactor } = generation;
  let made: unknown;
  try {
    const answer = Promise.resolve().then(() => adapter.generateDefinition(definition, settings));
    made = await waitAtMost(
      answer,
      DEFINITION_LIMITS.maxGenerateMs,
      `Making the tools with the adapter ${adapterId}`,
    );
  } catch (error) {
    throw new AppError(
      "invalid_definition",
      `The adapter ${adapterId} refuses the definition: ${readFailure(error, redactor.cut)}`,
    );
  }
  try {
    return checkDefinition(made, redactor.cut);
  } catch (error) {
    throw new AppError(
      "invalid_definition",
      `What the adapter ${adapterId} made of the definition cannot be installed: ${readFailure(error, redactor.cut)}`,
    );
  }
}

function checkDefinition(made: unknown, cut: Cut): ServiceDefinition {
  const count = (made as { tools?: { length?: unknown } } | null)?.tools?.length;
  if (typeof count === "number" && count > DEFINITION_LIMITS.maxTools) {
    throw new Error(`It has ${count} tools; at most ${DEFINITION_LIMITS.maxTools} are kept.`);
  }
  const parsed = serviceDefinitionSchema.safeParse(made);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`${issue?.path.join(".") || "the definition"}: ${issue?.message}.`);
  }
  const { tools, problems = [], ...service } = parsed.data;
  let left = DEFINITION_LIMITS.maxTotalCharacters - measure("the service", service);
  checkSettingsSchema("configSchema", service.configSchema);
  checkSettingsSchema("secretsSchema", service.secretsSchema);
  const ids = new Set<string>();
  for (const tool of tools) {
    checkToolId(tool.id, ids);
    left -= measure(`the tool ${tool.id}`, tool);
    if (left < 0) {
      throw new Error(
        `All tools together would be more than ${DEFINITION_LIMITS.maxTotalCharacters} characters of JSON.`,
      );
    }
  }
  return {
    ...service,
    ...cleanTexts("the service", service, cut),
    problems: cutProblems(problems, cut),
    tools: tools.map(
      (tool): ToolDefinition => ({ ...tool, ...cleanTexts(`the tool ${tool.id}`, tool, cut) }),
    ),
  };
}

function cutProblems(problems: readonly string[], cut: Cut): string[] {
  const { maxProblems, maxProblemCharacters } = DEFINITION_LIMITS;
  const shown = problems
    .slice(0, maxProblems)
    .map((text) => cut(text.replaceAll("\0", "\u{fffd}"), maxProblemCharacters).toWellFormed());
  const left = problems.length - shown.length;
  return left === 0 ? shown : [...shown, `And ${left} more.`];
}

function checkToolId(id: string, seen: Set<string>): void {
  if (id.length > DEFINITION_LIMITS.maxToolIdCharacters) {
    throw new Error(
      `The tool id ${id.slice(0, 50)}... is longer than ${DEFINITION_LIMITS.maxToolIdCharacters} characters.`,
    );
  }
  if (id.split(".").includes("__proto__")) throw new Error("A tool cannot be called __proto__.");
  if (seen.has(id)) throw new Error(`Two tools are called ${id}.`);
  seen.add(id);
}

/**
 * Estimates a value's length as JSON before it is serialized. Shared parts count at each occurrence, so a small
 * object graph cannot expand without limit. Throws Error if a limit is exceeded.
 */
function measure(what: string, value: unknown): number {
  const { maxToolCharacters, maxDepth } = DEFINITION_LIMITS;
  let left: number = maxToolCharacters;
  function visit(node: unknown, depth: number): void {
    const isNested = typeof node === "object" && node !== null;
    left -= typeof node === "string" ? node.length + 2 : isNested ? 2 : 8;
    if (left < 0) throw new Error(`${what} would be more than ${maxToolCharacters} characters of JSON.`);
    if (typeof node === "bigint") throw new Error(`${what} contains a bigint, which JSON cannot express.`);
    if (!isNested) return;
    if (depth >= maxDepth) throw new Error(`${what} is nested deeper than ${maxDepth} levels, or in itself.`);
    for (const key in node) {
      if (!Array.isArray(node)) left -= key.length + 4;
      visit((node as Record<string, unknown>)[key], depth + 1);
    }
  }
  visit(value, 0);
  return maxToolCharacters - left;
}

/** Shortens both texts, which are displayed and searched, and removes characters that Postgres cannot store. */
function cleanTexts(
  what: string,
  { name, description }: { name: string; description: string },
  cut: Cut,
): { name: string; description: string } {
  if (name.includes("\0") || description.includes("\0")) {
    throw new Error(
      `The name or description of ${what} contains a NUL character (U+0000), which cannot be stored.`,
    );
  }
  return {
    name: shorten(name, DEFINITION_LIMITS.maxNameCharacters, cut),
    description: shorten(description, DEFINITION_LIMITS.maxDescriptionCharacters, cut),
  };
}

function shorten(text: string, maxCharacters: number, cut: Cut): string {
  const shown = cut(text, maxCharacters + 1);
  return (shown.length > maxCharacters ? `${shown.slice(0, maxCharacters - 3)}...` : shown).toWellFormed();
}

function checkSettingsSchema(name: string, schema: JSONSchema): void {
  try {
    requireSettingsSchema(schema);
  } catch (error) {
    throw new Error(`Its ${name} cannot be used: ${readFailure(error)}`);
  }
}
