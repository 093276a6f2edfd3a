import { z } from "zod";
import { ISOLATION_LEVELS } from "#sdk";

const isolationReportSchema = z
  .object({
    level: z.enum(ISOLATION_LEVELS).describe("The strongest level whose required layers were all obtained."),
    layers: z.array(
      z.object({
        layer: z.number(),
        name: z.string(),
        required: z.boolean(),
        obtained: z.boolean(),
        verified: z.string().describe("Evidence."),
        fix: z.string().optional().describe("Remedy if it is missing."),
      }),
    ),
    nodeVersion: z.string(),
    platform: z.string(),
    kernel: z.string(),
  })
  .meta({ id: "IsolationReport", description: "The layers that isolate a run, and how each was verified." });

const count = z.number().min(0);

const zygoteSchema = z
  .object({
    ageMs: count.describe("Age of the zygote for the default memory limit."),
    forks: count.describe("Processes forked from it and from zygotes for other memory limits."),
    renewals: count.describe("Zygotes replaced since the environment was activated."),
    failures: count.optional().describe("How many of those hung, ended or failed to fork."),
  })
  .nullable();

/** Values from a module's own report, which is foreign data and validated before it is shown. */
export const reportedStatusSchema = z.object({
  slots: count,
  busy: count,
  warm: count,
  memoryBytes: count.optional(),
  isolation: isolationReportSchema,
  zygote: zygoteSchema.optional(),
});

export const environmentSchema = z
  .object({
    environment: z.object({ id: z.string(), name: z.string(), version: z.string().nullable() }),
    capacity: z.object({
      slots: count.nullable().describe("Concurrent runs; null if the environment does not say."),
      busy: count.describe("Current runs."),
      queued: count.describe("Processes that wait for a slot."),
      warm: count.describe("Started ahead and waiting for a run."),
      memoryBytes: count
        .nullable()
        .describe(
          "Memory of all run processes together, including idle ones, counting shared memory once; null if unknown.",
        ),
    }),
    isolation: isolationReportSchema.nullable().describe("Null if the environment does not report it."),
    zygote: zygoteSchema.describe(
      "The prepared process from which run processes are forked; null if each run boots its own, or the environment does not say.",
    ),
    draining: z
      .array(z.object({ id: z.string(), runs: z.number() }))
      .describe("Replaced environments with runs left."),
  })
  .meta({ id: "Environment", description: "The environment that runs scripts." });
export type EnvironmentDescription = z.infer<typeof environmentSchema>;
