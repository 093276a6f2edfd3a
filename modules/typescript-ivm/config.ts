/** The settings of this environment: one schema that checks, documents and fills in defaults. */
import { availableParallelism } from "node:os";
import { z } from "zod";
import { PROTOCOL_LIMITS } from "#runner/protocol.ts";
import { DEFAULT_SESSION_LIMITS } from "#runner/session.ts";
import type { JSONSchema } from "#sdk";

/** An isolate with the realm in it takes about 4 MB before a script does anything. */
const MIN_MEMORY_MB = 16;
const MAX_MEMORY_MB = 16_384;

export const ivmConfigSchema = z.strictObject({
  slots: z
    .int()
    .min(1)
    .max(256)
    .default(availableParallelism())
    .describe("Slot processes at most, each running one script at a time. Default: one per core."),
  minSlots: z
    .int()
    .min(1)
    .max(256)
    .default(1)
    .describe("Slot processes that stay when nothing runs; further ones are ended after a quiet time."),
  maxRunsPerSlot: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(1000)
    .describe("A slot process is replaced after so many runs."),
  maxSlotGrowthMb: z
    .int()
    .min(16)
    .max(65_536)
    .default(128)
    .describe("A slot process is replaced when its idle memory has grown by more than this, in MB."),
  queueTtlMs: z
    .int()
    .min(1)
    .max(7 * 24 * 3600 * 1000)
    .nullable()
    .default(null)
    .describe(
      "How long a run may wait for a free slot before it is canceled, in milliseconds; null: no limit.",
    ),
  memoryMb: z
    .int()
    .min(MIN_MEMORY_MB)
    .max(MAX_MEMORY_MB)
    .default(128)
    .describe("Memory of a run that asks for nothing, in MB (2^20 bytes): its isolate's heap and buffers."),
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
export type IvmConfig = z.infer<typeof ivmConfigSchema>;

/**
 * Checks what the host was configured with and fills in the rest.
 * @throws Error naming the setting that does not fit.
 */
export function readConfig(raw: Record<string, unknown>): IvmConfig {
  const config = ivmConfigSchema.parse(raw);
  if (config.memoryMb > config.maxMemoryMb) {
    throw new Error(
      `memoryMb (${config.memoryMb}) must not be larger than maxMemoryMb (${config.maxMemoryMb}).`,
    );
  }
  return { ...config, minSlots: Math.min(config.minSlots, config.slots) };
}

/** The same as JSON Schema, for `GET /modules/:id/config/schema`. */
export const configJsonSchema: JSONSchema = z.toJSONSchema(ivmConfigSchema, { io: "input" });
