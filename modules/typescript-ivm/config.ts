import { availableParallelism } from "node:os";
import { z } from "zod";
import { requireMemoryOrder, runSettings } from "#runner/host/settings-schema.ts";
import type { JSONSchema } from "#sdk";

/** An isolate with the realm takes about 4 MB before a script runs. */
const MIN_MEMORY_MB = 16;
const MAX_MEMORY_MB = 16_384;

export const ivmConfigSchema = z.strictObject({
  slots: z
    .int()
    .min(1)
    .max(256)
    .default(availableParallelism() * 2)
    .describe(
      "Limit of slot processes, each running one script at a time. Default: two per core, because a script often waits for the host.",
    ),
  minSlots: z
    .int()
    .min(1)
    .max(256)
    .default(1)
    .describe("Idle slot processes to keep; others end after some idle time."),
  maxRunsPerSlot: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(1000)
    .describe("A slot process is replaced after this many runs."),
  maxSlotGrowthMb: z
    .int()
    .min(16)
    .max(65_536)
    .default(128)
    .describe("A slot process is replaced when its idle memory has grown by more than this, in MB."),
  ...runSettings({
    minMb: MIN_MEMORY_MB,
    maxMb: MAX_MEMORY_MB,
    what: "the heap and the buffers of its isolate",
  }),
});
export type IvmConfig = z.infer<typeof ivmConfigSchema>;

/** @throws Error naming the setting that is invalid. */
export function readConfig(raw: Record<string, unknown>): IvmConfig {
  const config = ivmConfigSchema.parse(raw);
  requireMemoryOrder(config);
  return { ...config, minSlots: Math.min(config.minSlots, config.slots) };
}

export const configJsonSchema: JSONSchema = z.toJSONSchema(ivmConfigSchema, { io: "input" });
