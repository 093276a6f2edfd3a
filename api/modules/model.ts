/**
 * What the modules feature takes and answers over HTTP: one schema per thing, from which types, validation and the
 * OpenAPI document follow. No behaviour.
 */
import { z } from "zod";
import { MODULE_ID_PATTERN, MODULE_TYPES } from "#sdk";

export const MODULE_STATES = ["inactive", "active", "draining"] as const;

export const MAX_PATCH_OPERATIONS = 100;
const MAX_POINTER_CHARACTERS = 1000;
const MAX_POINTER_SEGMENTS = 32;
const MAX_QUERY_CHARACTERS = 200;

export const moduleRecordSchema = z
  .object({
    id: z.string().describe("Chosen by the module."),
    name: z.string(),
    type: z
      .enum(MODULE_TYPES)
      .describe("`environment`: runs scripts. `adapter`: makes services of definitions."),
    description: z.string(),
    version: z.string().nullable(),
    isBuiltin: z.boolean().describe("Comes with the server; cannot be deleted."),
    enabled: z.boolean().describe("What was asked for; see `state` for what is."),
    missing: z.boolean().describe("The module was not found at the last start. Its settings are kept."),
    error: z.string().nullable().describe("Why it did not load or could not be activated."),
    state: z
      .enum(MODULE_STATES)
      .describe("`draining`: replaced, and ending its last runs. It takes no new ones."),
    hash: z.string().describe("SHA-256 of the module; of the manifest for a built-in."),
    source: z.string().describe("Registry URL; empty without one."),
    createdAt: z.iso.datetime(),
  })
  .describe("A module.");
export type ModuleRecord = z.infer<typeof moduleRecordSchema>;
export type ModuleState = ModuleRecord["state"];

const flag = z
  .enum(["true", "false"], { error: "expected true or false" })
  .transform((value) => value === "true")
  .optional();

export const moduleFilterSchema = z.strictObject({
  query: z
    .string()
    .trim()
    .max(MAX_QUERY_CHARACTERS)
    .refine((text) => !text.includes("\0"), { error: "must not hold a NUL character" })
    .optional()
    .describe("Part of an id, a name or a description, in any case."),
  type: z.enum(MODULE_TYPES).optional(),
  isBuiltin: flag,
  enabled: flag,
  missing: flag,
});
export type ModuleFilter = z.output<typeof moduleFilterSchema>;

export const moduleListSchema = z.object({
  modules: z.array(moduleRecordSchema),
  nextCursor: z.string().nullable(),
});

export const moduleParamsSchema = z.object({ id: z.string().regex(MODULE_ID_PATTERN).max(100) });

export const enabledBodySchema = z.strictObject({
  enabled: z
    .boolean()
    .describe("Enabling an environment replaces the active one once the new one has started."),
});
export const enabledAnswerSchema = z.object({ id: z.string(), enabled: z.boolean() });

export const configAnswerSchema = z.object({
  config: z.record(z.string(), z.unknown()).describe("What was set; defaults are in the schema."),
  outdated: z.array(z.string()).describe("JSON pointers of settings that no longer fit the schema."),
});
export type ConfigAnswer = z.infer<typeof configAnswerSchema>;

export const configSchemaAnswerSchema = z.object({
  configSchema: z.record(z.string(), z.unknown()).describe("JSON Schema of the configuration."),
});

/** A JSON Pointer (RFC 6901) that cannot reach what an object inherits. */
const pointer = z
  .string()
  .max(MAX_POINTER_CHARACTERS)
  .regex(/^(?:\/(?:[^/~]|~[01])*)*$/, {
    error: "expected a JSON Pointer: empty, or segments that each start with / (write ~ as ~0, / as ~1)",
  })
  .refine((text) => text.split("/").length <= MAX_POINTER_SEGMENTS + 1, {
    error: `expected at most ${MAX_POINTER_SEGMENTS} segments`,
  })
  .refine((text) => !splitPointer(text).some((segment) => segment in Object.prototype), {
    error: "names that every object has (__proto__, constructor, toString, ...) are not settings",
  });

/** The unescaped segments of a JSON Pointer. */
export function splitPointer(text: string): string[] {
  return text
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}

const patchValue = z
  .unknown()
  .refine((value) => value !== undefined, { error: "add, replace and test need a value" })
  .describe("Any JSON.");

const patchOperationSchema = z.discriminatedUnion("op", [
  z.object({ op: z.literal("add"), path: pointer, value: patchValue }),
  z.object({ op: z.literal("replace"), path: pointer, value: patchValue }),
  z.object({ op: z.literal("test"), path: pointer, value: patchValue }),
  z.object({ op: z.literal("remove"), path: pointer }),
  z.object({ op: z.literal("move"), from: pointer, path: pointer }),
  z.object({ op: z.literal("copy"), from: pointer, path: pointer }),
]);
export type PatchOperation = z.infer<typeof patchOperationSchema>;

export const patchBodySchema = z
  .array(patchOperationSchema)
  .min(1)
  .max(MAX_PATCH_OPERATIONS)
  .describe("JSON Patch (RFC 6902), applied as a whole or not at all.");
