import { z } from "zod";

export const MAX_PATCH_OPERATIONS = 100;
const MAX_POINTER_CHARACTERS = 1000;
const MAX_POINTER_SEGMENTS = 32;

/** A JSON Pointer (RFC 6901) that cannot reach inherited members. */
const pointer = z
  .string()
  .max(MAX_POINTER_CHARACTERS)
  .regex(/^(?:\/(?:[^/~]|~[01])*)*$/, {
    error: "expected a JSON Pointer: empty, or segments that each start with / (write ~ as ~0, / as ~1)",
  })
  .refine((text) => text.split("/").length <= MAX_POINTER_SEGMENTS + 1, {
    error: `expected at most ${MAX_POINTER_SEGMENTS} segments`,
  })
  .refine((text) => !splitPointer(text).some((segment) => segment in Object.prototype), {
    error: "names that every object has (__proto__, constructor, toString, ...) are not settings",
  })
  .meta({ id: "JsonPointer", description: "A JSON Pointer (RFC 6901)." });

export function splitPointer(text: string): string[] {
  return text
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}

const patchValue = z
  .unknown()
  .refine((value) => value !== undefined, { error: "add, replace and test need a value" })
  .describe("Any JSON.");

const patchOperationSchema = z.discriminatedUnion("op", [
  z.object({ op: z.literal("add"), path: pointer, value: patchValue }),
  z.object({ op: z.literal("replace"), path: pointer, value: patchValue }),
  z.object({ op: z.literal("test"), path: pointer, value: patchValue }),
  z.object({ op: z.literal("remove"), path: pointer }),
  z.object({ op: z.literal("move"), from: pointer, path: pointer }),
  z.object({ op: z.literal("copy"), from: pointer, path: pointer }),
]);
export type PatchOperation = z.infer<typeof patchOperationSchema>;

export const patchBodySchema = z
  .array(patchOperationSchema)
  .min(1)
  .max(MAX_PATCH_OPERATIONS)
  .meta({ id: "JsonPatch", description: "JSON Patch (RFC 6902), applied as a whole or not at all." });
