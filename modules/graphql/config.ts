/** Settings of the module and of each service: one schema each that checks, documents and fills in defaults. */
import { z } from "zod";
import type { JSONSchema } from "#sdk";
import { GraphqlFailure } from "./failures.ts";

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
    .describe("Size of an introspection answer."),
  introspectionTimeoutMs: z
    .int()
    .min(100)
    .max(120_000)
    .default(10_000)
    .describe("Longest time of an introspection request."),
});
export type ModuleConfig = z.infer<typeof moduleConfigSchema>;

const header = z.record(z.string().min(1).max(200), z.string().max(8192));

const endpoint = z
  .string()
  .max(8192)
  .describe("http or https URL that operations are posted to; requests carry the service's secrets.");

/** With the definition's own endpoint as the default; without one, it must be set. */
export function serviceConfigSchema(definedEndpoint: string | null) {
  return z.strictObject({
    endpoint: definedEndpoint === null ? endpoint : endpoint.default(definedEndpoint),
    timeoutMs: z.int().min(1).max(3_600_000).default(60_000).describe("Longest time of one request."),
    maxResponseBytes: z
      .int()
      .min(1024)
      .max(64 * MIB)
      .default(8 * MIB)
      .describe("Largest answer to one request, unpacked."),
    headers: header
      .default({})
      .describe("Headers of every request. What is confidential belongs into the secrets instead."),
  });
}
export type ServiceConfig = z.infer<ReturnType<typeof serviceConfigSchema>>;

export const secretsSchema = z.strictObject({
  bearerToken: z.string().min(1).max(8192).optional().describe("Sent as `Authorization: Bearer <token>`."),
  headers: header.optional().describe("Headers of every request, such as `X-Api-Key`."),
});
export type Secrets = z.infer<typeof secretsSchema>;

/** A zod schema as JSON Schema of what a person writes: defaults are optional. */
export function toSettingsSchema(schema: z.ZodType): JSONSchema {
  return z.toJSONSchema(schema, { io: "input" });
}

/**
 * Checks settings that the host holds for this adapter.
 * @throws GraphqlFailure naming the place, never a value.
 */
export function readSettings<T>(schema: z.ZodType<T>, raw: unknown, what: string): T {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = [what, ...(issue?.path ?? []).map(String)].join(".");
  const problem = issue?.code === "invalid_type" ? `expected ${issue.expected}` : "does not fit its schema";
  throw new GraphqlFailure(
    "graphql_bad_settings",
    `${path}: ${problem}. See GET /services/:id/${what}/schema.`,
  );
}

/** @throws GraphqlFailure for what is no http(s) URL, or holds credentials. */
export function readEndpoint(text: string, where: string): URL {
  const refuse = (problem: string) => new GraphqlFailure("graphql_bad_settings", `${where}: ${problem}.`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw refuse("expected an http or https URL");
  }
  if (url.username !== "" || url.password !== "") {
    throw refuse("a URL must not hold credentials; they belong into the service's secrets");
  }
  url.hash = "";
  return url;
}

/** Headers that belong to HTTP: a setting of these would break a request. */
const OWN_HEADERS = new Set([
  "accept",
  "connection",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * The headers of every request, lower-case; a secret one wins over one of the configuration.
 * @throws GraphqlFailure naming a header that HTTP does not allow, never its value.
 */
export function makeHeaders(config: ServiceConfig, secrets: Secrets): Record<string, string> {
  const headers: Record<string, string> = {};
  const add = (where: string, name: string, value: string) => {
    const key = name.toLowerCase();
    const refuse = (problem: string) => new GraphqlFailure("graphql_bad_settings", `${where}: ${problem}.`);
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(key)) {
      throw refuse(`${JSON.stringify(name)} is not the name of a header`);
    }
    if (OWN_HEADERS.has(key)) throw refuse(`the header ${key} is set by this adapter; remove it`);
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw refuse(`the value of ${key} has characters that no header can carry (a line break?)`);
    }
    headers[key] = value;
  };
  for (const [name, value] of Object.entries(config.headers)) add("config.headers", name, value);
  if (secrets.bearerToken !== undefined) {
    add("secrets.bearerToken", "authorization", `Bearer ${secrets.bearerToken}`);
  }
  for (const [name, value] of Object.entries(secrets.headers ?? {})) add("secrets.headers", name, value);
  return headers;
}
