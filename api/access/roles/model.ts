import { z } from "zod";
import { nameSchema, roleIdSchema } from "../changes.ts";
import { packagePatternSchema, pathPatternSchema } from "../tool-patterns.ts";

/** Every server holds all roles compiled in memory. */
export const MAX_ROLES = 1000;
export const MAX_ROLE_PATTERNS = 1000;

const patternsSchema = z.array(pathPatternSchema).max(MAX_ROLE_PATTERNS);
const packagesSchema = z.array(packagePatternSchema).max(MAX_ROLE_PATTERNS);

export const roleSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    allow: z.array(z.string()).describe("Patterns of tools it may see and call. Empty: none."),
    deny: z.array(z.string()).describe("Patterns of tools it may not see, also where `allow` names them."),
    packages: z
      .array(z.string())
      .describe("Which npm packages its scripts may import: names, or patterns such as `@scope/*`."),
    createdAt: z.iso.datetime(),
  })
  .meta({
    id: "Role",
    description: "A role: which tools a key may see and call, and which packages its scripts may import.",
  });
export type RoleRecord = z.infer<typeof roleSchema>;

export const hintsSchema = z
  .array(z.string())
  .describe("Patterns that no installed tool matches, and why that may be.");

export const changedRoleSchema = roleSchema
  .extend({ hints: hintsSchema })
  .meta({ id: "ChangedRole", description: "A role after a change of it." });

const aliasSchema = patternsSchema.optional().describe("Another name of `allow`: give one of the two.");
const hasOneList = (body: { allow?: unknown; patterns?: unknown }) =>
  body.allow === undefined || body.patterns === undefined;
const oneList = { error: "give either allow or patterns, which is another name of it" };

export const createRoleBodySchema = z
  .strictObject({
    id: roleIdSchema.optional().describe("Made by the server, if absent."),
    name: nameSchema,
    allow: patternsSchema.optional(),
    patterns: aliasSchema,
    deny: patternsSchema.default([]),
    packages: packagesSchema.default(["*"]),
  })
  .refine(hasOneList, oneList);
export type CreateRoleBody = z.output<typeof createRoleBodySchema>;

export const patchRoleBodySchema = z
  .strictObject({
    name: nameSchema.optional(),
    allow: patternsSchema.optional(),
    patterns: aliasSchema,
    deny: patternsSchema.optional(),
    packages: packagesSchema.optional(),
  })
  .refine(hasOneList, oneList)
  .refine((body) => Object.keys(body).length > 0, {
    error: "name what to change: name, allow, deny or packages",
  });
export type PatchRoleBody = z.output<typeof patchRoleBodySchema>;

export const roleListSchema = z.object({ roles: z.array(roleSchema), nextCursor: z.string().nullable() });
export const roleParamsSchema = z.object({
  id: roleIdSchema,
});
