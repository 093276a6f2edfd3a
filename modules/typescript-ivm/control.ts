/** Control messages between a slot process and its owner. They start with `{"method":`, which no run message does. */
import { z } from "zod";

/** Opens a run: `{"method":"begin","params":…,"start":…}`, in this order; `start` is the first message of the run. */
export interface BeginParams {
  memoryMb: number;
  /** Limits a single entry into the isolate. The owner's deadline is earlier. */
  backstopMs: number;
}

/** Closes a run: its isolate is disposed, and later frames belong to no run. */
export const doneParamsSchema = z.strictObject({
  /** CPU time of the process, including its helper threads. */
  cpuMs: z.number().min(0).max(1e12),
  peakMemoryBytes: z.int().min(0),
  /** Why the isolate stopped without sending `end`. */
  cause: z.enum(["memory_limit", "timeout"]).nullable(),
});
export type DoneParams = z.infer<typeof doneParamsSchema>;

export const controlMessageSchema = z.discriminatedUnion("method", [
  z.strictObject({ method: z.literal("done"), params: doneParamsSchema }),
  z.strictObject({ method: z.literal("idle") }),
]);
