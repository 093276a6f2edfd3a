import { Buffer } from "node:buffer";
import type { InvokeInput } from "#sdk";
// Import this file directly: the command loads it for every script, and the complete SDK would load zod.
import { isRawInteger, mayHoldLargeInteger, parseExactJson } from "../sdk/exact-json.ts";
import { measureDepth } from "./json-depth.ts";
import { settleIntegers } from "./tool-docs/large-integers.ts";

export { isRawInteger, parseExactJson };

export const MAX_INPUT_BYTES = 1024 * 1024;
export const MAX_INPUT_DEPTH = 64;

/** Returns an input's JSON text, or a problem that completes "`input` …". Never throws. */
export function writeInput(input: unknown): { text: string } | { problem: string } {
  let text: string | undefined;
  try {
    text = JSON.stringify(input);
  } catch (error) {
    return { problem: `must be JSON data: ${(error as Error).message.split("\n")[0]}.` };
  }
  if (text === undefined) return { problem: `must be JSON data; found ${typeof input}.` };
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_INPUT_BYTES) {
    return { problem: `must be at most ${MAX_INPUT_BYTES} bytes of JSON text; found ${bytes.length}.` };
  }
  if (measureDepth(bytes, MAX_INPUT_DEPTH) > MAX_INPUT_DEPTH) {
    return { problem: `must be nested at most ${MAX_INPUT_DEPTH} levels deep.` };
  }
  return { text };
}

/** Large integers become bigints where the JSON Schema says `integer`; others are rounded with a warning. */
export function readInput(
  text: string,
  schema: string | null,
  warn: NonNullable<InvokeInput["warn"]>,
): unknown {
  const data = parseExactJson(text);
  if (!mayHoldLargeInteger(text)) return data;
  return settleIntegers(data, schema === null ? null : JSON.parse(schema), "input", warn);
}
