/**
 * Large integers of structured content. The library parses messages with JSON.parse, which rounds them; servers that follow the
 * protocol give the same JSON as a text beside it, which has every digit.
 */
import { isDeepStrictEqual } from "node:util";
import { mayHoldLargeInteger, parseExactJson } from "#sdk";

export function restoreIntegers(
  structured: unknown,
  texts: readonly string[],
  warn: (message: string) => void,
): unknown {
  if (!mayHoldLargeInteger(JSON.stringify(structured))) return structured;
  for (const text of texts) {
    try {
      if (isDeepStrictEqual(JSON.parse(text), structured)) return parseExactJson(text);
    } catch {
      // A text that is for people.
    }
  }
  warn(
    "The answer holds an integer beyond 2^53, which was rounded: the server gave no text of the same JSON beside its structured content.",
  );
  return structured;
}
