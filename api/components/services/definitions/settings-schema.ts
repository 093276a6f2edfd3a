/**
 * Checks the settings schemas in a definition. They are foreign and validate settings on the server's main thread, so
 * only schemas with bounded validation time are accepted.
 */
import { compileSettings } from "#api/components/settings/schema.ts";
import { AppError } from "#api/errors.ts";
import { resolveReference } from "#kernel/foreign-json.ts";
import type { JSONSchema } from "#sdk";

const SETTINGS_SCHEMA_LIMITS = {
  maxCharacters: 256 * 1024,
  maxSubschemas: 2000,
} as const;

/** Keywords whose member names are chosen by the schema, so a name may equal a keyword. */
const MAPS = new Set(["properties", "patternProperties", "dependentSchemas"]);

export function requireSettingsSchema(schema: JSONSchema): void {
  if (JSON.stringify(schema).length > SETTINGS_SCHEMA_LIMITS.maxCharacters) {
    throw new Error(`It has more than ${SETTINGS_SCHEMA_LIMITS.maxCharacters} characters.`);
  }
  countSubschemas(schema);
  compileSettings(schema);
}

function countSubschemas(root: JSONSchema): void {
  let count = 0;
  let repetitions = 0;
  const above = new Set<object>();

  function visit(node: unknown): void {
    if (typeof node !== "object" || node === null) return;
    count += 1;
    if (count > SETTINGS_SCHEMA_LIMITS.maxSubschemas) {
      throw new Error(
        `Written out it has more than ${SETTINGS_SCHEMA_LIMITS.maxSubschemas} parts. Shorten it.`,
      );
    }
    above.add(node);
    for (const [keyword, value] of Object.entries(node)) visitMember(keyword, value);
    above.delete(node);
  }

  function visitMember(keyword: string, value: unknown): void {
    if (keyword === "$dynamicRef" || keyword === "$recursiveRef") {
      throw new Error(`It uses ${keyword}, which is not followed. Use $ref.`);
    }
    if (keyword === "$defs" || keyword === "definitions") return;
    if (keyword === "$ref" && typeof value === "string") follow(value);
    else if (!MAPS.has(keyword)) visit(value);
    else for (const schema of Object.values(value ?? {})) visit(schema);
  }

  /** One recursive reference describes a tree of settings; two would double the work at each level. */
  function follow(reference: string): void {
    const target = lookUp(root, reference);
    if (typeof target === "boolean") return;
    if (!above.has(target)) {
      visit(target);
      return;
    }
    repetitions += 1;
    if (repetitions > 1) throw new Error("It is recursive in more than one place.");
  }

  visit(root);
}

function lookUp(root: JSONSchema, reference: string): object | boolean {
  const node = resolveReference(root, reference);
  if ((typeof node === "object" && node !== null) || typeof node === "boolean") return node;
  throw new Error(`It refers to ${JSON.stringify(reference.slice(0, 200))}, which it does not have.`);
}

export function requireFilter(adapterId: string, { properties }: JSONSchema): void {
  if (typeof properties === "object" && properties !== null && "operationFilter" in properties) return;
  const message = `the adapter ${adapterId} makes no tools of operations: leave it out`;
  throw new AppError("invalid_request", `The request is not valid: body.operationFilter: ${message}.`, {
    issues: [{ path: "body.operationFilter", message }],
  });
}
