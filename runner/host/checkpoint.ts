/**
 * Checkpoint for replaying a run: seeds, calls with their replies, and the order in which these reached the script.
 * Created when a run is paused, opaque to the server that stores it, validated when it is loaded.
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
      // The previous version stored `true`, without a position.
      saved: z
        .strictObject({ after: z.int().positive(), order: z.int().positive() })
        .or(z.literal(true))
        .optional(),
    }),
  ),
  journal: journalSchema,
  /** Packages in the form in which the imports requested them. */
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
  /** Running time used, excluding pauses. */
  usedMs: z.number().nonnegative(),
});
export type Checkpoint = z.infer<typeof checkpointSchema>;

export function makeCheckpoint(parts: Omit<Checkpoint, "v">): Checkpoint {
  return { v: VERSION, ...parts };
}

/** @throws Error if `makeCheckpoint` did not create the value, so the run cannot be replayed. */
export function readCheckpoint(value: unknown): Checkpoint {
  const parsed = checkpointSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(
    `The checkpoint of the run cannot be used: ${issue?.path.join(".") || "it"} ${issue?.message ?? "is malformed"}. It was made by another version.`,
  );
}
