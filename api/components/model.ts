import { z } from "zod";
import { wordsSchema } from "../http/filters.ts";

export const querySchema = wordsSchema.describe("Matches part of an id, name or description, ignoring case.");

export const idAnswerSchema = z.object({ id: z.string() });
export const installedAnswerSchema = idAnswerSchema
  .extend({
    problems: z
      .array(z.string())
      .optional()
      .describe("Parts of a service's definition that were unreadable and left out, and why."),
  })
  .meta({ id: "Installed", description: "The id of what was installed." });
export const enabledBodySchema = z.strictObject({ enabled: z.boolean() });
export const enabledAnswerSchema = z.object({ id: z.string(), enabled: z.boolean() });
