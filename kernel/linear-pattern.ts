/**
 * Patterns of foreign schemas, matched in time proportional to the text (RE2). A pattern that cannot be matched so
 * (look-around, back references) is not checked where a service checks its own parameters again; elsewhere it is refused.
 */
import { RE2JS } from "re2js";

/** The part of RegExp the validator uses. */
export interface Pattern {
  test(text: string): boolean;
  /** Tells patterns apart. */
  toString(): string;
}

const MAX_PATTERN_CHARACTERS = 2000;

/** Never throws: a pattern that cannot be matched so matches every text. */
export function compilePattern(source: string): Pattern {
  try {
    return requirePattern(source);
  } catch {
    return { test: () => true, toString: () => source };
  }
}

/** @throws Error for a pattern that cannot be matched so. */
export function requirePattern(source: string): Pattern {
  if (source.length > MAX_PATTERN_CHARACTERS) {
    throw new Error(
      `A pattern has ${source.length} characters; at most ${MAX_PATTERN_CHARACTERS} are allowed.`,
    );
  }
  const pattern = RE2JS.compile(RE2JS.translateRegExp(source));
  return { test: (text) => pattern.matcher(text).find(), toString: () => source };
}
