/** Settings of a service: bounds, defaults, reading what the host stored, and where its requests go by them. */
import { z } from "zod";
import type { ServerPlan } from "./domain.ts";

export const CONFIG_DEFAULTS = { timeoutMs: 30_000, maxResponseBytes: 8 * 1024 * 1024 } as const;
export const CONFIG_LIMITS = { maxTimeoutMs: 600_000, maxResponseBytes: 64 * 1024 * 1024 } as const;

const serviceConfigSchema = z.looseObject({
  serverUrl: z.string().optional(),
  timeoutMs: z.int().min(1).max(CONFIG_LIMITS.maxTimeoutMs).default(CONFIG_DEFAULTS.timeoutMs),
  maxResponseBytes: z
    .int()
    .min(1)
    .max(CONFIG_LIMITS.maxResponseBytes)
    .default(CONFIG_DEFAULTS.maxResponseBytes),
  headers: z.record(z.string(), z.string()).default({}),
});

export interface ServiceConfig {
  serverUrl: string | undefined;
  /** Values of server variables by name. */
  variables: Map<string, string>;
  timeoutMs: number;
  maxResponseBytes: number;
  headers: Record<string, string>;
}

const VARIABLE_PREFIX = "serverVar_";

/** @throws Error naming the setting that is wrong. */
export function readServiceConfig(raw: unknown): ServiceConfig {
  const parsed = serviceConfigSchema.safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`The setting ${issue?.path.join(".")} is wrong: ${issue?.message}.`);
  }
  const { serverUrl, timeoutMs, maxResponseBytes, headers, ...rest } = parsed.data;
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
    headers,
  };
}

/**
 * The base URL of an operation, without a slash at its end. `serverUrl` of the settings takes the place of the whole
 * URL; of its origin only, where the document's URL is relative and the setting has no path.
 * @throws Error naming the setting that is missing or wrong.
 */
export function resolveServer(server: ServerPlan, config: ServiceConfig): string {
  const filled = fillVariables(server, config);
  const declared = URL.parse(filled);
  if (config.serverUrl === undefined) {
    if (declared === null) {
      throw new Error(
        `The document's server ${JSON.stringify(server.url)} is no whole URL. Set serverUrl to where the API is.`,
      );
    }
    return checkUrl(declared, "The document's server");
  }
  const configured = URL.parse(config.serverUrl);
  if (configured === null) throw new Error("serverUrl is not a URL. It begins with https:// or http://.");
  if (declared === null && configured.pathname === "/") {
    const joined = URL.parse(filled, configured);
    if (joined !== null && joined.origin === configured.origin) return checkUrl(joined, "serverUrl");
  }
  return checkUrl(configured, "serverUrl");
}

/** The base URL of an operation with a server of its own; `serverUrl` stands for that one too. */
export function resolveOwnServer(server: ServerPlan, config: ServiceConfig, base: string): string {
  if (config.serverUrl !== undefined) return base;
  const url = URL.parse(fillVariables(server, config), `${base}/`);
  if (url === null) throw new Error(`The document's server ${JSON.stringify(server.url)} is no URL.`);
  return checkUrl(url, "The document's server");
}

/** Where client credentials are exchanged: may be relative to the server. */
export function resolveTokenUrl(tokenUrl: string, base: string): string {
  const url = URL.parse(tokenUrl, `${base}/`);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new Error(
      `The document's token endpoint ${JSON.stringify(tokenUrl)} is no URL that can be called.`,
    );
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
    throw new Error(`${what} has the scheme ${url.protocol} Only https: and http: are called.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new Error(`${what} holds a user name or a password. Set them as secrets.`);
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}
