/** Judges the outcome of a script of the corpus: right, loud, or silently wrong. */
import { isDeepStrictEqual } from "node:util";

/** The second line of a script of the corpus, after `// expect `. */
export interface Expectation {
  result?: unknown;
  /** Further right results. */
  oneOf?: unknown[];
  /** The right result as the JSON text that a client reads. */
  json?: string;
  /** The right result is a text of this length. */
  length?: number;
  /** Changes that the API receives, in any order unless `ordered`. */
  effects?: string[];
  ordered?: boolean;
  /** The right outcome is a failure whose message matches this expression. */
  fails?: string;
  /** A success is right as well as the failure that `fails` describes. */
  ok?: boolean;
  /** Beside the result, a failure whose message matches this is right. */
  mayFail?: string;
  /** The message of the failure has to name this. */
  names?: string;
  /** A success is right only with a warning, unless the value arrived unchanged. */
  warns?: boolean;
  /** A success with another result is loud if a warning matches this. */
  loud?: string;
  /** Number of approvals; the harness approves each. */
  asks?: number;
  output?: Record<string, unknown>;
  artifacts?: string[];
  /** Runners without these features are left out. */
  needs?: Feature[];
  timeoutMs?: number;
}

/** All runners have `http`: tools that are functions of the host. */
export type Feature = "cyrnel" | "openapi" | "mcp" | "graphql" | "approvals" | "completion" | "typescript";

export interface Outcome {
  ok: boolean;
  value?: unknown;
  /** JSON text of the value, as a client reads it. */
  json?: string;
  /** Output of a runner that returns no result. */
  printed?: string;
  message?: string;
  warnings?: string[];
  effects: string[];
  asks?: number;
  output?: unknown;
  artifacts?: string[];
  /** The script did not end within its time limit and some seconds. */
  hung?: boolean;
}

export type Verdict = "right" | "loud" | "wrong";

export function judge(expected: Expectation, outcome: Outcome): Verdict {
  if (outcome.hung) return "wrong";
  if (isRight(expected, outcome)) return "right";
  if (!outcome.ok) return "loud";
  if (outcome.printed !== undefined && SHOWS_CAUSE.test(outcome.printed)) return "loud";
  const warned = outcome.warnings?.join("\n") ?? "";
  return expected.loud !== undefined && new RegExp(expected.loud, "i").test(warned) ? "loud" : "wrong";
}

function isRight(expected: Expectation, outcome: Outcome): boolean {
  const { fails, mayFail, names, effects, asks } = expected;
  if (effects !== undefined && !sameEffects(effects, outcome.effects, expected.ordered === true))
    return false;
  if (asks !== undefined && outcome.asks !== asks) return false;
  if (!outcome.ok) {
    const pattern = fails ?? mayFail;
    if (pattern === undefined || !new RegExp(pattern, "i").test(outcome.message ?? "")) return false;
    return names === undefined || (outcome.message ?? "").includes(names);
  }
  if (fails !== undefined && !expected.ok && expected.length === undefined && expected.oneOf === undefined)
    return false;
  if (expected.output !== undefined && !isDeepStrictEqual(outcome.output, expected.output)) return false;
  if (expected.artifacts !== undefined && !isDeepStrictEqual(outcome.artifacts, expected.artifacts))
    return false;
  if (outcome.printed !== undefined) return isPrintedRight(expected, outcome.printed);
  if (expected.length !== undefined) return String(outcome.value).length === expected.length;
  if (expected.json !== undefined)
    return (outcome.json ?? JSON.stringify(plain(outcome.value))) === expected.json;
  const rights = [...("result" in expected ? [expected.result] : []), ...(expected.oneOf ?? [])];
  if (rights.length === 0) return true;
  const found = rights.some((right) => isDeepStrictEqual(plain(outcome.value), right));
  if (!found || !expected.warns) return found;
  return (outcome.warnings?.length ?? 0) > 0 || hasUnusual(outcome.value);
}

function sameEffects(expected: readonly string[], found: readonly string[], isOrdered: boolean): boolean {
  return isOrdered
    ? isDeepStrictEqual(found, expected)
    : isDeepStrictEqual([...found].sort(), [...expected].sort());
}

/** Writes an unchanged value as our own JSON does. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === "number") return Number.isFinite(value) ? (Object.is(value, -0) ? 0 : value) : null;
  if (value === undefined) return null;
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return value.valueOf();
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Map) {
    const entries = [...value].map(([key, member]) => [key, plain(member)] as [unknown, unknown]);
    return entries.every(([key]) => typeof key === "string")
      ? Object.fromEntries(entries as [string, unknown][])
      : entries;
  }
  if (value instanceof Set) return [...value].map(plain);
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)];
  if (ArrayBuffer.isView(value)) return [...(value as Uint8Array)];
  if (value instanceof Error) {
    return { name: value.name, message: value.message, ...(plainMembers(value) as object) };
  }
  if (Array.isArray(value)) return Array.from(value, plain);
  return plainMembers(value);
}

function plainMembers(value: object): Record<string, unknown> {
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(entries.map(([key, member]) => [key, plain(member)]));
}

/** Returns whether a value contains something that JSON cannot represent; then it arrived unchanged. */
function hasUnusual(value: unknown): boolean {
  if (value === undefined || (typeof value === "number" && !Number.isFinite(value))) return true;
  if (value instanceof Date) return true;
  return typeof value === "object" && value !== null && Array.from(Object.values(value)).some(hasUnusual);
}

/** A printed value that shows its type and is obviously not the intended one. */
const SHOWS_CAUSE =
  /Promise \{|\[Promise\]|\[Function|\[AsyncFunction|\[Object|\[Array|\[class|Symbol\(|Circular|Response|Blob|Headers|Money|WeakMap|Generator/;
/** A printed value that shows its type and content. */
const SHOWS_VALUE =
  /Map\(|Set\(|Map Entries|__proto__|\[(?:Number|String|Boolean): |empty item|^\s*[A-Z]\w* \{|-0|Error|Array\(|ArrayBuffer|Iterator|NaN|Infinity|Invalid|undefined|\dn\b|\/a\/g/;

function isPrintedRight(expected: Expectation, printed: string): boolean {
  const squeeze = (text: string) => text.replaceAll(/[\s"'`]/g, "");
  const rights = [...("result" in expected ? [expected.result] : []), ...(expected.oneOf ?? [])];
  if (expected.json !== undefined) rights.push(JSON.parse(expected.json));
  if (rights.length === 0) return true;
  // A script without a value prints nothing that could be wrong.
  if (rights.includes(null) && /^(undefined|null)?$/.test(printed.trim())) return true;
  const text = squeeze(printed);
  const isShown = rights.some((right) => {
    if (typeof right === "string") return squeeze(right) === text;
    const json = JSON.stringify(right);
    return [squeeze(json), json.replaceAll(/"(\w+)":/g, "$1:").replaceAll('"', "")].includes(text);
  });
  return isShown || (SHOWS_VALUE.test(printed) && !SHOWS_CAUSE.test(printed));
}
