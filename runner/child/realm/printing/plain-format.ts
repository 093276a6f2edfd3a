/**
 * Formats the values that scripts print most (plain objects, arrays, primitives, plain errors) exactly like the
 * inspector, without loading it, which takes several milliseconds. Returns null for anything else, which the
 * inspector then formats. A property test compares the two.
 */

import {
  ArrayIsArray,
  ArrayPrototype,
  charCodeAt,
  ErrorIsError,
  indexOf,
  ObjectGetOwnPropertyDescriptor,
  ObjectGetOwnPropertySymbols,
  ObjectGetPrototypeOf,
  ObjectHasOwn,
  ObjectIs,
  ObjectKeys,
  ObjectPrototype,
  own,
  RealmError,
  RealmRangeError,
  RealmSyntaxError,
  RealmTypeError,
  regExpExec,
  StringOf,
  symbolToString,
} from "../primordials.ts";
import { append, createList, type List, layOut, quotePlain } from "./plain-layout.ts";

const MAX_DEPTH = 2;
const MAX_ARRAY_ITEMS = 100;
const INDENT = 2;
const IDENTIFIER = /^[a-zA-Z_][a-zA-Z_0-9]*$/;

interface Formatting {
  indentation: number;
  /** Level of the last object entered, which shows how deep the object being closed is. */
  deepest: number;
  parents: Parent | null;
}

interface Parent {
  value: object;
  next: Parent | null;
}

/** Formats the arguments of `console.log`, or returns null. */
export function formatPlain(args: unknown[]): string | null {
  let text = "";
  for (let index = 0; index < args.length; index++) {
    const value = args[index];
    const part = typeof value === "string" ? value : formatTop(value);
    if (part === null) return null;
    text += index === 0 ? part : ` ${part}`;
  }
  return text;
}

function formatTop(value: unknown): string | null {
  if (isSimpleError(value)) return value.stack as string;
  return formatValue(value, 0, { indentation: 0, deepest: 0, parents: null });
}

function formatValue(value: unknown, level: number, state: Formatting): string | null {
  switch (typeof value) {
    case "string":
      return quotePlain(value);
    case "number":
      return ObjectIs(value, -0) ? "-0" : StringOf(value);
    case "bigint":
      return `${StringOf(value)}n`;
    case "symbol":
      return symbolToString(value);
    case "object":
      return value === null ? "null" : formatObject(value, level, state);
    case "function":
      return null;
    default:
      return StringOf(value);
  }
}

function formatObject(value: object, level: number, state: Formatting): string | null {
  const isArray = ArrayIsArray(value);
  if (ObjectGetPrototypeOf(value) !== (isArray ? ArrayPrototype : ObjectPrototype)) return null;
  if (ObjectHasOwn(value, "constructor") || ObjectGetOwnPropertySymbols(value).length > 0) return null;
  for (let parent = state.parents; parent !== null; parent = parent.next)
    if (parent.value === value) return null;
  const keys = ObjectKeys(value);
  if (isArray && keys.length !== value.length) return null;
  if (keys.length === 0) return isArray ? "[]" : "{}";
  if (level > MAX_DEPTH) return isArray ? "[Array]" : "[Object]";
  state.deepest = level + 1;
  state.parents = { value, next: state.parents };
  const members = formatMembers(value, keys, isArray, level + 1, state);
  state.parents = state.parents.next;
  if (members === null) return null;
  return layOut(members, {
    value: isArray ? value : null,
    open: isArray ? "[" : "{",
    close: isArray ? "]" : "}",
    indentation: state.indentation,
    nestedLevels: state.deepest - (level + 1),
    hidden: isArray ? keys.length - MAX_ARRAY_ITEMS : 0,
  });
}

function formatMembers(
  value: object,
  keys: string[],
  isArray: boolean,
  level: number,
  state: Formatting,
): List | null {
  const members = createList();
  for (let index = 0; index < keys.length; index++) {
    if (isArray && index === MAX_ARRAY_ITEMS) break;
    const key = keys[index] as string;
    const descriptor = ObjectGetOwnPropertyDescriptor(value, key);
    if (descriptor === undefined || !ObjectHasOwn(descriptor, "value")) return null;
    state.indentation += INDENT;
    const text = formatValue(descriptor.value, level, state);
    state.indentation -= INDENT;
    if (text === null) return null;
    if (isArray) append(members, text);
    else {
      const name = regExpExec(IDENTIFIER, key) === null ? quotePlain(key) : key;
      if (name === null || name === "__proto__") return null;
      append(members, `${name}: ${text}`);
    }
  }
  const hidden = isArray ? keys.length - MAX_ARRAY_ITEMS : 0;
  if (hidden > 0) append(members, `... ${StringOf(hidden)} more item${hidden > 1 ? "s" : ""}`);
  return members;
}

/** The inspector folds repeated frames in longer stacks. */
const MAX_STACK_LINES = 10;
const LINE_FEED = 10;

/** Returns whether the inspector would print only the error's stack. */
function isSimpleError(value: unknown): value is Error {
  if (!ErrorIsError(value)) return false;
  const name = nameOf(ObjectGetPrototypeOf(value));
  if (name === null || ObjectKeys(value).length > 0 || ObjectGetOwnPropertySymbols(value).length > 0)
    return false;
  if (ObjectHasOwn(value, "name") || ObjectHasOwn(value, "cause") || ObjectHasOwn(value, "errors"))
    return false;
  const { stack } = value;
  if (typeof stack !== "string" || typeof own(value, "message") !== "string") return false;
  return (
    indexOf(stack, name) === 0 && indexOf(stack, "\n    at ") !== -1 && countLines(stack) <= MAX_STACK_LINES
  );
}

function nameOf(prototype: object | null): string | null {
  switch (prototype) {
    case RealmError.prototype:
      return "Error";
    case RealmTypeError.prototype:
      return "TypeError";
    case RealmRangeError.prototype:
      return "RangeError";
    case RealmSyntaxError.prototype:
      return "SyntaxError";
    default:
      return null;
  }
}

function countLines(text: string): number {
  let lines = 1;
  for (let index = 0; index < text.length; index++) if (charCodeAt(text, index) === LINE_FEED) lines++;
  return lines;
}
