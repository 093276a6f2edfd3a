/**
 * Checkpoint of a run for its replay: seeds, calls with their replies, and the order in which these reached the script. Made when
 * a run is paused, opaque to the server that stores it, validated when it comes back.
 */
import { z } from "zod";
import { callParamsSchemas, journalSchema } from "../wire/protocol.ts";

const VERSION = 1;

const checkpointSchema = z.strictObject({
  v: z.literal(VERSION),
  seed: z.string().max(100),
  randomSeed: z.array(z.int().min(0).max(0xffff_ffff)).length(4),
  calls: z.array(
    z.strictObject({
      seq: z.int().positive(),
      method: z.enum(Object.keys(callParamsSchemas) as [keyof typeof callParamsSchemas]),
      digest: z.string().regex(/^[0-9a-f]{64}$/),
      reply: z.string().nullable(),
      // The previous version wrote `true`, without knowing when.
      saved: z
        .strictObject({ after: z.int().positive(), order: z.int().positive() })
        .or(z.literal(true))
        .optional(),
    }),
  ),
  journal: journalSchema,
  /** As the imports asked for them. */
  packages: z
    .array(
      z.strictObject({
        name: z.string().max(214),
        range: z.string().max(100).nullable(),
        version: z.string().max(100),
        digest: z.string().regex(/^[0-9a-f]{64}$/),
      }),
    )
    .max(50)
    .optional(),
  /** Running time used, without pauses. */
  usedMs: z.number().nonnegative(),
});
export type Checkpoint = z.infer<typeof checkpointSchema>;

export function makeCheckpoint(parts: Omit<Checkpoint, "v">): Checkpoint {
  return { v: VERSION, ...parts };
}

/** @throws Error if `makeCheckpoint` did not make it; the run then cannot be replayed. */
export function readCheckpoint(value: unknown): Checkpoint {
  const parsed = checkpointSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(
    `The checkpoint of the run cannot be used: ${issue?.path.join(".") || "it"} ${issue?.message ?? "is malformed"}. It was made by another version.`,
  );
}
