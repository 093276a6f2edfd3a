/** The settings of this environment: one schema that checks, documents and fills in defaults. */
import { availableParallelism } from "node:os";
import { z } from "zod";
import { PROTOCOL_LIMITS } from "#runner/protocol.ts";
import { DEFAULT_SESSION_LIMITS } from "#runner/session.ts";
import type { JSONSchema } from "#sdk";

const defaultConcurrency = availableParallelism() * 2;
const MIN_MEMORY_MB = 32;
const MAX_MEMORY_MB = 65_536;

export const processConfigSchema = z.strictObject({
  maxConcurrency: z
    .int()
    .min(1)
    .max(1024)
    .default(defaultConcurrency)
    .describe("Runs at once, each in a process of its own; further ones wait. Default: two per core."),
  warmPool: z
    .strictObject({
      min: z.int().min(0).max(256).default(2).describe("Processes always kept ready."),
      max: z
        .int()
        .min(0)
        .max(256)
        .default(defaultConcurrency)
        .describe("Processes kept ready at most, when there is demand. Default: two per core."),
    })
    .prefault({})
    .describe("Started ahead of time; each serves one run. An idle one takes about 20 MB."),
  queueTtlMs: z
    .int()
    .min(1)
    .max(7 * 24 * 3600 * 1000)
    .nullable()
    .default(null)
    .describe(
      "How long a run may wait for a free process before it is canceled, in milliseconds; null: no limit.",
    ),
  memoryMb: z
    .int()
    .min(MIN_MEMORY_MB)
    .max(MAX_MEMORY_MB)
    .default(128)
    .describe("Memory of a run that asks for nothing, in MB (2^20 bytes)."),
  maxMemoryMb: z
    .int()
    .min(MIN_MEMORY_MB)
    .max(MAX_MEMORY_MB)
    .default(1024)
    .describe("The most a run may ask for, in MB."),
  maxCalls: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(DEFAULT_SESSION_LIMITS.maxCalls)
    .describe("Calls a run may make of its host."),
  maxConcurrentCalls: z
    .int()
    .min(1)
    .max(1000)
    .default(DEFAULT_SESSION_LIMITS.maxConcurrentCalls)
    .describe("Calls of one run in flight at once; further ones wait inside the script."),
  maxMessageBytes: z
    .int()
    .min(64 * 1024)
    .max(PROTOCOL_LIMITS.maxEndBytes)
    .default(PROTOCOL_LIMITS.maxMessageBytes)
    .describe("One message from a script to its host, such as the parameters of a call, in bytes of JSON."),
  allowEval: z.boolean().default(false).describe("Allows eval and new Function inside a script."),
  allowWasm: z.boolean().default(false).describe("Allows WebAssembly inside a script."),
});
export type ProcessConfig = z.infer<typeof processConfigSchema>;

/**
 * Checks what the host was configured with and fills in the rest.
 * @throws Error naming the setting that does not fit another one.
 */
export function readConfig(raw: Record<string, unknown>): ProcessConfig {
  const config = processConfigSchema.parse(raw);
  if (config.memoryMb > config.maxMemoryMb) {
    throw new Error(
      `memoryMb (${config.memoryMb}) must not be larger than maxMemoryMb (${config.maxMemoryMb}).`,
    );
  }
  const { min, max } = config.warmPool;
  return { ...config, warmPool: { min, max: Math.max(min, max) } };
}

/** The same as JSON Schema, for `GET /modules/:id/config/schema`. */
export const configJsonSchema: JSONSchema = z.toJSONSchema(processConfigSchema, { io: "input" });
