/** JSON in which integers beyond the safe range become bigints: what a host answers that marks its reply `exact`. */
import { JSONParse, RealmBigInt, regExpExec } from "../primordials.ts";

const INTEGER = /^-?[0-9]{16,}$/;
const MAX_SAFE = 9_007_199_254_740_991;

export function parseExact(text: string): unknown {
  return (JSONParse as (text: string, read: typeof readValue) => unknown)(text, readValue);
}

function readValue(_key: string, value: unknown, context: { source?: string }): unknown {
  if (typeof value !== "number" || (value <= MAX_SAFE && value >= -MAX_SAFE)) return value;
  // An own member of every primitive's context.
  const source = context.source as string;
  return regExpExec(INTEGER, source) === null ? value : RealmBigInt(source);
}
