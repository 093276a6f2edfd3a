/** What can be given to a run as its input: the bounds, the same on a server and without one. */
import { Buffer } from "node:buffer";
import type { InvokeInput } from "#sdk";
// Not all of the SDK: the command loads this with every script.
import { isRawInteger, mayHoldLargeInteger, parseExactJson } from "../sdk/exact-json.ts";
import { measureDepth } from "./json-depth.ts";
import { settleIntegers } from "./tool-docs/large-integers.ts";

/** As inputs are read, wherever they are given. */
export { isRawInteger, parseExactJson };

/** Of JSON text, in UTF-8. */
export const MAX_INPUT_BYTES = 1024 * 1024;
export const MAX_INPUT_DEPTH = 64;

/** The JSON text of an input, or why it cannot be one: the rest of a sentence that begins with its name. Never throws. */
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

/** What a script is given of the JSON text of its input: large integers are exact where the schema, JSON text too, says `integer`. */
export function readInput(
  text: string,
  schema: string | null,
  warn: NonNullable<InvokeInput["warn"]>,
): unknown {
  const data = parseExactJson(text);
  if (!mayHoldLargeInteger(text)) return data;
  return settleIntegers(data, schema === null ? null : JSON.parse(schema), "input", warn);
}
