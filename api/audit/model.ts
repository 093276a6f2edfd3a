import { z } from "zod";
import { pageQuerySchema } from "../http/cursor.ts";
import { periodFields, processIdSchema } from "../http/filters.ts";

export const ACTOR_KINDS = ["anonymous", "bootstrap", "key", "system"] as const;
export const OUTCOMES = ["ok", "refused", "failed", "canceled", "unknown"] as const;
export type AuditOutcome = (typeof OUTCOMES)[number];
const DECISIONS = ["allow", "ask", "block"] as const;

export const auditRecordSchema = z
  .object({
    id: z.number().int(),
    at: z.iso.datetime(),
    actor: z
      .object({ kind: z.enum(ACTOR_KINDS), id: z.string().nullable(), name: z.string() })
      .describe(
        "Who acted: a key (with its id), the bootstrap key, anyone on this machine, or the server itself.",
      ),
    action: z.string().describe("The action, such as `process.create`, `policy.change` or `tool.call`."),
    object: z.object({ kind: z.string(), id: z.string().nullable() }).nullable(),
    outcome: z
      .enum(OUTCOMES)
      .describe(
        "`refused` by a rule or as invalid; `failed` with an error; `canceled` for a tool call abandoned before it was sent; `unknown` for one abandoned afterwards, which the service may have carried out. Older records use `failed` for the last two.",
      ),
    code: z
      .string()
      .nullable()
      .describe(
        "The error code of an outcome that is not `ok`. `call_unknown`: a tool call was sent, and given up before it was answered.",
      ),
    httpStatus: z
      .number()
      .int()
      .nullable()
      .describe("HTTP status that the service of a tool call answered with."),
    requestId: z.string().nullable(),
    processId: z
      .number()
      .int()
      .nullable()
      .describe("The process whose script made the call, or left the files."),
    decision: z.enum(DECISIONS).nullable().describe("Policy decision about a tool call."),
    policyId: z.string().nullable().describe("The rule that decided; null for the default."),
    parametersSha256: z
      .string()
      .nullable()
      .describe(
        "SHA-256 of the parameters as JSON with sorted keys; secret settings count without their values.",
      ),
    parameters: z.unknown().describe("The parameters, redacted and shortened; null without any."),
    files: z
      .array(
        z.object({
          name: z.string(),
          use: z.enum(["sent", "saved", "left"]),
          size: z.number().int().describe("Bytes transferred."),
          sha256: z.string().nullable().describe("Null if the transfer was incomplete."),
        }),
      )
      .describe(
        "Files that a tool call sent from the workspace of its run or saved there; for `process.artifacts`, at most 50 artifacts.",
      ),
  })
  .meta({ id: "AuditRecord", description: "One record of the audit trail." });
export type AuditRecord = z.infer<typeof auditRecordSchema>;

const text = z.string().max(200);

export const auditFilterSchema = z.strictObject({
  actor: text.optional().describe("A key id, `bootstrap` or `anonymous`."),
  action: text.optional().describe("The whole name, or its beginning up to a dot and `*`: `key.*`."),
  objectKind: text.optional(),
  objectId: text.optional(),
  outcome: z.enum(OUTCOMES).optional(),
  decision: z.enum(DECISIONS).optional(),
  processId: processIdSchema,
  requestId: text.optional(),
  ...periodFields,
});
export type AuditFilter = z.output<typeof auditFilterSchema>;

/** Position of the last record on a page: its time (microseconds since 1970) and id. */
export const auditPositionSchema = z.object({ atUs: z.int(), id: z.int().positive() });
export type AuditPosition = z.infer<typeof auditPositionSchema>;

export const auditQuerySchema = auditFilterSchema.extend(pageQuerySchema.shape);
export const auditListSchema = z.object({
  records: z.array(auditRecordSchema),
  nextCursor: z.string().nullable(),
});
