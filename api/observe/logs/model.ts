import { z } from "zod";
import { pageQuerySchema } from "#api/http/cursor.ts";
import { periodFields, processIdSchema } from "#api/http/filters.ts";
import { LOG_LEVELS } from "./record.ts";

export const logRecordSchema = z
  .object({
    id: z.string().describe("Its position in the log; as `Last-Event-ID` the stream resumes after it."),
    time: z.iso.datetime(),
    level: z.enum(LOG_LEVELS),
    type: z
      .string()
      .describe("`request`, `run`, `call` and so on; `server` for records about the server itself."),
    message: z.string(),
    requestId: z.string().nullable(),
    processId: z.number().int().nullable(),
    serviceId: z.string().nullable(),
    toolId: z.string().nullable(),
    fields: z.record(z.string(), z.unknown()).describe("Everything else in the record."),
  })
  .meta({ id: "LogRecord", description: "One record of the server's log, redacted." });
export type LogAnswer = z.infer<typeof logRecordSchema>;

const text = z.string().min(1).max(200);

export const logFilterSchema = z.strictObject({
  level: z.enum(LOG_LEVELS).optional().describe("Exactly this level."),
  levelMin: z.enum(LOG_LEVELS).optional().describe("This level and more severe ones."),
  type: text.optional(),
  processId: processIdSchema,
  serviceId: text.optional(),
  toolId: text.optional(),
  requestId: text.optional(),
  ...periodFields,
  query: text.optional().describe("Anywhere in the message or the values of the record, in any case."),
});
export type LogFilter = z.output<typeof logFilterSchema>;

export const logQuerySchema = logFilterSchema.extend(pageQuerySchema.shape);
export const logListSchema = z.object({
  logs: z.array(logRecordSchema),
  nextCursor: z.string().nullable(),
});
