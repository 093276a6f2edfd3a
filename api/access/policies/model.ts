import { z } from "zod";
import { DEFAULT_POLICIES } from "#api/config/default-policies.ts";
import { expirySchema, roleIdSchema } from "../changes.ts";
import { servicePatternSchema, toolPatternSchema } from "../tool-patterns.ts";

export const DECISIONS = ["allow", "ask", "block"] as const;
export type Decision = (typeof DECISIONS)[number];

export const MAX_POLICIES = 10_000;
export const MAX_PREVIEW_TOOLS = 500;

const POLICY_ID_PATTERN = /^pol_[0-9a-f]{20}$/;
const policyId = z.string().regex(POLICY_ID_PATTERN, "expected a policy id: GET /policies lists them");
const decision = z.enum(DECISIONS);

export const policySchema = z
  .object({
    id: z.string(),
    servicePattern: z.string(),
    toolPattern: z.string(),
    roleId: z
      .string()
      .nullable()
      .describe("Applies to calls under this role only; null for all, but see `noRole`."),
    noRole: z.boolean().describe("Applies only to calls without a role."),
    processId: z.number().int().nullable().describe("Applies to calls of this process only; null for all."),
    decision,
    expiresAt: z.iso.datetime().nullable().describe("When the rule expires; null for never."),
    remembered: z
      .object({
        approvalId: z.string(),
        replaces: z.string().nullable().describe("The rule whose `ask` it replaces; null for the default's."),
        keyIds: z.array(z.string()).describe("It applies while none of these keys is revoked or expired."),
      })
      .meta({ id: "RememberedApproval", description: "The approval that made a rule." })
      .nullable()
      .describe("The remembered approval that made the rule; null for an administrator's rule."),
    createdAt: z.iso.datetime(),
  })
  .meta({
    id: "Policy",
    description: "A rule about tool calls. Rules are evaluated in order; the first that matches decides.",
  });
export type PolicyRecord = z.infer<typeof policySchema>;

export const changedPolicySchema = policySchema
  .extend({
    affected: z.number().int().describe("Installed tools that its patterns currently match."),
    hints: z
      .array(z.string())
      .describe("Possible mistakes: no tool matches, or earlier rules always decide first."),
  })
  .meta({ id: "ChangedPolicy", description: "A rule after a change of it." });
export type ChangedPolicy = z.infer<typeof changedPolicySchema>;

export const createPolicyBodySchema = z.strictObject({
  servicePattern: servicePatternSchema,
  toolPattern: toolPatternSchema,
  roleId: roleIdSchema.nullable().default(null),
  noRole: z.boolean().default(false).describe("Applies only to calls without a role; excludes `roleId`."),
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
    .describe("The id of every rule, in the order of evaluation."),
});
export const orderAnswerSchema = z.object({ orderedIds: z.array(z.string()) });

export const policyListSchema = z.object({
  policies: z.array(policySchema),
  defaultPolicy: z.enum(DEFAULT_POLICIES).describe("Decision when no rule matches."),
  nextCursor: z.string().nullable(),
});
export const policyParamsSchema = z.object({ id: policyId });

export const previewQuerySchema = z.strictObject({
  servicePattern: servicePatternSchema,
  toolPattern: toolPatternSchema,
  roleId: roleIdSchema
    .optional()
    .describe("Previews a caller with this role; without it, a caller without a role."),
});
export type PreviewQuery = z.output<typeof previewQuerySchema>;

export const previewSchema = z.object({
  tools: z.array(
    z.object({
      serviceId: z.string(),
      id: z.string(),
      destructive: z.boolean(),
      decision: decision.describe("Current decision about a call."),
      policyId: z.string().nullable().describe("The rule that decides; null for the default."),
    }),
  ),
  affected: z.number().int().describe("Number of matching tools; `tools` has the first ones."),
  hints: z.array(z.string()),
});
export type Preview = z.infer<typeof previewSchema>;
