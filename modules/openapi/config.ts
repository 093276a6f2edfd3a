import { z } from "zod";
import type { ServerPlan } from "./domain.ts";

export const MAX_FILTER_ENTRIES = 200;
export const operationFilterSchema = z
  .array(z.string().trim().min(1).max(300))
  .min(1)
  .max(MAX_FILTER_ENTRIES);

const MIB = 1024 * 1024;

export const commonFields = {
  timeoutMs: z
    .int()
    .min(1)
    .max(600_000)
    .default(30_000)
    .describe("Time limit of one call in milliseconds, including retries and the response body."),
  maxResponseBytes: z
    .int()
    .min(1)
    .max(64 * MIB)
    .default(8 * MIB)
    .describe("Size limit of a response in bytes, after decompression. A larger response fails the call."),
  maxStreamMs: z
    .int()
    .min(1)
    .max(600_000)
    .default(10_000)
    .describe(
      "How long to read an event stream. The data received by then is returned with truncated: true.",
    ),
  maxStreamBytes: z
    .int()
    .min(1)
    .max(64 * MIB)
    .default(MIB)
    .describe("How many bytes of an event stream to read; see maxStreamMs."),
  operationFilter: operationFilterSchema
    .optional()
    .describe(
      'Which operations are tools: an operationId, "GET /repos/*" or "tag:issues"; * is any characters, ! before it excludes. Applies from the next sync or update. Default: all.',
    ),
  headers: z
    .record(z.string(), z.string())
    .optional()
    .describe("Headers of every request. Do not put secrets here: every key with read access sees settings."),
};

const serviceConfigSchema = z.looseObject({
  ...commonFields,
  serverUrl: z.string().optional(),
  // Checked only when the filter is applied: an invalid filter must not stop calls.
  operationFilter: z.unknown().optional(),
});

export interface ServiceConfig {
  serverUrl: string | undefined;
  variables: Map<string, string>;
  timeoutMs: number;
  maxResponseBytes: number;
  maxStreamMs: number;
  maxStreamBytes: number;
  headers: Record<string, string>;
}

const VARIABLE_PREFIX = "serverVar_";

export function readServiceConfig(raw: unknown): ServiceConfig {
  const parsed = serviceConfigSchema.safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`The setting ${issue?.path.join(".")} is invalid: ${issue?.message}.`);
  }
  const { serverUrl, headers = {}, ...rest } = parsed.data;
  const { timeoutMs, maxResponseBytes, maxStreamMs, maxStreamBytes } = rest;
  const variables = new Map<string, string>();
  for (const [key, value] of Object.entries(rest)) {
    if (key.startsWith(VARIABLE_PREFIX) && typeof value === "string") {
      variables.set(key.slice(VARIABLE_PREFIX.length), value);
    }
  }
  return {
    serverUrl: serverUrl === "" ? undefined : serverUrl,
    variables,
    timeoutMs,
    maxResponseBytes,
    maxStreamMs,
    maxStreamBytes,
    headers,
  };
}

/**
 * Returns an operation's base URL, without a trailing slash. The setting `serverUrl` replaces the complete URL, or
 * only its origin if the document's URL is relative and the setting has no path. @throws Error that names the missing
 * or invalid setting
 */
export function resolveServer(server: ServerPlan, config: ServiceConfig): string {
  const filled = fillVariables(server, config);
  const declared = URL.parse(filled || "/", server.base);
  if (config.serverUrl === undefined) {
    if (declared === null) {
      throw new Error(
        `The document's server ${JSON.stringify(server.url)} is not a complete URL. Set serverUrl to the URL of the API.`,
      );
    }
    return checkUrl(declared, "The document's server");
  }
  const configured = URL.parse(config.serverUrl);
  if (configured === null)
    throw new Error("serverUrl is not a URL. Expected one that begins with https:// or http://.");
  if (!URL.canParse(filled) && configured.pathname === "/") {
    const joined = URL.parse(filled, configured);
    if (joined !== null && joined.origin === configured.origin) return checkUrl(joined, "serverUrl");
  }
  return checkUrl(configured, "serverUrl");
}

/** Returns the base URL of an operation that declares its own server. `serverUrl` replaces that too. */
export function resolveOwnServer(server: ServerPlan, config: ServiceConfig, base: string): string {
  if (config.serverUrl !== undefined) return base;
  const url = URL.parse(fillVariables(server, config), server.base ?? `${base}/`);
  if (url === null) throw new Error(`The document's server ${JSON.stringify(server.url)} is not a URL.`);
  return checkUrl(url, "The document's server");
}

export function resolveTokenUrl(tokenUrl: string, base: string): string {
  const url = URL.parse(tokenUrl, `${base}/`);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new Error(`The document's token endpoint ${JSON.stringify(tokenUrl)} is not an http(s) URL.`);
  }
  return url.href;
}

function fillVariables(server: ServerPlan, config: ServiceConfig): string {
  return server.url.replace(/\{([^{}]+)\}/g, (placeholder, name: string) => {
    const value =
      config.variables.get(name) ?? server.variables?.find((known) => known.name === name)?.default;
    if (value !== undefined) return value;
    if (config.serverUrl !== undefined) return placeholder;
    throw new Error(
      `The server variable ${JSON.stringify(name)} has no value. Set serverVar_${name}, or serverUrl to the whole URL.`,
    );
  });
}

function checkUrl(url: URL, what: string): string {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new Error(`${what} has the scheme ${url.protocol} (expected https: or http:).`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new Error(`${what} contains a user name or a password. Set them as secrets.`);
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}
