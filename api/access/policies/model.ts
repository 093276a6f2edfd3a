import { z } from "zod";
import { DEFAULT_POLICIES } from "#api/config/default-policies.ts";
import { expirySchema, roleIdSchema } from "../changes.ts";
import { servicePatternSchema, toolPatternSchema } from "../tool-patterns.ts";

export const DECISIONS = ["allow", "ask", "block"] as const;
export type Decision = (typeof DECISIONS)[number];

/** Every server holds all rules compiled in memory. */
export const MAX_POLICIES = 10_000;
/** Tools in one preview. */
export const MAX_PREVIEW_TOOLS = 500;

const POLICY_ID_PATTERN = /^pol_[0-9a-f]{20}$/;
const policyId = z.string().regex(POLICY_ID_PATTERN, "expected the id of a policy: GET /policies lists them");
const decision = z.enum(DECISIONS);

export const policySchema = z
  .object({
    id: z.string(),
    servicePattern: z.string(),
    toolPattern: z.string(),
    roleId: z.string().nullable().describe("Only for calls under this role; null: for all, or see `noRole`."),
    noRole: z.boolean().describe("Only for calls under no role."),
    processId: z.number().int().nullable().describe("Only for calls of this process; null: for all."),
    decision,
    expiresAt: z.iso.datetime().nullable().describe("The rule is over then; null: it stays."),
    remembered: z
      .object({
        approvalId: z.string(),
        replaces: z
          .string()
          .nullable()
          .describe("The rule whose `ask` it replaces, and nothing else; null: that of the default."),
        keyIds: z
          .array(z.string())
          .describe("It counts as long as none of these keys is revoked or expired."),
      })
      .meta({ id: "RememberedApproval", description: "The approval that made a rule." })
      .nullable()
      .describe("Where an approval was remembered; null: a rule of an administrator."),
    createdAt: z.iso.datetime(),
  })
  .meta({
    id: "Policy",
    description: "A rule about tool calls. Rules are evaluated in order; the first that matches decides.",
  });
export type PolicyRecord = z.infer<typeof policySchema>;

export const changedPolicySchema = policySchema
  .extend({
    affected: z.number().int().describe("Installed tools that its patterns match now."),
    hints: z
      .array(z.string())
      .describe("What may be wrong: no tool matches, or an earlier rule is always first."),
  })
  .meta({ id: "ChangedPolicy", description: "A rule after a change of it." });
export type ChangedPolicy = z.infer<typeof changedPolicySchema>;

export const createPolicyBodySchema = z.strictObject({
  servicePattern: servicePatternSchema,
  toolPattern: toolPatternSchema,
  roleId: roleIdSchema.nullable().default(null),
  noRole: z.boolean().default(false).describe("Only for calls under no role; then without `roleId`."),
  decision,
  expiresAt: expirySchema.default(null),
});
export type CreatePolicyBody = z.output<typeof createPolicyBodySchema>;

export const patchPolicyBodySchema = z
  .strictObject({
    servicePattern: servicePatternSchema.optional(),
    toolPattern: toolPatternSchema.optional(),
    roleId: roleIdSchema.nullable().optional(),
    noRole: z.boolean().optional(),
    decision: decision.optional(),
    expiresAt: expirySchema.optional(),
  })
  .refine((body) => Object.keys(body).length > 0, {
    error: "name what to change: servicePattern, toolPattern, roleId, noRole, decision or expiresAt",
  });
export type PatchPolicyBody = z.output<typeof patchPolicyBodySchema>;

export const orderBodySchema = z.strictObject({
  orderedIds: z
    .array(policyId)
    .max(MAX_POLICIES)
    .refine((ids) => new Set(ids).size === ids.length, { error: "an id is named twice" })
    .describe("The id of every rule, in the order in which they shall be asked."),
});
export const orderAnswerSchema = z.object({ orderedIds: z.array(z.string()) });

export const policyListSchema = z.object({
  policies: z.array(policySchema),
  defaultPolicy: z.enum(DEFAULT_POLICIES).describe("What decides where no rule matches."),
  nextCursor: z.string().nullable(),
});
export const policyParamsSchema = z.object({ id: policyId });

export const previewQuerySchema = z.strictObject({
  servicePattern: servicePatternSchema,
  toolPattern: toolPatternSchema,
  roleId: roleIdSchema.optional().describe("As for a caller with this role. Absent: for one without a role."),
});
export type PreviewQuery = z.output<typeof previewQuerySchema>;

export const previewSchema = z.object({
  tools: z.array(
    z.object({
      serviceId: z.string(),
      id: z.string(),
      destructive: z.boolean(),
      decision: decision.describe("What happens to a call now."),
      policyId: z.string().nullable().describe("The rule that decides; null: the default."),
    }),
  ),
  affected: z.number().int().describe("How many tools match; `tools` holds the first of them."),
  hints: z.array(z.string()),
});
export type Preview = z.infer<typeof previewSchema>;
