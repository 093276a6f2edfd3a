import { z } from "zod";
import { MODULE_ID_PATTERN, MODULE_TYPES } from "#sdk";
import { flagSchema } from "../../http/filters.ts";
import { querySchema } from "../model.ts";
import { descriptorSchema } from "../registry.ts";

export const MODULE_STATES = ["inactive", "active", "draining"] as const;

const MAX_URL_CHARACTERS = 4000;

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
    missing: z
      .boolean()
      .describe("The module was not found at the last start or reload. Its settings are kept."),
    error: z.string().nullable().describe("Why it did not load or could not be activated."),
    state: z
      .enum(MODULE_STATES)
      .describe("`draining`: replaced, and ending its last runs. It takes no new ones."),
    hash: z
      .string()
      .describe(
        "SHA-256: of the package, of the files of a folder placed by hand, of the manifest of a built-in.",
      ),
    source: z.string().describe("Registry URL; empty without one."),
    createdAt: z.iso.datetime(),
    replicas: z
      .array(z.object({ replica: z.string(), state: z.enum(MODULE_STATES) }))
      .optional()
      .describe("Its state on other replicas, if it differs. Only when a single module is read."),
  })
  .meta({ id: "Module", description: "A module." });
export type ModuleRecord = z.infer<typeof moduleRecordSchema>;
export type ModuleState = ModuleRecord["state"];

export const moduleFilterSchema = z.strictObject({
  query: querySchema,
  type: z.enum(MODULE_TYPES).optional(),
  isBuiltin: flagSchema,
  enabled: flagSchema,
  missing: flagSchema,
});
export type ModuleFilter = z.output<typeof moduleFilterSchema>;

export const moduleListSchema = z.object({
  modules: z.array(moduleRecordSchema),
  nextCursor: z.string().nullable(),
});

export const moduleParamsSchema = z.object({ id: z.string().regex(MODULE_ID_PATTERN).max(100) });

const webUrl = z
  .string()
  .max(MAX_URL_CHARACTERS)
  .refine(isWebUrl, { error: "expected an http or https URL without user name and password" });
export const installBodySchema = z.strictObject({
  url: webUrl.describe("URL of a package (.tar.zst). Used once, not stored."),
});
export const installFromBodySchema = z.strictObject({
  source: webUrl.describe(
    "URL of the registry's descriptor, `{downloadUrl, hash?, id?}`. Stored, for updates.",
  ),
});
export const moduleDescriptorSchema = descriptorSchema.extend({ id: z.string().max(100).optional() });

export const updatedAnswerSchema = z.object({
  id: z.string(),
  updated: z.boolean().describe("False if this package was already installed."),
});
export const reloadAnswerSchema = z.object({
  added: z.array(z.string()).describe("New ids; they are disabled unless they were known."),
  changed: z.array(z.string()).describe("Ids whose files changed."),
  removed: z.array(z.string()).describe("Ids whose files were removed; they are now `missing`."),
  problems: z
    .array(z.object({ folder: z.string(), error: z.string() }))
    .describe("Folders without a usable module, and why."),
});
export type ReloadAnswer = z.infer<typeof reloadAnswerSchema>;

function isWebUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "";
}
