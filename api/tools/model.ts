import { z } from "zod";
import { IDENTIFIER_PATTERN, TOOL_ID_PATTERN } from "#sdk";
import { flagSchema, wordsSchema } from "../http/filters.ts";
import { DECISIONS } from "./contract.ts";

const MAX_SERVICE_ID_CHARACTERS = 100;
const MAX_TOOL_ID_CHARACTERS = 200;

const identifier = z.string().regex(IDENTIFIER_PATTERN, {
  error: "expected an identifier: letters, digits, _ and $, not starting with a digit",
});
const serviceId = identifier.max(MAX_SERVICE_ID_CHARACTERS);
const toolId = z
  .string()
  .regex(TOOL_ID_PATTERN, { error: "expected an identifier, or up to 8 joined by dots, such as issues.list" })
  .max(MAX_TOOL_ID_CHARACTERS);

export const toolSummarySchema = z
  .object({
    serviceId: z.string(),
    id: z.string().describe("Scripts call `tools.<serviceId>.<id>(parameters)`."),
    name: z.string(),
    description: z.string(),
    enabled: z.boolean().describe("What was asked for."),
    effectivelyEnabled: z
      .boolean()
      .describe(
        "Whether it can be called: it and its service are enabled, the service is not stale, its adapter is enabled and present and has taken it on.",
      ),
    destructive: z.boolean().describe("Whether a call may change something."),
    policy: z.enum(DECISIONS).describe("What the policies say about a call by this caller."),
    score: z
      .number()
      .optional()
      .describe(
        "How well it fits `query`; only with one. 0: nothing was found, and this is one of the nearest.",
      ),
    signature: z.string().optional().describe("Its TypeScript type on one line; only with `query`."),
  })
  .meta({ id: "ToolSummary", description: "A tool." });
export type ToolSummaryRecord = z.infer<typeof toolSummarySchema>;

const jsonSchema = z.record(z.string(), z.unknown());

export const toolDetailsSchema = toolSummarySchema
  .omit({ score: true, signature: true })
  .extend({
    inputSchema: jsonSchema.describe("JSON Schema of the parameters."),
    outputSchema: jsonSchema.describe("JSON Schema of the result."),
  })
  .meta({ id: "Tool", description: "A tool with the schemas of its parameters and its result." });
export type ToolDetailsRecord = z.infer<typeof toolDetailsSchema>;

export const toolListSchema = z.object({
  tools: z.array(toolSummarySchema),
  nextCursor: z.string().nullable(),
  services: z
    .array(z.string())
    .optional()
    .describe("Only where nothing was found for `query`: ids of the services there are, at most 50."),
  packages: z
    .array(z.object({ name: z.string(), version: z.string(), description: z.string() }))
    .optional()
    .describe(
      "Only on the first page for `query` and without `serviceId`: up to 5 npm packages that fit and that scripts of the caller may import.",
    ),
});

export const toolFilterSchema = z.strictObject({
  serviceId: serviceId.optional().describe("Only tools of this service; 404 where there is none."),
  query: wordsSchema.describe(
    "What a tool should do, in any words. Each may be found in path, name, description or parameters: as it is, in another form, as the start of a word, misspelt, or as a synonym. More and rarer words rank higher.",
  ),
  enabled: flagSchema.describe("The tool's own flag."),
});

export const toolParamsSchema = z.object({ serviceId, toolId });

export const declarationsQuerySchema = z.strictObject({
  serviceId: serviceId.optional().describe("Only tools of this service, and no packages."),
  globals: flagSchema.describe(
    "false: without `fetch`, `URL`, `console` and what else any script finds, for a project in which other declarations have them.",
  ),
});

export const enabledBodySchema = z.strictObject({ enabled: z.boolean() });
export const enabledAnswerSchema = z.object({ serviceId: z.string(), id: z.string(), enabled: z.boolean() });

export const invokeBodySchema = z.strictObject({
  parameters: jsonSchema
    .default({})
    .describe("What the tool is called with; checked against its `inputSchema`."),
  throwOnError: z
    .boolean()
    .default(true)
    .describe("false: an answer of the service that says it failed, such as HTTP 404, is the result."),
});
export const invokeAnswerSchema = z.object({
  result: z.unknown().describe("What the tool answered: any JSON."),
});
