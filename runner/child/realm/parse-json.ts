/**
 * Parses JSON with integers beyond the safe range: in replies marked `exact` they become bigints, elsewhere rounding
 * causes a warning.
 */
import { JSONParse, RealmBigInt, regExpExec, slice } from "./primordials.ts";
import { quote } from "./sending.ts";
import { warn } from "./warnings.ts";

const INTEGER = /^-?[0-9]{16,}$/;
const MAX_SAFE = 9_007_199_254_740_991;

export function parseExact(text: string): unknown {
  return (JSONParse as (text: string, read: typeof readValue) => unknown)(text, readValue);
}

function readValue(_key: string, value: unknown, context: { source?: string }): unknown {
  if (typeof value !== "number" || (value <= MAX_SAFE && value >= -MAX_SAFE)) return value;
  // An own member of the context of every primitive.
  const source = context.source as string;
  return regExpExec(INTEGER, source) === null ? value : RealmBigInt(source);
}

const MAY_HOLD_LARGE = /(?:^|[-,:[\s])[0-9]{16,}(?:$|[,\]}\s])/;
const MAX_SHOWN_CHARS = 100;

/** Parses like JSON.parse. The warning about the first rounded integer names `what` as the reader. */
export function parseAndWarn(text: string, what: string): unknown {
  if (regExpExec(MAY_HOLD_LARGE, text) === null) return JSONParse(text);
  let isWarned = false;
  const read = (key: string, value: unknown, context: { source?: string }): unknown => {
    if (isWarned || typeof value !== "number" || (value <= MAX_SAFE && value >= -MAX_SAFE)) return value;
    const source = context.source as string;
    if (regExpExec(INTEGER, source) === null) return value;
    isWarned = true;
    warn({
      code: "number_rounded",
      message: `${what} rounded the integer ${slice(source, 0, MAX_SHOWN_CHARS)} (member ${quote(slice(key, 0, MAX_SHOWN_CHARS))}): JavaScript's numbers are exact up to 2^53. Read the text, and that integer with BigInt.`,
      path: key,
    });
    return value;
  };
  return (JSONParse as (text: string, reviver: typeof read) => unknown)(text, read);
}
