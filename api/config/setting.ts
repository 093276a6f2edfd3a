import type { z } from "zod";

/**
 * Declares one environment variable. `field` is its name in `Config`, or null if `readGroups` of config.ts reads it.
 * `fallback` is its text value when unset.
 */
export function setting<
  const Field extends string | null,
  Schema extends z.ZodType,
  const Fallback extends string | null,
>(field: Field, schema: Schema, fallback: Fallback, description: string) {
  return { field, schema, fallback, description };
}
