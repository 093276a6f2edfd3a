/**
 * JSON whose large integers keep their digits. An integer beyond ±(2^53 - 1) is a bigint where values are used, and a raw
 * JSON object (`JSON.rawJSON`) where they are only passed on: JSON.stringify writes that as the digits it was made of.
 */

/** An integer as its digits, which JSON.stringify writes unchanged. It cannot be cloned or sent to another thread. */
export interface RawInteger {
  readonly rawJSON: string;
}

/** TypeScript does not know these members yet, and Node 20 lacks them. */
interface ExactJSON {
  rawJSON?(text: string): RawInteger;
  isRawJSON?(value: unknown): boolean;
}
const exact: ExactJSON = JSON as unknown as ExactJSON;

/** Fewer digits are always exact. */
const MIN_DIGITS = 16;
/** More digits are a number like any other: readers of JSON, and Postgres, have limits. */
const MAX_DIGITS = 1000;
const INTEGER = /^-?[0-9]{16,1000}$/;
/** Digits as JSON has them, without a leading zero. */
const DIGITS = /^-?(?:0|[1-9][0-9]*)$/;

export function isRawInteger(value: unknown): value is RawInteger {
  return typeof value === "object" && value !== null && exact.isRawJSON?.(value) === true;
}

/** True for an object with members, but not for a list or a RawInteger. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawInteger(value);
}

/** Returns the digits of an integer in JSON notation. */
export function isDigits(text: string): boolean {
  return text.length <= MAX_DIGITS && DIGITS.test(text);
}

/** Turns the digits of an integer, or a bigint, into a value that JSON.stringify writes without loss. */
export function toRawInteger(digits: string | bigint): RawInteger | number | string {
  const text = String(digits);
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : (exact.rawJSON?.(text) ?? text);
}

/**
 * Returns true if JSON text may contain an integer of 16 digits or more. It checks every sixteenth character, which is
 * enough to hit such a run of digits.
 */
export function mayHoldLargeInteger(text: string): boolean {
  for (let at = MIN_DIGITS - 1; at < text.length; at += MIN_DIGITS) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let from = at;
    while (isDigit(text.charCodeAt(from - 1))) from--;
    let end = at + 1;
    while (isDigit(text.charCodeAt(end))) end++;
    if (end - from >= MIN_DIGITS && BEFORE.has(text.charAt(from - 1)) && AFTER.has(text.charAt(end)))
      return true;
    // Digits before this are looked at.
    at = Math.max(at, end - MIN_DIGITS);
  }
  return false;
}

/** Neighbours of an integer, and not of one that is part of a fraction or begins a string. */
const BEFORE = new Set(["", "-", ",", ":", "[", " ", "\t", "\n", "\r"]);
const AFTER = new Set(["", ",", "]", "}", " ", "\t", "\n", "\r"]);

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/**
 * Works like JSON.parse, but returns integers beyond the safe range as RawIntegers. As fast as JSON.parse without
 * them.
 */
export function parseExactJson(text: string): unknown {
  const root: [unknown] = [JSON.parse(text)];
  if (exact.rawJSON !== undefined && mayHoldLargeInteger(text)) restoreIntegers(text, root, exact.rawJSON);
  return root[0];
}

/**
 * Puts the integers of valid JSON text into its parsed value in `root`. The reviver of JSON.parse could do that, but
 * takes seconds for 1 MiB.
 */
function restoreIntegers(text: string, root: [unknown], toRaw: (digits: string) => RawInteger): void {
  const open: { holder: unknown; index: number; key: string }[] = [];
  let holder: unknown = root;
  /** In an array; -1 in an object. */
  let index = 0;
  /** In an object: JSON text of the name. */
  let key = "";
  let isKeyNext = false;
  const name = () => (index === -1 ? (JSON.parse(key) as string) : index);
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (isKeyNext) key = text.slice(at, end + 1);
        at = end;
        break;
      }
      case OPEN_ARRAY:
      case OPEN_OBJECT: {
        open.push({ holder, index, key });
        holder = readOwn(holder, name());
        isKeyNext = text.charCodeAt(at) === OPEN_OBJECT;
        index = isKeyNext ? -1 : 0;
        break;
      }
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        ({ holder, index, key } = open.pop() as (typeof open)[number]);
        isKeyNext = false;
        break;
      case COMMA:
        if (index === -1) isKeyNext = true;
        else index++;
        break;
      case COLON:
        isKeyNext = false;
        break;
      default: {
        const from = at;
        while (isOfNumber(text.charCodeAt(at))) at++;
        if (at === from) break;
        const source = at - from < MIN_DIGITS ? "" : text.slice(from, at);
        at--;
        if (!INTEGER.test(source) || Number.isSafeInteger(Number(source))) break;
        // Another value where a later member of the same name counts.
        if (readOwn(holder, name()) !== Number(source)) break;
        (holder as Record<string | number, unknown>)[name()] = toRaw(source);
      }
    }
  }
}

