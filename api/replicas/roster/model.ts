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
        "`draining`: shutting down, accepts no new work. `lost`: no heartbeat for 20 s; the others end its runs.",
      ),
    isSelf: z.boolean().describe("Whether this is the server that answers."),
    address: z.string().nullable().describe("Its address for other replicas; null until it listens."),
    environment: z
      .string()
      .nullable()
      .describe("The environment module active there; null if none, so nothing can run."),
    slots: z.int().min(0).nullable().describe("Maximum concurrent runs; null if unknown."),
    running: z.int().min(0).describe("Its runs, including those that are ending."),
    startedAt: z.iso.datetime(),
    seenAt: z.iso
      .datetime()
      .describe("Its last heartbeat (every 5 s), by the clock of the database like `startedAt`."),
  })
  .meta({ id: "Replica", description: "A server on the same database." });
export type ReplicaRecord = z.infer<typeof replicaSchema>;

export const replicaListSchema = z.object({
  replicas: z.array(replicaSchema),
  nextCursor: z.string().nullable(),
});

/** Position of the last server on a page: its start (microseconds since 1970) and id. */
export const replicaPositionSchema = z.object({ startedUs: z.int().positive(), id: z.uuid() });
export type ReplicaPosition = z.infer<typeof replicaPositionSchema>;
