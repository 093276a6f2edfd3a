/**
 * Builds a valid value for a tool's example call. Prefers the schema's own examples, default, const and enum, then
 * the smallest value of its type. Limited in size; follows only references inside the document.
 */
import { isRecord, own, resolveReference } from "../foreign-json.ts";

const EXAMPLE_LIMITS = {
  maxNodes: 200,
  maxDepth: 8,
  maxItems: 3,
  maxStringChars: 200,
  maxGivenJsonChars: 2000,
  maxOptionalProperties: 4,
} as const;

interface Walk {
  root: unknown;
  nodes: number;
}

export function buildExampleParameters(schema: unknown): Record<string, unknown> {
  const value = buildValue({ root: schema, nodes: 0 }, schema, 0, "value");
  return isRecord(value) ? value : {};
}

function buildValue(walk: Walk, source: unknown, depth: number, name: string): unknown {
  walk.nodes += 1;
  if (!isRecord(source) || walk.nodes > EXAMPLE_LIMITS.maxNodes || depth > EXAMPLE_LIMITS.maxDepth)
    return null;
  const reference = own(source, "$ref");
  if (typeof reference === "string") {
    const target = resolveReference(walk.root, reference);
    return target === source ? null : buildValue(walk, target, depth + 1, name);
  }
  const given = readGivenValue(source);
  if (given !== undefined) return given;
  if (Array.isArray(own(source, "allOf"))) return buildAll(walk, source, depth, name);
  const branch = pickBranch(source);
  if (branch !== undefined) {
    const value = buildValue(walk, branch, depth + 1, name);
    return isRecord(value) && isRecord(own(source, "properties"))
      ? mergeObjects([buildObject(walk, source, depth), value])
      : value;
  }
  return buildTyped(walk, source, depth, name);
}

function buildTyped(walk: Walk, source: Record<string, unknown>, depth: number, name: string): unknown {
  switch (pickType(source)) {
    case "object":
      return buildObject(walk, source, depth);
    case "array":
      return buildArray(walk, source, depth, name);
    case "string":
      return buildString(source, name);
    case "integer":
      return buildNumber(source, true);
    case "number":
      return buildNumber(source, false);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return name;
  }
}

/** Returns a small value that the schema's author provided, without `__proto__`. */
function readGivenValue(source: Record<string, unknown>): unknown {
  const examples = own(source, "examples");
  const values = own(source, "enum");
  const candidates: unknown[] = [];
  if (Object.hasOwn(source, "const")) candidates.push(source.const);
  if (Array.isArray(examples)) candidates.push(examples[0]);
  candidates.push(own(source, "example"), own(source, "default"));
  if (Array.isArray(values)) candidates.push(values.find((value) => value !== null) ?? values[0]);
  for (const candidate of candidates) {
    if (candidate === undefined) continue;
    const text = toShortJson(candidate);
    if (text !== undefined) return JSON.parse(text, dropPrototypeKey);
  }
  return undefined;
}

function toShortJson(value: unknown): string | undefined {
  try {
    const text = JSON.stringify(value);
    return text !== undefined && text.length <= EXAMPLE_LIMITS.maxGivenJsonChars ? text : undefined;
  } catch {
    return undefined;
  }
}

function dropPrototypeKey(key: string, value: unknown): unknown {
  return key === "__proto__" ? undefined : value;
}

function buildAll(walk: Walk, source: Record<string, unknown>, depth: number, name: string): unknown {
  const { allOf, ...rest } = source;
  const parts = (allOf as unknown[]).slice(0, 20).map((part) => buildValue(walk, part, depth + 1, name));
  const objects = parts.filter(isRecord);
  if (objects.length === 0 && parts.length > 0) return parts[0];
  return mergeObjects([...objects, buildObject(walk, rest, depth)]);
}

function mergeObjects(objects: unknown[]): Record<string, unknown> {
  return Object.fromEntries(objects.filter(isRecord).flatMap((object) => Object.entries(object)));
}

function pickBranch(source: Record<string, unknown>): unknown {
  for (const keyword of ["oneOf", "anyOf"]) {
    const branches = own(source, keyword);
    if (!Array.isArray(branches) || branches.length === 0) continue;
    return branches.find((branch) => isRecord(branch) && own(branch, "type") !== "null") ?? branches[0];
  }
  return undefined;
}

