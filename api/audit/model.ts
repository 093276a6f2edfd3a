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
      .describe("Who: a key (with its id), the bootstrap key, anyone on this machine, or the server itself."),
    action: z.string().describe("What, such as `process.create`, `policy.change` or `tool.call`."),
    object: z.object({ kind: z.string(), id: z.string().nullable() }).nullable(),
    outcome: z
      .enum(OUTCOMES)
      .describe(
        "`refused`: by a rule or because it was wrong. `failed`: it went wrong. `canceled`: a tool call that was given up before it was sent. `unknown`: one that was given up after that, so that the service may have carried it out. Older records say `failed` for these two.",
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
      .describe("Of a tool call: what the service answered with over HTTP."),
    requestId: z.string().nullable(),
    processId: z
      .number()
      .int()
      .nullable()
      .describe("The process whose script made the call, or left the files."),
    decision: z.enum(DECISIONS).nullable().describe("Of a tool call: what the policies said."),
    policyId: z.string().nullable().describe("The rule that decided; null: the default."),
    parametersSha256: z
      .string()
      .nullable()
      .describe(
        "Of the parameters as JSON with sorted keys; of settings that are secret, without their values.",
      ),
    parameters: z.unknown().describe("The parameters, redacted and cut; null without any."),
    files: z
      .array(
        z.object({
          name: z.string(),
          use: z.enum(["sent", "saved", "left"]),
          size: z.number().int().describe("Bytes that went."),
          sha256: z.string().nullable().describe("Null: not all of it went."),
        }),
      )
      .describe(
        "Of a tool call: what it sent from the workspace of its run, and saved there. Of `process.artifacts`: what the run left, 50 at most.",
      ),
  })
  .meta({ id: "AuditRecord", description: "One record of the audit trail." });
export type AuditRecord = z.infer<typeof auditRecordSchema>;

const text = z.string().max(200);

export const auditFilterSchema = z.strictObject({
  actor: text.optional().describe("A key id, `bootstrap` or `anonymous`."),
  action: text.optional().describe("The whole name, or its beginning up to a dot with `*`: `key.*`."),
  objectKind: text.optional(),
  objectId: text.optional(),
  outcome: z.enum(OUTCOMES).optional(),
  decision: z.enum(DECISIONS).optional(),
  processId: processIdSchema,
  requestId: text.optional(),
  ...periodFields,
});
export type AuditFilter = z.output<typeof auditFilterSchema>;

/** End of a page: time of its last record, in microseconds since 1970, and its id. */
export const auditPositionSchema = z.object({ atUs: z.int(), id: z.int().positive() });
export type AuditPosition = z.infer<typeof auditPositionSchema>;

export const auditQuerySchema = auditFilterSchema.extend(pageQuerySchema.shape);
export const auditListSchema = z.object({
  records: z.array(auditRecordSchema),
  nextCursor: z.string().nullable(),
});
