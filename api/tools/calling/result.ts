/** The result of a call as JSON data: bounded in size and depth, detached from whatever the adapter holds. */
import { type CallError, refuseCall } from "./failure.ts";

export const MAX_RESULT_DEPTH = 200;

/** A copy of `value` as JSON makes it. Throws CallError `result_too_large` or `result_invalid`. */
export function toJsonResult(value: unknown, maxBytes: number): unknown {
  if (value === undefined || value === null) return null;
  const text = writeJson(value, maxBytes);
  if (Buffer.byteLength(text) > maxBytes) throw tooLarge(maxBytes);
  return JSON.parse(text);
}

/** A value of an adapter's own making may do anything when it is looked at; what it throws then is not kept. */
function writeJson(value: unknown, maxBytes: number): string {
  let problem: CallError | null = null;
  try {
    problem = measure(value, maxBytes);
    const text = problem === null ? JSON.stringify(value) : undefined;
    if (text !== undefined) return text;
  } catch {
    // No JSON data.
  }
  throw problem ?? refuseCall("result_invalid", "The tool answered something that is no JSON data.");
}

/** Looks before anything is copied: an answer of a gigabyte must not become a text of a gigabyte. */
function measure(value: unknown, maxBytes: number): CallError | null {
  let bytes = 0;
  const open: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    bytes += 1;
    if (typeof next.value === "string") bytes += next.value.length;
    if (bytes + open.length > maxBytes) return tooLarge(maxBytes);
    if (typeof next.value !== "object" || next.value === null) continue;
    if (next.depth >= MAX_RESULT_DEPTH) {
      return refuseCall(
        "result_invalid",
        `The tool's answer is nested deeper than ${MAX_RESULT_DEPTH} levels, or refers to itself.`,
      );
    }
    const depth = next.depth + 1;
    if (Array.isArray(next.value)) {
      if (bytes + open.length + next.value.length > maxBytes) return tooLarge(maxBytes);
      for (const item of next.value) open.push({ value: item, depth });
      continue;
    }
    for (const name in next.value) {
      bytes += name.length;
      open.push({ value: (next.value as Record<string, unknown>)[name], depth });
      if (bytes + open.length > maxBytes) return tooLarge(maxBytes);
    }
  }
  return null;
}

function tooLarge(maxBytes: number): CallError {
  return refuseCall(
    "result_too_large",
    `The tool's answer is larger than ${maxBytes} bytes (CYRNEL_MAX_CALL_RESULT_BYTES). Ask for less: a page, a filter, fewer fields.`,
  );
}
