/**
 * Encodes values that JSON.stringify would empty or drop: maps, sets, iterators, bytes, errors, bigints. For a value
 * that JSON cannot represent, throws an error that names its place and what to write instead. Runs script code.
 */

import {
  ArrayIsArray,
  BooleanPrototype,
  booleanValueOf,
  dateToJSON,
  ErrorIsError,
  IteratorPrototype,
  JSONIsRawJSON,
  NumberIsFinite,
  NumberPrototype,
  numberValueOf,
  ObjectGetPrototypeOf,
  ObjectHasOwn,
  ObjectKeys,
  ObjectPrototype,
  RealmTypeError,
  ReflectApply,
  StringOf,
  StringPrototype,
  SymbolToStringTag,
  stringValueOf,
} from "../primordials.ts";
import { quote } from "../sending.ts";
import { type Entries, findBuiltIn, readCollection } from "./built-ins.ts";
import {
  describePath,
  INSTEAD,
  promiseError,
  readText,
  type Step,
  stateError,
  valueError,
} from "./errors.ts";

/** Beyond this size, an oversized value is no longer measured. */
const MAX_MEASURED_CHARS = 256 * 1024 * 1024;
const MAX_SAFE = 9_007_199_254_740_991n;
/** Longer bigints are rejected, because JSON readers and Postgres limit the number of digits. */
const MAX_DIGITS = 1000;

export interface JsonLimits {
  /** Name of the root value in errors, such as `result`. */
  name: string;
  maxDepth: number;
  maxBytes: number;
  /**
   * Called with the path of a value that becomes null because JSON cannot represent it (`NaN`, an `undefined` item).
   * With it, a bigint beyond the safe range becomes a string of digits unless `keepsIntegers`. Without it, as for
   * parameters, the former throws and the latter stays an exact integer.
   */
  onNull?: (path: string, found: string) => void;
  keepsIntegers?: true;
}

export interface Walk {
  limits: JsonLimits;
  text: string;
  chars: number;
}

export function createWalk(limits: JsonLimits): Walk {
  return { limits, text: "", chars: 0 };
}

function write(walk: Walk, text: string): true {
  walk.chars += text.length;
  if (walk.chars <= walk.limits.maxBytes) walk.text += text;
  return true;
}

/** Returns false for undefined, which JSON leaves out. */
export function encode(walk: Walk, input: unknown, key: string, parent: Step | null): boolean {
  let value = input;
  if ((typeof value === "object" && value !== null) || typeof value === "bigint") {
    const toJSON = (value as { toJSON?: unknown }).toJSON;
    if (typeof toJSON === "function") {
      value = ReflectApply(toJSON, value, [key]);
      if (value === null && toJSON === dateToJSON) {
        return writeNull(walk, key, parent, "an invalid Date");
      }
    }
  }
  switch (typeof value) {
    case "string":
      return write(walk, quote(value));
    case "number":
      return NumberIsFinite(value)
        ? write(walk, StringOf(value))
        : writeNull(walk, key, parent, StringOf(value));
    case "bigint":
      return encodeBigInt(walk, value, key, parent);
    case "boolean":
      return write(walk, value ? "true" : "false");
    case "undefined":
      return false;
    case "object":
      return value === null ? write(walk, "null") : encodeObject(walk, value, key, parent);
    case "function":
      throw valueError(
        walk.limits.name,
        key,
        parent,
        "is a function, which JSON cannot hold: leave it out or call it",
      );
    default:
      throw valueError(
        walk.limits.name,
        key,
        parent,
        "is a symbol, which JSON cannot hold: convert it with String()",
      );
  }
}

function writeNull(walk: Walk, key: string, parent: Step | null, found: string): true {
  const { onNull } = walk.limits;
  if (onNull === undefined) {
    throw valueError(
      walk.limits.name,
      key,
      parent,
      `is ${found}, which JSON cannot hold: send null or leave it out`,
    );
  }
  if (walk.chars <= walk.limits.maxBytes) onNull(describePath(walk.limits.name, key, parent), found);
  return write(walk, "null");
}

function encodeBigInt(walk: Walk, value: bigint, key: string, parent: Step | null): true {
  const digits = StringOf(value);
  if (digits.length > MAX_DIGITS) {
    throw valueError(
      walk.limits.name,
      key,
      parent,
      `is a bigint of more than ${StringOf(MAX_DIGITS)} digits: convert it with String()`,
    );
  }
  const { onNull, keepsIntegers } = walk.limits;
  const isExact = onNull === undefined || keepsIntegers === true || (value <= MAX_SAFE && value >= -MAX_SAFE);
  return write(walk, isExact ? digits : quote(digits));
}

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
    if (step.value === value)
      throw valueError(
        walk.limits.name,
        key,
        parent,
        "contains itself, which JSON cannot hold: break the cycle",
      );
  }
  const depth = parent === null ? 1 : parent.depth + 1;
  if (depth > walk.limits.maxDepth) {
    throw new RealmTypeError(
      `${walk.limits.name} is nested deeper than ${StringOf(walk.limits.maxDepth)} levels; flatten it or send it as a string made by JSON.stringify`,
    );
  }
  const step: Step = { value, key, parent, depth, isList: false };
  if (ArrayIsArray(value)) return encodeList(walk, value, value.length, step);
  if (prototype === ObjectPrototype || prototype === null) return encodeRecord(walk, value, "", step);
  return encodeInstance(walk, value, prototype, step);
}

