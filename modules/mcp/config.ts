/** Settings of the module and of each service: one schema each that checks, documents and fills in defaults. */
import { z } from "zod";
import type { JSONSchema } from "#sdk";
import { McpFailure } from "./failures.ts";

const MIB = 1024 * 1024;

export const moduleConfigSchema = z.strictObject({
  connectTimeoutMs: z
    .int()
    .min(100)
    .max(120_000)
    .default(10_000)
    .describe("Longest time to connect to a server and to agree on a protocol version."),
  listTimeoutMs: z
    .int()
    .min(100)
    .max(300_000)
    .default(20_000)
    .describe("Longest time to read the whole list of tools, at install and sync."),
  maxListPages: z.int().min(1).max(1000).default(100).describe("Pages of a list of tools."),
  maxTools: z.int().min(1).max(10_000).default(1000).describe("Tools of one server."),
  maxListBytes: z
    .int()
    .min(1024)
    .max(64 * MIB)
    .default(16 * MIB)
    .describe("Size of all pages of a list of tools together."),
});
export type ModuleConfig = z.infer<typeof moduleConfigSchema>;

const header = z.record(z.string().min(1).max(200), z.string().max(8192));

const timeoutMs = z
  .int()
  .min(1)
  .max(3_600_000)
  .default(60_000)
  .describe("Longest time of one call; the server's limit for every tool call holds besides.");

const maxResponseBytes = z
  .int()
  .min(1024)
  .max(64 * MIB)
  .default(8 * MIB)
  .describe("Largest answer to one call, with everything that is sent along with it.");

export const httpServiceConfigSchema = z.strictObject({
  timeoutMs,
  maxResponseBytes,
  headers: header
    .default({})
    .describe("Headers of every request. What is confidential belongs into the secrets instead."),
});
export const stdioServiceConfigSchema = z.strictObject({ timeoutMs, maxResponseBytes });
export type ServiceConfig = { timeoutMs: number; maxResponseBytes: number; headers?: Record<string, string> };

export const httpSecretsSchema = z.strictObject({
  bearerToken: z.string().min(1).max(8192).optional().describe("Sent as `Authorization: Bearer <token>`."),
  headers: header.optional().describe("Headers of every request, such as `X-Api-Key`."),
});
export const stdioSecretsSchema = z.strictObject({
  env: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
      z
        .string()
        .max(32_768)
        .regex(/^[^\0]*$/),
    )
    .optional()
    .describe("Environment variables of the program, besides those of the definition."),
});
export type HttpSecrets = z.infer<typeof httpSecretsSchema>;

/** A zod schema as JSON Schema of what a person writes: defaults are optional. */
export function toSettingsSchema(schema: z.ZodType): JSONSchema {
  return z.toJSONSchema(schema, { io: "input" });
}

/**
 * Checks settings that the host holds for this adapter.
 * @throws McpFailure naming the place, never a value.
 */
export function readSettings<T>(schema: z.ZodType<T>, raw: unknown, what: string): T {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = [what, ...(issue?.path ?? []).map(String)].join(".");
  const problem = issue?.code === "invalid_type" ? `expected ${issue.expected}` : "does not fit its schema";
  throw new McpFailure("mcp_bad_settings", `${path}: ${problem}. See GET /services/:id/${what}/schema.`);
}

/** Headers that belong to HTTP or to the protocol: a setting of these would break or redirect a request. */
const OWN_HEADERS = new Set([
  "accept",
  "connection",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "last-event-id",
  "mcp-protocol-version",
  "mcp-session-id",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * The headers of every request, lower-case; a secret one wins over one of the configuration.
 * @throws McpFailure naming a header that HTTP or the protocol does not allow, never its value.
 */
export function makeHeaders(config: ServiceConfig, secrets: HttpSecrets): Record<string, string> {
  const headers: Record<string, string> = {};
  const add = (where: string, name: string, value: string) => {
    const key = name.toLowerCase();
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(key)) {
      throw new McpFailure(
        "mcp_bad_settings",
        `${where}: ${JSON.stringify(name)} is not the name of a header.`,
      );
    }
    if (OWN_HEADERS.has(key)) {
      throw new McpFailure(
        "mcp_bad_settings",
        `${where}: the header ${key} is set by the protocol; remove it.`,
      );
    }
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw new McpFailure(
        "mcp_bad_settings",
        `${where}: the value of ${key} has characters that no header can carry (a line break?).`,
      );
    }
    headers[key] = value;
  };
  for (const [name, value] of Object.entries(config.headers ?? {})) add("config.headers", name, value);
  if (secrets.bearerToken !== undefined)
    add("secrets.bearerToken", "authorization", `Bearer ${secrets.bearerToken}`);
  for (const [name, value] of Object.entries(secrets.headers ?? {})) add("secrets.headers", name, value);
  return headers;
}
