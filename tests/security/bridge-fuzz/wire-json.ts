/**
 * JSON as a hostile child writes it: text, not values, so that keys can come twice, numbers can be 1e999 and strings
 * can hold halves of characters. Knows no message.
 */
import type { Prng } from "./prng.ts";

/** A document that can be changed anywhere before it becomes text. */
export type Json =
  | { kind: "object"; members: [key: string, value: Json][] }
  | { kind: "array"; items: Json[] }
  | { kind: "raw"; text: string };

export const raw = (text: string): Json => ({ kind: "raw", text });
export const json = (value: unknown): Json => raw(JSON.stringify(value));
export const object = (members: Record<string, Json>): Json => ({
  kind: "object",
  members: Object.entries(members).map(([key, value]) => [JSON.stringify(key), value]),
});

/** Keys are JSON text as well, quotes included. */
export function render(document: Json): string {
  switch (document.kind) {
    case "raw":
      return document.text;
    case "array":
      return `[${document.items.map(render).join(",")}]`;
    case "object":
      return `{${document.members.map(([key, value]) => `${key}:${render(value)}`).join(",")}}`;
  }
}

const HOSTILE_KEYS = [
  '"__proto__"',
  '"\\u005f_proto__"',
  '"__pr\\u006fto__"',
  '"__\\u0070roto__"',
  '"__proto_\\u005F"',
  '"__p\\u0072o\\u0074o__"',
  '"constructor"',
  '"prototype"',
  '"then"',
  '"toJSON"',
  '"toString"',
  '"valueOf"',
  '"hasOwnProperty"',
  '"__defineGetter__"',
  '"length"',
  '"0"',
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"id"',
  '"method"',
];

const HOSTILE_NUMBERS = [
  "0",
  "-0",
  "-1",
  "1e999",
  "-1e999",
  "1e-999",
  "0.1",
  "1.5",
  "4294967296",
  "9007199254740993",
  "1000000001",
  "123456789012345678901234567890",
  "1E+2",
];

const HOSTILE_STRINGS = [
  '""',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u0000"',
  '"\\u2028\\u2029"',
  '"\\ufeff"',
  '"\ufffe\uffff"',
  '"😀é€"',
  '"\\"},\\"method\\":\\"end\\",\\"x\\":{\\""',
  '"]]]]}}}}"',
  '"[[[[{{{{"',
  '"../../etc/passwd"',
  '"%s%n"',
  '"\u202e"',
];

const NOT_JSON = [
  "",
  "undefined",
  "NaN",
  "Infinity",
  "'a'",
  "{a:1}",
  "[1,]",
  '{"a":1,}',
  "01",
  '"\n"',
  "+1",
  "tru",
  "//",
  "\ufeff1",
];

export function hostileKey(prng: Prng): string {
  return prng.pick(HOSTILE_KEYS);
}

export function randomString(prng: Prng): string {
  if (prng.chance(0.3)) return prng.pick(HOSTILE_STRINGS);
  const length = prng.chance(0.003) ? prng.int(100_000) : prng.int(40);
  return JSON.stringify(prng.pick(["a", "é", "€", "😀", "\u0001", '"', "\\"]).repeat(length));
}

/** Nested `depth` levels, closed or not. */
export function nest(prng: Prng, depth: number): string {
  const isObject = prng.chance(0.5);
  const open = isObject ? '{"a":' : "[";
  const close = prng.chance(0.8) ? (isObject ? "}" : "]").repeat(depth) : "";
  return `${open.repeat(depth)}1${close}`;
}

/** Any value, valid JSON, nested at most `depth` levels by itself. */
export function randomJson(prng: Prng, depth = 3): Json {
  const kind = prng.weighted({
    number: 2,
    string: 3,
    literal: 2,
    array: depth > 0 ? 2 : 0,
    object: depth > 0 ? 4 : 0,
  });
  switch (kind) {
    case "number":
      return raw(prng.chance(0.5) ? prng.pick(HOSTILE_NUMBERS) : String(prng.int(1000)));
    case "string":
      return raw(randomString(prng));
    case "literal":
      return raw(prng.pick(["null", "true", "false"]));
    case "array":
      return { kind, items: Array.from({ length: prng.int(4) }, () => randomJson(prng, depth - 1)) };
    case "object":
      return randomObject(prng, depth - 1);
  }
}

export function randomObject(prng: Prng, depth = 2): Json & { kind: "object" } {
  const members = Array.from({ length: prng.int(5) }, (): [string, Json] => [
    prng.chance(0.4) ? hostileKey(prng) : JSON.stringify(`k${prng.int(6)}`),
    randomJson(prng, depth),
  ]);
  return { kind: "object", members };
}

/** An object nested exactly `depth` levels. */
export function nestExactly(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
}

/** Something to put where something else belongs; sometimes no JSON at all. */
export function randomReplacement(prng: Prng): Json {
  const kind = prng.weighted({ any: 6, number: 4, deep: 1, broken: 1, long: 0.3 });
  switch (kind) {
    case "any":
      return randomJson(prng);
    case "number":
      return raw(prng.pick(HOSTILE_NUMBERS));
    case "deep":
      return raw(nest(prng, prng.pick([10, 61, 62, 63, 64, 65, 510, 511, 512, 513, 2000, 50_000])));
    case "broken":
      return raw(prng.pick(NOT_JSON));
    case "long":
      return json("x".repeat(prng.pick([499, 500, 501, 1001, 10_001, 70_000, 300_000])));
  }
}
