/**
 * Copies JSON Schema 2020-12 keywords. Omits malformed values, so that every result compiles. The caller converts
 * subschemas.
 */
import { type Fields, isRecord, own, ownText } from "#kernel/foreign-json.ts";

const TYPES = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);

const TYPE_ALIASES: Record<string, string> = {
  int: "integer",
  int32: "integer",
  int64: "integer",
  long: "integer",
  float: "number",
  double: "number",
  decimal: "number",
  bool: "boolean",
  date: "string",
  datetime: "string",
  "date-time": "string",
  uuid: "string",
  text: "string",
  str: "string",
  list: "array",
  map: "object",
  dict: "object",
};

type Check = (value: unknown) => unknown;

const asNumber: Check = (value) => (typeof value === "number" && Number.isFinite(value) ? value : undefined);
const asCount: Check = (value) => (Number.isSafeInteger(value) && (value as number) >= 0 ? value : undefined);
const asTrue: Check = (value) => (value === true ? true : undefined);
const asText: Check = (value) => (typeof value === "string" ? value : undefined);

const PLAIN_KEYWORDS: Record<string, Check> = {
  title: asText,
  description: (value) => (typeof value === "string" && value !== "" ? value : undefined),
  format: asText,
  contentEncoding: asText,
  contentMediaType: asText,
  enum: (value) => (Array.isArray(value) && value.length > 0 ? value : undefined),
  const: (value) => value,
  minimum: asNumber,
  maximum: asNumber,
  exclusiveMinimum: asNumber,
  exclusiveMaximum: asNumber,
  multipleOf: (value) =>
    typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined,
  minLength: asCount,
  maxLength: asCount,
  minItems: asCount,
  maxItems: asCount,
  minProperties: asCount,
  maxProperties: asCount,
  minContains: asCount,
  maxContains: asCount,
  uniqueItems: asTrue,
  deprecated: asTrue,
};

export function copyKeywords(source: Fields, target: Fields): void {
  const type = readType(own(source, "type"), own(source, "nullable") === true);
  if (type !== undefined) target.type = type;
  for (const key of Object.keys(source)) {
    if (!Object.hasOwn(PLAIN_KEYWORDS, key)) continue;
    const value = PLAIN_KEYWORDS[key]?.(source[key]);
    if (value !== undefined) target[key] = value;
  }
  dropUnusableType(target);
  addNullToEnum(source, target);
  copyBooleanBounds(source, target);
  const pattern = ownText(source, "pattern");
  if (pattern === undefined) return;
  if (isPattern(pattern)) target.pattern = pattern;
  else addNote(target, `Pattern: ${pattern}`);
}

/** `type: integer` with `enum: ["1", "2"]` would allow nothing: keeps the values and drops the type. */
function dropUnusableType(target: Fields): void {
  const { type, enum: values } = target;
  if (type === undefined || !Array.isArray(values)) return;
  const types = Array.isArray(type) ? type : [type];
  if (!values.some((value) => typesOf(value).some((name) => types.includes(name)))) delete target.type;
}

/** In OpenAPI 3.0 `nullable` allows null even if `enum` does not list it. */
function addNullToEnum(source: Fields, target: Fields): void {
  const { type, enum: values } = target;
  const isNullable = own(source, "nullable") === true || (Array.isArray(type) && type.includes("null"));
  if (isNullable && Array.isArray(values) && !values.includes(null)) target.enum = [...values, null];
}

function typesOf(value: unknown): string[] {
  if (value === null) return ["null"];
  if (Array.isArray(value)) return ["array"];
  return Number.isInteger(value) ? ["integer", "number"] : [typeof value];
}

/** Some newer documents still use `exclusiveMinimum: true` beside `minimum`. */
function copyBooleanBounds(source: Fields, target: Fields): void {
  for (const [bound, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    if (source[exclusive] !== true || target[bound] === undefined) continue;
    target[exclusive] = target[bound];
    delete target[bound];
  }
}

function readType(declared: unknown, nullable: boolean): string | string[] | undefined {
  const names = (Array.isArray(declared) ? declared : [declared])
    .map((name) => (typeof name === "string" ? (TYPE_ALIASES[name.toLowerCase()] ?? name.toLowerCase()) : ""))
    .filter((name) => TYPES.has(name));
  if (names.length === 0) return undefined;
  const unique = [...new Set(nullable ? [...names, "null"] : names)];
  return unique.length === 1 ? unique[0] : unique;
}

/** Returns whether a validator can compile the pattern: schema patterns are Unicode regular expressions. */
export function isPattern(pattern: string): boolean {
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

export function readNames(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return [...new Set(value.filter((name): name is string => typeof name === "string"))];
}

export function addNote(target: Fields, note: string): void {
  const before = ownText(target, "description");
  target.description = before === undefined || before === "" ? note : `${before.trimEnd()}\n\n${note}`;
}

export function showValue(value: unknown): string | undefined {
  const text = JSON.stringify(value);
  return text !== undefined && text.length <= 200 ? text : undefined;
}

export function isSchema(value: unknown): value is Fields | boolean {
  return typeof value === "boolean" || isRecord(value);
}
