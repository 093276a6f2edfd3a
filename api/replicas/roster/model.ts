import { z } from "zod";

export const REPLICA_STATES = ["up", "draining", "lost"] as const;

export const replicaSchema = z
  .object({
    id: z.uuid().describe("A new one at each start."),
    name: z.string().describe("Host name (of a pod: its name) and process id: `cyrnel-7c9f:1`."),
    version: z.string().describe("Of the program."),
    state: z
      .enum(REPLICA_STATES)
      .describe(
        "`draining`: it was told to stop and takes nothing more. `lost`: not heard of for 20 s; what it ran is ended by the others.",
      ),
    isSelf: z.boolean().describe("Whether this is the server that answers."),
    address: z.string().nullable().describe("Where the others reach it; null until it listens."),
    environment: z
      .string()
      .nullable()
      .describe("The environment module that is active there; null: nothing can run."),
    slots: z.int().min(0).nullable().describe("Runs at once; null where that is not known."),
    running: z.int().min(0).describe("Runs that it holds, those that are being ended included."),
    startedAt: z.iso.datetime(),
    seenAt: z.iso
      .datetime()
      .describe("Its last sign of life, every 5 s. By the clock of the database, as `startedAt`."),
  })
  .meta({ id: "Replica", description: "A server on the same database." });
export type ReplicaRecord = z.infer<typeof replicaSchema>;

export const replicaListSchema = z.object({
  replicas: z.array(replicaSchema),
  nextCursor: z.string().nullable(),
});

/** Start (microseconds since 1970) and id of the last server on a page. */
export const replicaPositionSchema = z.object({ startedUs: z.int().positive(), id: z.uuid() });
export type ReplicaPosition = z.infer<typeof replicaPositionSchema>;
