/**
 * Turns a value of a script into JSON text: the rules of JSON.stringify, but what JSON cannot hold is an error that
 * names its place instead of vanishing, and size and depth are bounded while walking. Getters, proxies and `toJSON`
 * of the value run here as code of the script; they can spoil the value, never the text.
 */
import { quote } from "./frames.ts";
import { isPlainData } from "./plain-data.ts";
import {
  ArrayIsArray,
  BooleanPrototype,
  booleanValueOf,
  JSONIsRawJSON,
  JSONStringify,
  NumberIsFinite,
  NumberPrototype,
  numberValueOf,
  ObjectGetPrototypeOf,
  ObjectKeys,
  own,
  RealmTypeError,
  ReflectApply,
  regExpExec,
  StringOf,
  StringPrototype,
  stringValueOf,
} from "./primordials.ts";
import { utf8Length } from "./text.ts";

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

/** @throws TypeError of this realm naming the place; and whatever code of the script throws. */
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
