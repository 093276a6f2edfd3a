/**
 * Tells whether a value is what scripts nearly always send: plain objects and arrays of strings, numbers, booleans and
 * null, within the limits. JSON.stringify writes those many times faster than a walk that watches every step.
 */
import type { JsonLimits } from "./json.ts";
import {
  ArrayIsArray,
  ArrayPrototype,
  ObjectGetPrototypeOf,
  ObjectKeys,
  ObjectPrototype,
} from "./primordials.ts";

/** Quotes or brackets, a comma and a colon. */
const CHARS_PER_VALUE = 4;
/** The most characters a finite number takes. */
const CHARS_PER_NUMBER = 24;
/** One UTF-16 unit is at most six bytes of JSON text (`\u0000`). */
const MAX_BYTES_PER_UNIT = 6;

interface Budget {
  bytes: number;
}

/** False when in doubt. May run getters of the value, as writing it will. */
export function isPlainData(value: unknown, limits: JsonLimits): boolean {
  return value !== undefined && check(value, limits.maxDepth, { bytes: limits.maxBytes });
}

/** Ends for cyclic values too: each value takes from the budget. */
function check(value: unknown, levelsLeft: number, budget: Budget): boolean {
  budget.bytes -= CHARS_PER_VALUE;
  switch (typeof value) {
    case "string":
      budget.bytes -= value.length * MAX_BYTES_PER_UNIT;
      return budget.bytes >= 0;
    case "number":
      budget.bytes -= CHARS_PER_NUMBER;
      return budget.bytes >= 0;
    case "boolean":
    case "undefined":
      return budget.bytes >= 0;
    case "object":
      if (value === null) return budget.bytes >= 0;
      if (levelsLeft === 0 || budget.bytes < 0) return false;
      return ArrayIsArray(value)
        ? checkArray(value, levelsLeft - 1, budget)
        : checkRecord(value, levelsLeft - 1, budget);
    default:
      return false;
  }
}

function checkArray(value: unknown[], levelsLeft: number, budget: Budget): boolean {
  if (ObjectGetPrototypeOf(value) !== ArrayPrototype || hasToJSON(value)) return false;
  const { length } = value;
  for (let index = 0; index < length; index++) if (!check(value[index], levelsLeft, budget)) return false;
  return true;
}

function checkRecord(value: object, levelsLeft: number, budget: Budget): boolean {
  if (ObjectGetPrototypeOf(value) !== ObjectPrototype || hasToJSON(value)) return false;
  const keys = ObjectKeys(value);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    budget.bytes -= key.length * MAX_BYTES_PER_UNIT;
    if (!check((value as Record<string, unknown>)[key], levelsLeft, budget)) return false;
  }
  return true;
}

function hasToJSON(value: object): boolean {
  return (value as { toJSON?: unknown }).toJSON !== undefined;
}
