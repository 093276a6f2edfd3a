/** Errors whose printed form is their stack and nothing else. */
import {
  charCodeAt,
  ErrorIsError,
  indexOf,
  ObjectGetOwnPropertySymbols,
  ObjectGetPrototypeOf,
  ObjectHasOwn,
  ObjectKeys,
  own,
  RealmError,
  RealmRangeError,
  RealmSyntaxError,
  RealmTypeError,
} from "../primordials.ts";

/** The inspector folds repeated frames of longer stacks. */
const MAX_LINES = 10;
const LINE_FEED = 10;

export function isSimpleError(value: unknown): value is Error {
  if (!ErrorIsError(value)) return false;
  const name = nameOf(ObjectGetPrototypeOf(value));
  if (name === null || ObjectKeys(value).length > 0 || ObjectGetOwnPropertySymbols(value).length > 0)
    return false;
  if (ObjectHasOwn(value, "name") || ObjectHasOwn(value, "cause") || ObjectHasOwn(value, "errors"))
    return false;
  const { stack } = value;
  if (typeof stack !== "string" || typeof own(value, "message") !== "string") return false;
  return indexOf(stack, name) === 0 && indexOf(stack, "\n    at ") !== -1 && countLines(stack) <= MAX_LINES;
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
