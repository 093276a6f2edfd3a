/**
 * Turns a value of a script into JSON text that loses nothing, within bounds of size and depth: plain data by
 * JSON.stringify, anything else by the walk in json/walk.ts. Getters, proxies and `toJSON` of the value run here as
 * code of the script; they can spoil the value, never the text. Also measures and cuts text.
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

/** `text` is undefined when the value is, or when it is larger than `maxBytes`: then `bytes` tells how large. */
export interface EncodedJson {
  text: string | undefined;
  bytes: number;
  tooLarge: boolean;
}

/** @throws TypeError of this realm naming the place; and what code of the script throws. */
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
/** The most characters a finite number takes. */
const CHARS_PER_NUMBER = 24;
/** One UTF-16 unit is at most six bytes of JSON text (`\u0000`). */
const MAX_BYTES_PER_UNIT = 6;

interface Budget {
  bytes: number;
}

/**
 * Whether a value is what scripts nearly always send: plain objects and arrays of strings, numbers, booleans and null, within
 * the limits. JSON.stringify writes those many times faster than a walk that watches every step. False when in doubt. May
 * run getters of the value, as writing it will.
 */
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
      // NaN and the infinities are no JSON.
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

/** Bytes of `text` in UTF-8; a lone surrogate counts as the three bytes of U+FFFD. */
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

/** The longest start of `text` of at most `maxUnits` UTF-16 units that does not split a character. */
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
