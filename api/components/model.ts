/** Schemas that modules and services share. No behaviour. */
import { z } from "zod";

const MAX_QUERY_CHARACTERS = 200;

export const flagSchema = z
  .enum(["true", "false"], { error: "expected true or false" })
  .transform((value) => value === "true")
  .optional();

export const querySchema = z
  .string()
  .trim()
  .max(MAX_QUERY_CHARACTERS)
  .refine((text) => !text.includes("\0"), { error: "must not hold a NUL character" })
  .optional()
  .describe("Part of an id, a name or a description, in any case.");

export const idAnswerSchema = z.object({ id: z.string() });
export const enabledBodySchema = z.strictObject({ enabled: z.boolean() });
export const enabledAnswerSchema = z.object({ id: z.string(), enabled: z.boolean() });
