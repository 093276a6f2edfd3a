import { z } from "zod";
import { httpConfigFields } from "#modules/shared/settings.ts";

const MIB = 1024 * 1024;

export const moduleConfigSchema = z.strictObject({
  connectTimeoutMs: z
    .int()
    .min(100)
    .max(120_000)
    .default(10_000)
    .describe("Time limit to connect to a server and to agree on a protocol version."),
  listTimeoutMs: z
    .int()
    .min(100)
    .max(300_000)
    .default(20_000)
    .describe("Time limit to read the whole list of tools, at install and sync."),
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

export const httpServiceConfigSchema = z.strictObject(httpConfigFields);
const { timeoutMs, maxResponseBytes } = httpConfigFields;
export const stdioServiceConfigSchema = z.strictObject({ timeoutMs, maxResponseBytes });
export type ServiceConfig = z.infer<typeof stdioServiceConfigSchema>;

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

export const PROTOCOL_HEADERS = ["last-event-id", "mcp-protocol-version", "mcp-session-id"];
