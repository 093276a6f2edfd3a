import { z } from "zod";

const jsonSchema = z.record(z.string(), z.unknown());

export const settingsHeadersSchema = z.object({
  "if-match": z
    .string()
    .optional()
    .describe("`ETag` of the settings the patch was made for; 412 if they have changed."),
});

export const configAnswerSchema = z
  .object({
    config: z.record(z.string(), z.unknown()).describe("The values set; defaults are in the schema."),
    outdated: z.array(z.string()).describe("JSON pointers of values that no longer match the schema."),
  })
  .meta({ id: "Configuration", description: "The configuration of a module or service." });
export type ConfigAnswer = z.infer<typeof configAnswerSchema>;

export const secretsAnswerSchema = z
  .object({
    present: z
      .array(z.string())
      .describe("JSON pointers of the values that are set. Values are never returned."),
    outdated: z
      .array(z.string())
      .describe(
        "JSON pointers of values that no longer match the schema, and of a service's secrets that would be sent to another place than when they were set. The service is then not used: set or remove all of these in one patch.",
      ),
  })
  .meta({ id: "SecretsState", description: "Which secrets of a module or service are set." });
export type SecretsAnswer = z.infer<typeof secretsAnswerSchema>;

export const secretsUpdatedSchema = z.object({ updated: z.literal(true) });
export const configSchemaAnswerSchema = z.object({
  configSchema: jsonSchema.describe("JSON Schema of the configuration."),
});
export const secretsSchemaAnswerSchema = z.object({
  secretsSchema: jsonSchema.describe("JSON Schema of the secrets."),
});
