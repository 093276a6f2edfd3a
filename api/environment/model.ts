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
        verified: z.string().describe("What was observed."),
        fix: z.string().optional().describe("What to do when it is missing."),
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
    ageMs: count.describe("Since the one for the usual limit of memory was ready."),
    forks: count.describe("Processes forked from it, and from those for other limits of memory."),
    renewals: count.describe("How many before them were replaced, since the environment was activated."),
    failures: count.optional().describe("How many of those hung, ended or forked nothing."),
  })
  .nullable();

/** Parts of a module's own report, which is foreign data and validated before it is shown. */
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
      slots: count.nullable().describe("Runs at once; null when the environment does not say."),
      busy: count.describe("Runs at the moment."),
      queued: count.describe("Processes that wait for a slot."),
      warm: count.describe("Started ahead, waiting for a run."),
      memoryBytes: count
        .nullable()
        .describe(
          "Memory of all processes of runs together, idle ones included, shared memory counted once; null when it is not known.",
        ),
    }),
    isolation: isolationReportSchema.nullable().describe("Null when the environment does not report it."),
    zygote: zygoteSchema.describe(
      "The prepared process that those of runs are forked from; null: a process is booted for every run, or the environment does not say.",
    ),
    draining: z
      .array(z.object({ id: z.string(), runs: z.number() }))
      .describe("Replaced environments that still have runs."),
  })
  .meta({ id: "Environment", description: "The environment that runs scripts." });
export type EnvironmentDescription = z.infer<typeof environmentSchema>;
