/**
 * Encodes a script's value as JSON text without loss, within limits of size and depth. Plain data goes to
 * JSON.stringify, anything else to the walk in json/walk.ts. Getters, proxies and `toJSON` methods run here as script
 * code: they can change the value but never break the text. Also measures and cuts text.
 */

import {
  ArrayIsArray,
  ArrayPrototype,
  charCodeAt,
  JSONStringify,
  ObjectGetPrototypeOf,
  ObjectKeys,
  ObjectPrototype,
  slice,
} from "../primordials.ts";
import { createWalk, encode, type JsonLimits } from "./walk.ts";

/** `text` is undefined if the value is, or if it exceeds `maxBytes`; `bytes` then is its size. */
export interface EncodedJson {
  text: string | undefined;
  bytes: number;
  tooLarge: boolean;
}

/** @throws TypeError of this realm that names the place, and any error that script code throws */
export function encodeJson(value: unknown, limits: JsonLimits): EncodedJson {
  if (isPlainData(value, limits)) {
    const text = JSONStringify(value);
    return { text, bytes: utf8Length(text), tooLarge: false };
  }
  const walk = createWalk(limits);
  if (!encode(walk, value, "", null)) return { text: undefined, bytes: 0, tooLarge: false };
  if (walk.chars > limits.maxBytes) return { text: undefined, bytes: walk.chars, tooLarge: true };
  const bytes = utf8Length(walk.text);
  const tooLarge = bytes > limits.maxBytes;
  return { text: tooLarge ? undefined : walk.text, bytes, tooLarge };
}

/** Quotes or brackets, a comma and a colon. */
const CHARS_PER_VALUE = 4;
/** Longest text of a finite number. */
const CHARS_PER_NUMBER = 24;
/** A UTF-16 unit takes at most six bytes of JSON text (`\u0000`). */
const MAX_BYTES_PER_UNIT = 6;

interface Budget {
  bytes: number;
}

/**
 * Returns whether a value is plain: objects and arrays of strings, numbers, booleans and null, within the limits.
 * JSON.stringify encodes those many times faster than a walk that checks every step. Returns false when in doubt. May
 * run the value's getters, as encoding does.
 */
export function isPlainData(value: unknown, limits: JsonLimits): boolean {
  return value !== undefined && check(value, limits.maxDepth, { bytes: limits.maxBytes });
}

/** Terminates for cyclic values too, because each value reduces the budget. */
function check(value: unknown, levelsLeft: number, budget: Budget): boolean {
  budget.bytes -= CHARS_PER_VALUE;
  switch (typeof value) {
    case "string":
      budget.bytes -= value.length * MAX_BYTES_PER_UNIT;
      return budget.bytes >= 0;
    case "number":
      budget.bytes -= CHARS_PER_NUMBER;
      // NaN and the infinities are not JSON.
      return value - value === 0 && budget.bytes >= 0;
    case "boolean":
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
    const member = (value as Record<string, unknown>)[key];
    if (member !== undefined && !check(member, levelsLeft, budget)) return false;
  }
  return true;
}

function hasToJSON(value: object): boolean {
  return (value as { toJSON?: unknown }).toJSON !== undefined;
}

/** Returns the size of `text` in UTF-8. A lone surrogate takes the three bytes of U+FFFD. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = charCodeAt(text, index);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (isHighSurrogate(unit) && isLowSurrogate(charCodeAt(text, index + 1))) {
      bytes += 2;
      index++;
    } else bytes += 2;
  }
  return bytes;
}

/** Returns the longest prefix of at most `maxUnits` UTF-16 units that does not split a character. */
export function cutAt(text: string, maxUnits: number): string {
  if (text.length <= maxUnits) return text;
  const splits =
    isHighSurrogate(charCodeAt(text, maxUnits - 1)) && isLowSurrogate(charCodeAt(text, maxUnits));
  return slice(text, 0, splits && maxUnits > 1 ? maxUnits - 1 : maxUnits);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
