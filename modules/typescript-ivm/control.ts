/** Control messages between a slot process and its owner. They start with `{"method":`, which no message of a run does. */
import { z } from "zod";

/** Opens a run: `{"method":"begin","params":…,"start":…}`, in this order; `start` is the first message of the run. */
export interface BeginParams {
  memoryMb: number;
  /** Applies to a single entry into the isolate; the deadline of the owner comes first. */
  backstopMs: number;
}

/** Closes a run: its isolate is gone, and later frames belong to no run. */
export const doneParamsSchema = z.strictObject({
  /** CPU time of the whole process, helper threads included. */
  cpuMs: z.number().min(0).max(1e12),
  peakMemoryBytes: z.int().min(0),
  /** Why the isolate stopped without an `end`. */
  cause: z.enum(["memory_limit", "timeout"]).nullable(),
});
export type DoneParams = z.infer<typeof doneParamsSchema>;

export const controlMessageSchema = z.discriminatedUnion("method", [
  z.strictObject({ method: z.literal("done"), params: doneParamsSchema }),
  z.strictObject({ method: z.literal("idle") }),
]);