const [QUOTE, COMMA, COLON, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [
  0x22, 0x2c, 0x3a, 0x5b, 0x5d, 0x7b, 0x7d,
];

/** Returns the position of the closing quote of the string that begins at `from`. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); ; end = text.indexOf('"', end + 1)) {
    let before = end;
    while (text.charCodeAt(before - 1) === 0x5c) before--;
    if ((end - before) % 2 === 0) return end;
  }
}

/** Digits, signs, points and exponents. */
function isOfNumber(code: number): boolean {
  return isDigit(code) || code === 0x2d || code === 0x2b || code === 0x2e || code === 0x45 || code === 0x65;
}

function readOwn(holder: unknown, key: string | number): unknown {
  if (typeof holder !== "object" || holder === null || !Object.hasOwn(holder, key)) return undefined;
  return (holder as Record<string | number, unknown>)[key];
}

/**
 * Replaces values in a tree of JSON data. Parts without replaced values stay the same objects. `replace` returns
 * undefined to keep a value.
 */
function mapIntegers(node: unknown, replace: (value: unknown) => unknown): unknown {
  const own = replace(node);
  if (own !== undefined) return own;
  if (typeof node !== "object" || node === null) return node;
  if (Array.isArray(node)) {
    let copy: unknown[] | undefined;
    for (let index = 0; index < node.length; index++) {
      const mapped = mapIntegers(node[index], replace);
      if (mapped === node[index]) continue;
      copy ??= [...node];
      copy[index] = mapped;
    }
    return copy ?? node;
  }
  const entries = Object.entries(node);
  let isChanged = false;
  for (const entry of entries) {
    const mapped = mapIntegers(entry[1], replace);
    if (mapped === entry[1]) continue;
    entry[1] = mapped;
    isChanged = true;
  }
  return isChanged ? Object.fromEntries(entries) : node;
}

/** Returns the same data with bigints instead of RawIntegers, for cloning and computing. */
export function withBigInts<T>(data: T): T {
  return mapIntegers(data, (value) => (isRawInteger(value) ? BigInt(value.rawJSON) : undefined)) as T;
}

/** Returns the same data with RawIntegers instead of bigints, for JSON.stringify. */
export function withRawIntegers<T>(data: T): T {
  return mapIntegers(data, (value) => (typeof value === "bigint" ? toRawInteger(value) : undefined)) as T;
}

/** Returns the same data with large integers as strings of digits, for display: no reader's parser rounds them. */
export function withDigits<T>(data: T): T {
  return mapIntegers(data, (value) => (isRawInteger(value) ? value.rawJSON : undefined)) as T;
}

/**
 * Returns JSON text of data with bigints and RawIntegers, and whether it has any. Other numbers that look like large
 * integers then get a fraction, so that a reader can tell them apart.
 */
export function writeExactJson(data: unknown): { text: string | undefined; isExact: boolean } {
  let text: string | undefined;
  try {
    text = JSON.stringify(data);
    if (text === undefined || !mayHoldLargeInteger(text)) return { text, isExact: false };
  } catch {
    // A bigint, or what the second attempt throws again.
  }
  let isExact = false;
  const exactText = JSON.stringify(data, (_key, value: unknown) => {
    if (typeof value === "bigint" || isRawInteger(value)) {
      isExact = true;
      return typeof value === "bigint" ? toRawInteger(value) : value;
    }
    const isLarge = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
    return isLarge && INTEGER.test(String(value)) ? exact.rawJSON?.(`${value}.0`) : value;
  });
  return isExact ? { text: exactText, isExact } : { text: text ?? exactText, isExact };
}
