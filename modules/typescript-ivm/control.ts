/**
 * What a slot process and its owner say to each other besides the messages of a run (runner/wire/protocol.ts). One run at
 * a time: `begin` opens it, `done` closes it, `idle` says the next one may begin. Control messages have no `jsonrpc`
 * member and start with `{"method":`, so neither side mistakes one for a message of a run. The slot imports types only.
 */
import { z } from "zod";

/**
 * Owner to slot: `{"method":"begin","params":…,"start":…}` opens a run, with the run's first message inside. The members
 * come in this order.
 */
export interface BeginParams {
  /** Memory limit of the run's isolate, heap and buffers together. */
  memoryMb: number;
  /** The longest single entry into the isolate. A backstop: the owner's own deadline comes first. */
  backstopMs: number;
}

/** Slot to owner: the run is over and its isolate is gone. Frames after this one belong to no run. */
export const doneParamsSchema = z.strictObject({
  /** CPU time of the whole process during the run, helper threads included. */
  cpuMs: z.number().min(0).max(1e12),
  peakMemoryBytes: z.int().min(0),
  /** Why the isolate stopped without an `end`; null after an `end`. */
  cause: z.enum(["memory_limit", "timeout"]).nullable(),
});
export type DoneParams = z.infer<typeof doneParamsSchema>;

export const controlMessageSchema = z.discriminatedUnion("method", [
  z.strictObject({ method: z.literal("done"), params: doneParamsSchema }),
  z.strictObject({ method: z.literal("idle") }),
]);
