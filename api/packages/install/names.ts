import { z } from "zod";

const MAX_NAME_CHARACTERS = 214;
const MAX_RANGE_CHARACTERS = 200;

/** Names allowed by npm since 2017. */
const NAME = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;
/** Older names, which dependencies may still have. */
const OLD_NAME = /^(?:@[A-Za-z0-9~-][A-Za-z0-9._~-]*\/)?[A-Za-z0-9~-][A-Za-z0-9._~!'()*-]*$/;
const RESERVED = new Set(["node_modules", "favicon.ico"]);

export const packageNameSchema = z
  .string()
  .max(MAX_NAME_CHARACTERS)
  .refine((name) => NAME.test(name) && !RESERVED.has(name), {
    error: "expected the name of an npm package, such as zod or @scope/name, in lower case",
  });

const VERSION = /^\d{1,9}\.\d{1,9}\.\d{1,9}(?:-[0-9A-Za-z.-]{1,100})?(?:\+[0-9A-Za-z.-]{1,100})?$/;
export const packageVersionSchema = z.string().regex(VERSION, "expected a version such as 4.1.2");

/** Accepts a range or a tag, but not an address or an alias. */
export const packageRangeSchema = z
  .string()
  .trim()
  .min(1)
  .max(MAX_RANGE_CHARACTERS)
  .regex(/^[0-9A-Za-z.*^~<>=|+ -]+$/, "expected a range such as ^4.1 or a tag such as latest");

/** Validates strictly, because the name becomes a path. */
export function isMemberName(name: string): boolean {
  return name.length <= MAX_NAME_CHARACTERS && OLD_NAME.test(name) && !RESERVED.has(name.toLowerCase());
}
