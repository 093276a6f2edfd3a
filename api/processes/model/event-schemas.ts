import { z } from "zod";
import { EXECUTION_EXIT_STATES, runWarningSchema } from "#sdk";
import { processArtifactSchema } from "./files.ts";
import { reasonSchema } from "./schemas.ts";
import { PROCESS_STATES } from "./states.ts";

const byteCount = z.int().nonnegative();

export const CALL_STATUSES = ["ok", "error", "denied", "canceled", "unknown"] as const;
export type CallStatus = (typeof CALL_STATUSES)[number];

export const toolCallSchema = z
  .object({
    seq: z.int().positive().describe("Order of issue, from 1."),
    serviceId: z.string(),
    toolId: z.string(),
    startedAt: z.string(),
    durationMs: z.number().nullable().describe("Without `waitedMs`; null while the call is under way."),
    waitedMs: z
      .number()
      .describe(
        "How long it stood still for a person to decide, and for its run to go on; 0 while it is under way.",
      ),
    status: z
      .enum(CALL_STATUSES)
      .nullable()
      .describe(
        "null while the call is under way. canceled: it was never sent. unknown: it was sent, and given up before it was answered.",
      ),
    error: z.string().optional(),
    httpStatus: z
      .int()
      .optional()
      .describe("Of the service's answer, where it came over HTTP. From 400 on the call counts as an error."),
    parametersBytes: byteCount.describe("Size of the parameters as JSON."),
    resultBytes: byteCount.describe("Size of the result as JSON."),
    parameters: z
      .unknown()
      .optional()
      .describe("JSON; a string with the beginning of its text if it was too long."),
    result: z
      .unknown()
      .optional()
      .describe("JSON; a string with the beginning of its text if it was too long."),
  })
  .meta({ id: "ToolCall", description: "One tool call of a run." });

export const callTrailSchema = z.object({ calls: z.array(toolCallSchema) });

const endingSchema = z.object({
  state: z.enum(PROCESS_STATES),
  exitState: z.enum(EXECUTION_EXIT_STATES).nullable(),
  reason: reasonSchema.nullable(),
  error: z.string().nullable(),
});

/** Event name -> data, for `GET /processes/:id/events`. */
export const processEventSchemas = {
  state: endingSchema,
  /** `level` marks lines printed with `console.debug` or `console.warn`. Each event has one level. */
  stdout: z.object({ text: z.string(), level: z.enum(["debug", "warn"]).optional() }),
  stderr: z.object({ text: z.string(), level: z.enum(["debug", "warn"]).optional() }),
  /** Keys to merge into the client's output. The merge is shallow; later keys win. */
  output: z.record(z.string(), z.unknown()),
  call: toolCallSchema,
  /** Sent after the run has ended, once for each file it produced. */
  artifact: processArtifactSchema,
  approval: z.object({ id: z.string(), state: z.enum(["pending", "approved", "denied", "expired"]) }),
  end: endingSchema.extend({ warnings: z.array(runWarningSchema) }),
} as const;
export type ProcessEventName = keyof typeof processEventSchemas;
