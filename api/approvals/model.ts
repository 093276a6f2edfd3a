import { z } from "zod";

/**
 * Approval states. Every transition is one statement in store.ts, guarded by `state = 'pending'`; a property test
 * checks all of them against every other event of the process.
 *
 *                  approver approves          the run resumes with it (used_at)
 *      pending ──────────────────────► approved ──────────────────────► used, once
 *         │ ├── approver denies ─────► denied
 *         │ └── expires_at passes,
 *         │     the process ends,
 *         │     the tool is removed,
 *         │     its run is gone ─────► expired
 *         └── created in one transaction with the pause of the run
 */
export const APPROVAL_STATES = ["pending", "approved", "denied", "expired"] as const;
export const APPROVAL_ID_PATTERN = /^apr_[A-Za-z0-9_-]{22}$/;
const MAX_REASON_CHARACTERS = 1000;
const MAX_REMEMBER_MINUTES = 30 * 24 * 60;
const DEFAULT_REMEMBER_MINUTES = 60;

const timestamp = z.iso.datetime();

export const approvalSummarySchema = z
  .object({
    id: z.string(),
    processId: z.int().positive(),
    kind: z.enum(["call", "ask"]).describe("A tool call, or a question of the script."),
    serviceId: z.string().nullable(),
    toolId: z.string().nullable(),
    destructive: z.boolean(),
    message: z
      .string()
      .describe(
        "For a person. Of a question: the script's own words. Show them with where they come from, and hidden characters as escapes.",
      ),
    state: z.enum(APPROVAL_STATES),
    requestedBy: z.string().describe("Whose process it is: the id of a key, `bootstrap` or `anonymous`."),
    requestedByName: z
      .string()
      .nullable()
      .describe("What that key is called; null for `bootstrap` and `anonymous`."),
    startedBy: z.string().describe("Who started the run, likewise. Neither of the two decides about it."),
    policyId: z
      .string()
      .nullable()
      .describe("The rule that made it wait; null for the default, and for a question."),
    createdAt: timestamp,
    expiresAt: timestamp,
    decidedAt: timestamp.nullable(),
    decidedBy: z.string().nullable(),
    reason: z.string().nullable(),
    usedAt: timestamp.nullable().describe("When the run went on with it."),
  })
  .meta({ id: "ApprovalSummary", description: "A parked call or question, without what it is about." });
export type ApprovalSummary = z.output<typeof approvalSummarySchema>;

export const approvalSchema = approvalSummarySchema
  .extend({
    parameters: z.unknown().describe("Of a call, with its defaults, secrets replaced; null for a question."),
    files: z
      .array(
        z.object({
          name: z.string(),
          size: z.int().nonnegative().describe("Bytes."),
          contentType: z.string(),
          sha256: z.string().describe("Of the content, in hexadecimal."),
        }),
      )
      .describe("Files of the workspace that the parameters name: the approved call sends exactly these."),
    schema: z
      .unknown()
      .describe("JSON Schema of the answer to a question; null where any answer fits, and for a call."),
  })
  .meta({ id: "Approval", description: "A parked call or question." });
export type ApprovalRecord = z.output<typeof approvalSchema>;

export const approvalListSchema = z.object({
  approvals: z.array(approvalSummarySchema),
  nextCursor: z.string().nullable().describe("Pass it as `cursor` for the next page; null on the last."),
});

export const approvalParamsSchema = z.object({
  id: z.string().regex(APPROVAL_ID_PATTERN, "expected the id of an approval: GET /approvals lists them"),
});

export const approvalFilterSchema = z.object({
  state: z.enum(APPROVAL_STATES).optional(),
  processId: z
    .string()
    .regex(/^[1-9]\d{0,15}$/, "processId is a positive integer")
    .transform(Number)
    .optional(),
  serviceId: z.string().max(200).optional(),
});
export type ApprovalFilter = z.output<typeof approvalFilterSchema>;

export const approveBodySchema = z.strictObject({
  data: z.unknown().optional().describe("The answer to a question: JSON. It has to fit the schema."),
  remember: z
    .strictObject({
      for: z
        .enum(["process", "tool"])
        .describe("This tool in this process, or in every process of the same role (or, like it, of none)."),
      minutes: z.int().min(1).max(MAX_REMEMBER_MINUTES).default(DEFAULT_REMEMBER_MINUTES),
    })
    .optional()
    .describe(
      "Replaces, for a while, the `ask` that stopped this call: never a `block`, and only as long as the keys that submitted, started and decided count. Listed under the policies.",
    ),
});
export type ApproveBody = z.output<typeof approveBodySchema>;

export const denyBodySchema = z.strictObject({
  reason: z
    .string()
    .trim()
    .min(1)
    .max(MAX_REASON_CHARACTERS)
    .refine(
      (text) => !text.includes("\0") && text.isWellFormed(),
      "reason must be well-formed text without NUL",
    )
    .optional()
    .describe("The script is told."),
});
export type DenyBody = z.output<typeof denyBodySchema>;
