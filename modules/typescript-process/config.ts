import { availableParallelism } from "node:os";
import { z } from "zod";
import { requireMemoryOrder, runSettings } from "#runner/host/settings-schema.ts";

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
        .describe("Limit of processes kept ready under load. Default: two per core."),
    })
    .prefault({})
    .describe(
      "Started ahead of time; each serves one run. Forked ones take about 3 MB each of their own, booted ones 14.",
    ),
  ...runSettings({
    minMb: MIN_MEMORY_MB,
    maxMb: MAX_MEMORY_MB,
    what: "the heap of its process and what it holds outside it",
  }),
  paranoid: z
    .boolean()
    .default(false)
    .describe(
      "Runs scripts without the just-in-time compiler and lets no memory become executable: loops take five times as long, and most ways to take over an engine are closed. Not together with allowWasm.",
    ),
});
export type ProcessConfig = z.infer<typeof processConfigSchema>;

/** Validates the configuration and fills in defaults. @throws Error that names conflicting settings */
export function readConfig(raw: Record<string, unknown>): ProcessConfig {
  const config = processConfigSchema.parse(raw);
  requireMemoryOrder(config);
  if (config.paranoid && config.allowWasm) {
    throw new Error(
      "paranoid and allowWasm exclude each other: WebAssembly needs memory that may be executed. Disable one of them.",
    );
  }
  const { min, max } = config.warmPool;
  return { ...config, warmPool: { min, max: Math.max(min, max) } };
}
