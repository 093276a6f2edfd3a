/**
 * Validates parameters whose integers may be bigints, or strings of digits where the schema says `integer`. Ajv
 * supports only numbers, so it receives the nearest number instead.
 */
import type { ErrorObject, ValidateFunction } from "ajv";
import { isDigits } from "#sdk";

interface Place {
  holder: Record<string, unknown>;
  key: string;
  integer: bigint;
}

/**
 * If valid, replaces large integers with bigints; with `takesDigits`, also converts strings of digits to integers.
 */
export function fitsWithIntegers(
  validate: ValidateFunction,
  takesDigits: boolean,
  parameters: Record<string, unknown>,
): boolean {
  const places: Place[] = [];
  // `cyrnel.ask` may return any JSON value, so the parameters need not be an object.
  if (typeof parameters === "object" && parameters !== null) takeBigInts(parameters, places);
  const fits =
    validate(parameters) ||
    (takesDigits && takeDigits(parameters, validate.errors, places) && validate(parameters));
  if (fits) {
    for (const { holder, key, integer } of places) {
      if (!Number.isSafeInteger(Number(integer))) holder[key] = integer;
    }
  }
  return fits;
}

function takeBigInts(node: object, places: Place[]): void {
  const holder = node as Record<string, unknown>;
  for (const key of Object.keys(holder)) {
    const value = holder[key];
    if (typeof value === "bigint") take(places, holder, key, value);
    else if (typeof value === "object" && value !== null) takeBigInts(value, places);
  }
}

/** Converts strings of digits to integers where the schema says `integer`. Returns true if it replaced any. */
function takeDigits(
  root: object,
  errors: readonly ErrorObject[] | null | undefined,
  places: Place[],
): boolean {
  const before = places.length;
  for (const { keyword, params, data, instancePath } of errors ?? []) {
    const isInteger = keyword === "type" && [params.type].flat().includes("integer");
    if (!isInteger || typeof data !== "string" || !isDigits(data)) continue;
    const keys = instancePath
      .split("/")
      .slice(1)
      .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
    const key = keys.pop();
    let holder: unknown = root;
    for (const step of keys) holder = (holder as Record<string, unknown> | undefined)?.[step];
    if (key === undefined || typeof holder !== "object" || holder === null) continue;
    const place = holder as Record<string, unknown>;
    if (typeof place[key] === "string") take(places, place, key, BigInt(data));
  }
  return places.length > before;
}

function take(places: Place[], holder: Record<string, unknown>, key: string, integer: bigint): void {
  holder[key] = Number(integer);
  places.push({ holder, key, integer });
}
