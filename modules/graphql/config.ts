import { z } from "zod";
import { findUrlProblem, httpConfigFields } from "#modules/shared/settings.ts";
import { refuseSettings } from "./failures.ts";

const MIB = 1024 * 1024;

export const moduleConfigSchema = z.strictObject({
  maxDepth: z
    .int()
    .min(1)
    .max(10)
    .default(3)
    .describe("Levels of objects in a generated selection; callers choose their own with `select`."),
  maxFields: z.int().min(1).max(2000).default(100).describe("Fields in a generated selection."),
  maxTools: z.int().min(1).max(20_000).default(5000).describe("Query and mutation fields of one schema."),
  maxSchemaBytes: z
    .int()
    .min(1024)
    .max(64 * MIB)
    .default(30 * MIB)
    .describe("Size limit of an introspection response."),
  introspectionTimeoutMs: z
    .int()
    .min(100)
    .max(120_000)
    .default(10_000)
    .describe("Time limit of an introspection request."),
});
export type ModuleConfig = z.infer<typeof moduleConfigSchema>;

const endpoint = z
  .string()
  .max(8192)
  .describe("http or https URL that operations are posted to; requests carry the service's secrets.");

/** The definition's endpoint becomes the default; without one, the setting is required. */
export function serviceConfigSchema(definedEndpoint: string | null) {
  return z.strictObject({
    endpoint: definedEndpoint === null ? endpoint : endpoint.default(definedEndpoint),
    ...httpConfigFields,
  });
}

/** @throws GraphqlFailure for a URL that is not http(s) or contains credentials */
export function readEndpoint(text: string, where: string): URL {
  const problem = findUrlProblem(text);
  if (problem !== null) throw refuseSettings(`${where}: ${problem}.`);
  const url = new URL(text);
  url.hash = "";
  return url;
}
