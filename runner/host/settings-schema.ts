import { z } from "zod";
import { DEFAULT_SESSION_LIMITS, PROTOCOL_LIMITS } from "../wire/protocol.ts";

const WEEK_MS = 7 * 24 * 3600 * 1000;

/**
 * Returns the settings by name, to be spread into an environment's `z.strictObject`. Memory is in MB of 2^20 bytes.
 */
export function runSettings(memory: { minMb: number; maxMb: number; what: string }) {
  const memoryMb = z.int().min(memory.minMb).max(memory.maxMb);
  return {
    queueTtlMs: z
      .int()
      .min(1)
      .max(WEEK_MS)
      .nullable()
      .default(null)
      .describe(
        "How long a run may wait for its turn before it is canceled, in milliseconds; null: no limit.",
      ),
    memoryMb: memoryMb
      .default(128)
      .describe(`Memory of a run that asks for nothing, in MB (2^20 bytes): ${memory.what}.`),
    maxMemoryMb: memoryMb.default(1024).describe("The most a run may ask for, in MB."),
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
  };
}

export type RunSettings = {
  [K in keyof ReturnType<typeof runSettings>]: z.infer<ReturnType<typeof runSettings>[K]>;
};

/** @throws Error if the default memory exceeds the most that a run may request. */
export function requireMemoryOrder({ memoryMb, maxMemoryMb }: RunSettings): void {
  if (memoryMb > maxMemoryMb) {
    throw new Error(`memoryMb (${memoryMb}) must not be larger than maxMemoryMb (${maxMemoryMb}).`);
  }
}
