/** Settings of a service: bounds, defaults, and reading what the host stored. */
import { z } from "zod";

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
