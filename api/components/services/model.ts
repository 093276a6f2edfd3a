import { z } from "zod";
import { IDENTIFIER_PATTERN, MODULE_ID_PATTERN } from "#sdk";
import { flagSchema } from "../../http/filters.ts";
import { querySchema } from "../model.ts";
import { descriptorSchema } from "../registry.ts";

const MAX_ID_CHARACTERS = 100;
const MAX_URL_CHARACTERS = 4000;

const serviceIdSchema = z
  .string()
  .regex(IDENTIFIER_PATTERN, {
    error: "expected an identifier: letters, digits, _ and $, not starting with a digit",
  })
  .max(MAX_ID_CHARACTERS);

/** Names that JavaScript itself reads from `tools`, so a script could not access a service with such an id. */
const UNREACHABLE_IDS = ["then", "toJSON", "__proto__"];
const newServiceIdSchema = serviceIdSchema.refine((id) => !UNREACHABLE_IDS.includes(id), {
  error: `no script could call it: ${UNREACHABLE_IDS.join(", ")} are names that JavaScript itself asks for. Choose another`,
});

export const adapterIdSchema = z.string().regex(MODULE_ID_PATTERN).max(MAX_ID_CHARACTERS);

const webUrl = z
  .string()
  .max(MAX_URL_CHARACTERS)
  .refine((text) => /^https?:\/\/./i.test(text) && URL.canParse(text), {
    error: "expected an http or https URL",
    abort: true,
  });

/** The source URL is stored and displayed, so it must not contain secrets. */
const sourceUrl = webUrl.refine(
  (text) => {
    const { username, password } = new URL(text);
    return username === "" && password === "";
  },
  { error: "must not contain a user name or password: the source is stored and shown" },
);

export const serviceRecordSchema = z
  .object({
    id: z.string().describe("Chosen at installation; scripts call `tools.<id>.<tool>`."),
    name: z.string(),
    description: z.string(),
    adapter: z.string().describe("The module that made the tools of the definition and performs calls."),
    hash: z.string().describe("SHA-256 of the definition."),
    source: z.string().describe("Registry URL; empty for a direct installation."),
    enabled: z.boolean().describe("What was asked for."),
    effectivelyEnabled: z
      .boolean()
      .describe("Whether its tools can be called: enabled, not stale, and accepted by its active adapter."),
    stale: z.boolean().describe("The adapter has changed and could not regenerate the tools."),
    error: z.string().nullable().describe("Why it is stale, or was not accepted by its adapter."),
    problems: z
      .array(z.string())
      .describe("Unreadable parts of its definition that were left out, and why; at most 51 sentences."),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: "Service", description: "A service." });
export type ServiceRecord = z.infer<typeof serviceRecordSchema>;

export const jsonSchemaSchema = z.record(z.string(), z.unknown());

export const serviceDetailsSchema = serviceRecordSchema
  .extend({
    configSchema: jsonSchemaSchema.describe("JSON Schema of the configuration."),
    secretsSchema: jsonSchemaSchema.describe("JSON Schema of the secrets."),
  })
  .meta({ id: "ServiceDetails", description: "A service with the schemas of its settings." });
export type ServiceDetailsRecord = z.infer<typeof serviceDetailsSchema>;

export const serviceFilterSchema = z.strictObject({
  query: querySchema,
  enabled: flagSchema,
  stale: flagSchema,
  adapter: adapterIdSchema.optional(),
});
export type ServiceFilter = z.output<typeof serviceFilterSchema>;

export const serviceListSchema = z.object({
  services: z.array(serviceRecordSchema),
  nextCursor: z.string().nullable(),
});

export const serviceParamsSchema = z.object({ id: serviceIdSchema });

const url = webUrl
  .optional()
  .describe(
    "Where the definition is downloaded from, once, with the files of the same origin that an OpenAPI document refers to. Relative servers of such a document are relative to it, so it is stored for them without its query; else it is not stored.",
  );
const content = z.string().min(1).optional().describe("The definition itself.");
const operationFilter = z
  .array(z.string().trim().min(1).max(300))
  .min(1)
  .max(200)
  .optional()
  .describe(
    'For OpenAPI documents: which operations become tools. An entry is an operationId, "GET /repos/*" or "tag:issues"; `*` is any characters, `!` before it excludes. Kept as the setting `operationFilter` of the service.',
  );
const oneOfBoth = { error: "give either url or content" };
const hasOne = (body: { url?: string | undefined; content?: string | undefined }) =>
  (body.url === undefined) !== (body.content === undefined);

export const createServiceBodySchema = z
  .strictObject({ id: newServiceIdSchema, adapter: adapterIdSchema, url, content, operationFilter })
  .refine(hasOne, oneOfBoth)
  .describe("Exactly one of `url` and `content`.");
export type CreateServiceBody = z.output<typeof createServiceBodySchema>;

export const previewServiceBodySchema = z
  .strictObject({ adapter: adapterIdSchema, url, content, operationFilter })
  .refine(hasOne, oneOfBoth)
  .describe("Exactly one of `url` and `content`.");
export type PreviewServiceBody = z.output<typeof previewServiceBodySchema>;

export const servicePreviewSchema = z
  .object({
    name: z.string(),
    description: z.string(),
    toolCount: z.int().nonnegative(),
    tools: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          description: z.string().describe("Of a rule of the adapter `http`: what it allows, in sentences."),
          destructive: z.boolean(),
        }),
      )
      .describe("The first 200."),
    secretsSchema: jsonSchemaSchema,
    problems: z.array(z.string()).describe("Unreadable parts that would be left out, and why."),
  })
  .meta({ id: "ServicePreview", description: "The tools that a definition would become." });
export type ServicePreview = z.infer<typeof servicePreviewSchema>;

export const installServiceBodySchema = z.strictObject({
  source: sourceUrl.describe("URL of the registry's descriptor. Stored, for updates."),
  id: newServiceIdSchema.optional().describe("Defaults to the descriptor's value."),
  adapter: adapterIdSchema.optional().describe("Defaults to the descriptor's value."),
  operationFilter,
});
export type InstallServiceBody = z.output<typeof installServiceBodySchema>;

export const patchServiceBodySchema = z
  .strictObject({ url, content })
  .refine(hasOne, oneOfBoth)
  .describe("Exactly one of `url` and `content`.");
export type PatchServiceBody = z.output<typeof patchServiceBodySchema>;

export const serviceDescriptorSchema = descriptorSchema.extend({
  id: newServiceIdSchema.optional(),
  adapter: adapterIdSchema.optional(),
});

export const updatedAnswerSchema = z.object({
  id: z.string(),
  updated: z.boolean().describe("False if this definition was already installed."),
});