function pickType(source: Record<string, unknown>): unknown {
  const type = own(source, "type");
  if (Array.isArray(type)) return type.find((name) => name !== "null") ?? "null";
  if (type !== undefined) return type;
  if (isRecord(own(source, "properties")) || Array.isArray(own(source, "required"))) return "object";
  if (own(source, "items") !== undefined || own(source, "prefixItems") !== undefined) return "array";
  return undefined;
}

/** Builds required properties, and the few optional ones for which the schema offers a value. */
function buildObject(walk: Walk, source: Record<string, unknown>, depth: number): Record<string, unknown> {
  const properties = own(source, "properties");
  const required = own(source, "required");
  const needed = new Set(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []);
  const entries: [string, unknown][] = [];
  let optional = 0;
  for (const [name, property] of isRecord(properties) ? Object.entries(properties) : []) {
    if (name === "__proto__" || walk.nodes > EXAMPLE_LIMITS.maxNodes) continue;
    if (!needed.has(name)) {
      if (optional >= EXAMPLE_LIMITS.maxOptionalProperties || !isRecord(property) || !offersExample(property))
        continue;
      optional += 1;
    }
    needed.delete(name);
    entries.push([name, buildValue(walk, property, depth + 1, name)]);
  }
  for (const name of [...needed].slice(0, 20)) if (name !== "__proto__") entries.push([name, name]);
  return Object.fromEntries(entries);
}

function offersExample(property: Record<string, unknown>): boolean {
  return ["example", "examples", "default", "const"].some((keyword) => Object.hasOwn(property, keyword));
}

function buildArray(walk: Walk, source: Record<string, unknown>, depth: number, name: string): unknown[] {
  const items = own(source, "items");
  const prefix = own(source, "prefixItems") ?? (Array.isArray(items) ? items : undefined);
  if (Array.isArray(prefix))
    return prefix.slice(0, 20).map((item) => buildValue(walk, item, depth + 1, name));
  const minimum = readNumber(source, "minItems") ?? 1;
  const maximum = readNumber(source, "maxItems") ?? EXAMPLE_LIMITS.maxItems;
  const count = Math.max(0, Math.min(Math.max(minimum, 1), maximum, EXAMPLE_LIMITS.maxItems));
  return Array.from({ length: count }, () => buildValue(walk, items, depth + 1, singular(name)));
}

function singular(name: string): string {
  return name.length > 3 && name.endsWith("s") ? name.slice(0, -1) : name;
}

const STRINGS_BY_FORMAT: Record<string, string> = {
  "date-time": "2026-01-31T12:00:00Z",
  date: "2026-01-31",
  time: "12:00:00Z",
  duration: "PT15M",
  email: "name@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  url: "https://example.com/",
  "uri-reference": "/path",
  uuid: "123e4567-e89b-42d3-a456-426614174000",
  byte: "aGVsbG8=",
};

function buildString(source: Record<string, unknown>, name: string): string {
  const format = own(source, "format");
  if (typeof format === "string" && Object.hasOwn(STRINGS_BY_FORMAT, format))
    return STRINGS_BY_FORMAT[format] ?? "";
  const minimum = Math.min(readNumber(source, "minLength") ?? 0, EXAMPLE_LIMITS.maxStringChars);
  const maximum = Math.min(
    readNumber(source, "maxLength") ?? EXAMPLE_LIMITS.maxStringChars,
    EXAMPLE_LIMITS.maxStringChars,
  );
  return name.padEnd(minimum, "x").slice(0, Math.max(0, maximum));
}

function buildNumber(source: Record<string, unknown>, whole: boolean): number {
  const step = readNumber(source, "multipleOf") ?? (whole ? 1 : undefined);
  const above = readNumber(source, "exclusiveMinimum");
  const below = readNumber(source, "exclusiveMaximum");
  const low = readNumber(source, "minimum") ?? (above === undefined ? undefined : above + (step ?? 1));
  const high = readNumber(source, "maximum") ?? (below === undefined ? undefined : below - (step ?? 1));
  const wanted = low ?? Math.min(1, high ?? 1);
  if (step === undefined || step <= 0) return wanted;
  const rounded = Math.ceil(wanted / step) * step;
  return high !== undefined && rounded > high ? Math.floor(high / step) * step : rounded;
}

function readNumber(source: Record<string, unknown>, keyword: string): number | undefined {
  const value = own(source, keyword);
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** Returns a TypeScript literal, indented by two, with unquoted keys if they are identifiers. */
export function printLiteral(value: unknown): string {
  const json = JSON.stringify(value, null, 2) ?? "undefined";
  return json.replaceAll(/^(\s*)"([A-Za-z_$][\w$]*)": /gm, "$1$2: ");
}