function encodeInstance(walk: Walk, value: object, prototype: object, step: Step): true {
  if (ErrorIsError(value)) return encodeError(walk, value, step);
  const held = readCollection(value, prototype);
  if (held !== null && "keys" in held) return encodeMap(walk, held, step);
  if (held !== null) return encodeList(walk, held.values, held.length, step);
  const next = findBuiltIn(prototype) === IteratorPrototype ? (value as { next?: unknown }).next : undefined;
  if (typeof next === "function") {
    return encodeIterator(walk, value, next, step);
  }
  if (typeof (value as { then?: unknown }).then === "function") throw promiseError(walk.limits.name, step);
  const tag = readText(value, SymbolToStringTag);
  const keys = ObjectKeys(value);
  if (keys.length > 0 && !ObjectHasOwn(INSTEAD, tag)) return encodeRecord(walk, value, "", step);
  throw stateError(walk.limits.name, value, tag, step);
}

function encodeMap(walk: Walk, { keys, values, length }: Entries, step: Step): true {
  let separator = "";
  write(walk, "{");
  for (let index = 0; index < length; index++) {
    if (walk.chars > MAX_MEASURED_CHARS) break;
    separator = writeMember(walk, separator, keys[index] as string, values[index], step);
  }
  return write(walk, "}");
}

/** An iterator may be endless, so it is read only up to the limit. */
function encodeIterator(walk: Walk, iterator: object, next: object, step: Step): true {
  step.isList = true;
  write(walk, "[");
  for (let index = 0; walk.chars <= walk.limits.maxBytes; index++) {
    const found = ReflectApply(next as () => unknown, iterator, []) as { done?: unknown; value?: unknown };
    if (typeof found !== "object" || found === null) {
      throw valueError(
        walk.limits.name,
        step.key,
        step.parent,
        "is an iterator whose next() returned no object",
      );
    }
    if (found.done) break;
    if (index > 0) write(walk, ",");
    writeItem(walk, found.value, index, step);
  }
  return write(walk, "]");
}

function encodeError(walk: Walk, error: Error, step: Step): true {
  write(walk, "{");
  let separator = "";
  separator = writeMember(walk, separator, "name", error.name, step);
  separator = writeMember(walk, separator, "message", error.message, step);
  for (let index = 0; index < HIDDEN.length; index++) {
    const key = HIDDEN[index] as string;
    if (ObjectHasOwn(error, key)) {
      separator = writeMember(walk, separator, key, (error as unknown as Record<string, unknown>)[key], step);
    }
  }
  return encodeRecord(walk, error, separator, step);
}

/** Own members of errors that are not enumerable. All but the stack are written. */
const HIDDEN = ["cause", "errors"];
const WRITTEN = { name: true, message: true, cause: true, errors: true, stack: true };

function encodeList(walk: Walk, value: ArrayLike<unknown>, length: number, step: Step): true {
  step.isList = true;
  write(walk, "[");
  for (let index = 0; index < length; index++) {
    if (index > 0) write(walk, ",");
    if (walk.chars > MAX_MEASURED_CHARS) break;
    writeItem(walk, value[index], index, step);
  }
  return write(walk, "]");
}

function writeItem(walk: Walk, item: unknown, index: number, step: Step): void {
  const key = StringOf(index);
  if (!encode(walk, item, key, step)) writeNull(walk, key, step, "undefined");
}

/** `separator` is empty, or follows the members that were written for an error. */
function encodeRecord(walk: Walk, value: object, separator: string, step: Step): true {
  const keys = ObjectKeys(value);
  const isError = separator !== "";
  let between = separator;
  if (!isError) write(walk, "{");
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    if (walk.chars > MAX_MEASURED_CHARS) break;
    if (isError && ObjectHasOwn(WRITTEN, key)) continue;
    between = writeMember(walk, between, key, (value as Record<string, unknown>)[key], step);
  }
  return write(walk, "}");
}

function writeMember(walk: Walk, separator: string, key: string, member: unknown, step: Step): string {
  if (member === undefined) return separator;
  const { chars, text } = walk;
  write(walk, `${separator}${quote(key)}:`);
  if (encode(walk, member, key, step)) return ",";
  walk.chars = chars;
  walk.text = text;
  return separator;
}
