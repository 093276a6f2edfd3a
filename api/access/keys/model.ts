import { z } from "zod";
import { SCOPES, type Scope } from "#api/http/auth.ts";
import { expirySchema, nameSchema, roleIdSchema } from "../changes.ts";

export const MAX_LIVE_KEYS = 10_000;
const KEY_ID_PATTERN = /^key_[0-9a-f]{20}$/;

const scopeSchema = z.enum(SCOPES).meta({ id: "Scope", description: "What a key may do over HTTP." });

export const keySchema = z
  .object({
    id: z.string(),
    name: z.string(),
    prefix: z.string().describe("How the key begins, to tell keys apart."),
    scopes: z.array(scopeSchema),
    roleId: z.string().nullable().describe("Tools that it may see and call; null for all."),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime().nullable(),
    lastUsedAt: z.iso.datetime().nullable().describe("Accurate to a minute."),
  })
  .meta({ id: "Key", description: "An API key, without the key itself." });
export type KeyRecord = z.infer<typeof keySchema>;

export function readScopes(stored: readonly string[]): Scope[] {
  return SCOPES.filter((scope) => stored.includes(scope));
}

export const createKeyBodySchema = z.strictObject({
  name: nameSchema,
  scopes: z
    .array(scopeSchema)
    .max(SCOPES.length)
    .refine((scopes) => new Set(scopes).size === scopes.length, { error: "a scope is named twice" })
    .describe("What it may do over HTTP."),
  roleId: roleIdSchema
    .nullable()
    .default(null)
    .describe("Tools that it and the scripts it submits may see and call; all without one."),
  expiresAt: expirySchema.default(null).describe("When it stops working; never without one."),
});
export type CreateKeyBody = z.output<typeof createKeyBodySchema>;

export const createdKeySchema = keySchema
  .extend({
    key: z.string().describe("The key. Shown only once; the server keeps its hash."),
  })
  .meta({ id: "CreatedKey", description: "An API key with the key itself." });

export const keyListSchema = z.object({ keys: z.array(keySchema), nextCursor: z.string().nullable() });
export const keyParamsSchema = z.object({
  id: z.string().regex(KEY_ID_PATTERN, "expected a key id: GET /keys lists them"),
});
