/**
 * Matches patterns from foreign schemas in linear time (RE2). RE2 lacks look-around and back references. Such a
 * pattern is skipped if the service validates its own parameters again, and causes an error otherwise.
 */
import { RE2JS } from "re2js";

export interface Pattern {
  test(text: string): boolean;
  /** Ajv caches patterns by this string. */
  toString(): string;
}

const MAX_PATTERN_CHARACTERS = 2000;

/** Compiles a pattern. Never throws: an unsupported pattern matches every text. */
export function compilePattern(source: string): Pattern {
  try {
    return requirePattern(source);
  } catch {
    return { test: () => true, toString: () => source };
  }
}

/** Compiles a pattern. Throws Error if RE2 does not support it. */
export function requirePattern(source: string): Pattern {
  if (source.length > MAX_PATTERN_CHARACTERS) {
    throw new Error(
      `A pattern has ${source.length} characters; at most ${MAX_PATTERN_CHARACTERS} are allowed.`,
    );
  }
  const pattern = RE2JS.compile(RE2JS.translateRegExp(source));
  return { test: (text) => pattern.matcher(text).find(), toString: () => source };
}
