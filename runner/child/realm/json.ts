/**
 * Turns a value of a script into JSON text: the rules of JSON.stringify, but what JSON cannot hold is an error that
 * names its place instead of vanishing, and size and depth are bounded while walking. Getters, proxies and `toJSON`
 * of the value run here as code of the script; they can spoil the value, never the text. Also sizes and cuts of text.
 */

import {
  ArrayIsArray,
  ArrayPrototype,
  BooleanPrototype,
  booleanValueOf,
  charCodeAt,
  JSONIsRawJSON,
  JSONStringify,
  NumberIsFinite,
  NumberPrototype,
  numberValueOf,
  ObjectGetPrototypeOf,
  ObjectKeys,
  ObjectPrototype,
  own,
  RealmTypeError,
  ReflectApply,
  regExpExec,
  StringOf,
  StringPrototype,
  slice,
  stringValueOf,
} from "./primordials.ts";
import { quote } from "./sending.ts";

export interface JsonLimits {
  /** How the value is called in errors, e.g. `result`. */
  name: string;
  maxDepth: number;
  maxBytes: number;
}

/** `text` is undefined when the value is, or when it is larger than `maxBytes`: then `bytes` tells how large. */
export interface EncodedJson {
  text: string | undefined;
  bytes: number;
  tooLarge: boolean;
}

/** Beyond this an oversized value is no longer measured. */
const MAX_MEASURED_CHARS = 256 * 1024 * 1024;

interface Walk {
  limits: JsonLimits;
  text: string;
  chars: number;
}

/** One step of the path from the value's root, for error texts and for finding cycles. */
interface Step {
  value: object;
  key: string;
  parent: Step | null;
  depth: number;
}

/** @throws TypeError of this realm naming the place; and what code of the script throws. */
export function encodeJson(value: unknown, limits: JsonLimits): EncodedJson {
  if (isPlainData(value, limits)) {
    const text = JSONStringify(value);
    return { text, bytes: utf8Length(text), tooLarge: false };
  }
  const walk: Walk = { limits, text: "", chars: 0 };
  if (!encode(walk, value, "", null)) return { text: undefined, bytes: 0, tooLarge: false };
  if (walk.chars > limits.maxBytes) return { text: undefined, bytes: walk.chars, tooLarge: true };
  const bytes = utf8Length(walk.text);
  const tooLarge = bytes > limits.maxBytes;
  return { text: tooLarge ? undefined : walk.text, bytes, tooLarge };
}

function write(walk: Walk, text: string): true {
  walk.chars += text.length;
  if (walk.chars <= walk.limits.maxBytes) walk.text += text;
  return true;
}

/** False for undefined, which JSON leaves out. */
function encode(walk: Walk, input: unknown, key: string, parent: Step | null): boolean {
  let value = input;
  if (typeof value === "object" && value !== null) {
    const toJSON = (value as { toJSON?: unknown }).toJSON;
    if (typeof toJSON === "function") value = ReflectApply(toJSON, value, [key]);
  }
  switch (typeof value) {
    case "string":
      return write(walk, quote(value));
    case "number":
      return write(walk, NumberIsFinite(value) ? StringOf(value) : "null");
    case "boolean":
      return write(walk, value ? "true" : "false");
    case "undefined":
      return false;
    case "object":
      return value === null ? write(walk, "null") : encodeObject(walk, value, key, parent);
    default:
      throw refuse(walk, key, parent, `is a ${typeof value}`, own(HINTS, typeof value) as string);
  }
}

const HINTS = {
  bigint: "convert it with String() or Number()",
  function: "leave it out or call it",
  symbol: "convert it with String()",
};

function encodeObject(walk: Walk, value: object, key: string, parent: Step | null): boolean {
  const prototype = ObjectGetPrototypeOf(value);
  if (prototype === NumberPrototype)
    return encode(walk, numberValueOf(value as unknown as number), key, parent);
  if (prototype === StringPrototype)
    return encode(walk, stringValueOf(value as unknown as string), key, parent);
  if (prototype === BooleanPrototype)
    return write(walk, booleanValueOf(value as unknown as boolean) ? "true" : "false");
  if (prototype === null && JSONIsRawJSON(value)) return write(walk, (value as { rawJSON: string }).rawJSON);
  for (let step = parent; step !== null; step = step.parent) {
    if (step.value === value) throw refuse(walk, key, parent, "contains itself", "break the cycle");
  }
  const depth = parent === null ? 1 : parent.depth + 1;
  if (depth > walk.limits.maxDepth) {
    throw new RealmTypeError(
      `${walk.limits.name} is nested deeper than ${StringOf(walk.limits.maxDepth)} levels; flatten it or send it as a string made by JSON.stringify`,
    );
  }
  const step: Step = { value, key, parent, depth };
  return ArrayIsArray(value) ? encodeArray(walk, value, step) : encodeRecord(walk, value, step);
}

function encodeArray(walk: Walk, value: unknown[], step: Step): true {
  const { length } = value;
  write(walk, "[");
  for (let index = 0; index < length; index++) {
    if (index > 0) write(walk, ",");
    if (walk.chars > MAX_MEASURED_CHARS) break;
    if (!encode(walk, value[index], StringOf(index), step)) write(walk, "null");
  }
  return write(walk, "]");
}

function encodeRecord(walk: Walk, value: object, step: Step): true {
  const keys = ObjectKeys(value);
  let separator = "";
  write(walk, "{");
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    if (walk.chars > MAX_MEASURED_CHARS) break;
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined) continue;
    const { chars, text } = walk;
    write(walk, `${separator}${quote(key)}:`);
    if (encode(walk, member, key, step)) separator = ",";
    else {
      walk.chars = chars;
      walk.text = text;
    }
  }
  return write(walk, "}");
}

function refuse(walk: Walk, key: string, parent: Step | null, problem: string, hint: string): TypeError {
  return new RealmTypeError(
    `${describePath(walk.limits.name, key, parent)} ${problem}, which JSON cannot hold: ${hint}`,
  );
}

const IDENTIFIER = /^[A-Za-z_$][\w$]{0,60}$/;

function describePath(name: string, key: string, parent: Step | null): string {
  let path = "";
  let last = key;
  for (let step = parent; step !== null; step = step.parent) {
    if (ArrayIsArray(step.value)) path = `[${last}]${path}`;
    else if (regExpExec(IDENTIFIER, last) !== null) path = `.${last}${path}`;
    else path = `[${quote(last.length > 60 ? "…" : last)}]${path}`;
    last = step.key;
  }
  return name + path;
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
function isPlainData(value: unknown, limits: JsonLimits): boolean {
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
