/**
 * Reduces a foreign input schema to what the validator supports: known keywords with values of the right type and
 * references within the document, up to a size limit. The rest is not checked here; the service validates its
 * parameters again.
 */
import { isRecord, resolveReference } from "#kernel/foreign-json.ts";
import type { JSONSchema } from "#sdk";

/** Compiling takes up to half a millisecond per node. Deeper parts of larger schemas are not checked. */
const MAX_NODES = 1500;
const DEPTHS = [64, 16, 10, 7, 5, 4, 3, 2, 1, 0];
const MAX_ENUM_VALUES = 5000;

export interface ReadableSchema {
  schema: JSONSchema;
  nodes: number;
  /**
   * True if checking takes time proportional to the data: nothing is checked repeatedly against the same value, by a
   * pattern, or in pairs. Such a schema is safe to check on the main thread.
   */
  isLinear: boolean;
  /** Message about the first part that is not checked, or null if everything but patterns is. */
  unread: string | null;
}

interface Walk {
  maxDepth: number;
  nodes: number;
  isLinear: boolean;
  unread: string | null;
  references: { node: JSONSchema; target: string }[];
}

/** Returns a copy; the source is not changed. Never throws. */
export function readSchema(source: JSONSchema): ReadableSchema {
  for (const maxDepth of DEPTHS) {
    const walk: Walk = { maxDepth, nodes: 0, isLinear: true, unread: null, references: [] };
    const schema = copyNode(walk, source, 0) as JSONSchema;
    if (walk.nodes > MAX_NODES) continue;
    if (maxDepth < (DEPTHS[0] as number)) walk.unread = TOO_LARGE;
    // Done last: a reference must point to something that was copied.
    for (const { node, target } of walk.references) {
      const found = resolveReference(schema, target);
      const isSchema = isRecord(found) || typeof found === "boolean";
      if ((node !== schema || target !== "#") && isSchema) continue;
      delete node.$ref;
      walk.unread ??= `The reference ${JSON.stringify(target.slice(0, 100))} leads to no part of the schema.`;
    }
    return { schema, nodes: walk.nodes, isLinear: walk.isLinear, unread: walk.unread };
  }
  return { schema: {}, nodes: 1, isLinear: true, unread: TOO_LARGE };
}

const TOO_LARGE = `It has more than ${MAX_NODES} parts, or nests deeper than ${DEPTHS[0]} levels.`;
/** Unsupported keywords that could reject data. Other unsupported keywords are only descriptive. */
const UNCHECKED = new Set([
  "$dynamicRef",
  "$recursiveRef",
  "dependencies",
  "dependentRequired",
  "dependentSchemas",
  "maxContains",
  "minContains",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

type Node = JSONSchema | boolean;

function copyNode(walk: Walk, source: unknown, depth: number): Node {
  if (typeof source === "boolean") return source;
  if (!isRecord(source)) {
    walk.unread ??= "A part of it is no schema: expected an object or a boolean.";
    return true;
  }
  if (depth > walk.maxDepth || walk.nodes > MAX_NODES) {
    walk.unread ??= TOO_LARGE;
    return true;
  }
  walk.nodes += 1;
  const node: JSONSchema = {};
  for (const keyword of Object.keys(source)) {
    const copy = COPIERS[keyword];
    if (UNCHECKED.has(keyword)) walk.unread ??= `The keyword ${keyword} is not supported.`;
    if (copy === undefined || !Object.hasOwn(source, keyword)) continue;
    const value = copy(walk, source[keyword], depth);
    if (value !== undefined) node[keyword] = value;
    else if (!saysNothing(keyword, source[keyword])) {
      walk.unread ??= `The value of the keyword ${keyword} is none that can be checked.`;
    }
    if (value !== undefined && isCostly(keyword, value)) walk.isLinear = false;
  }
  if (typeof node.$ref === "string") walk.references.push({ node, target: node.$ref });
  adaptDialects(source, node);
  return node;
}

/** Returns true for values that reject no data or are handled by `adaptDialects`. */
function saysNothing(keyword: string, value: unknown): boolean {
  if (value === false || keyword === "default" || keyword.startsWith("exclusive")) return true;
  return Array.isArray(value) && value.length === 0 && keyword !== "enum";
}

type Copier = (walk: Walk, value: unknown, depth: number) => unknown;

const schema: Copier = (walk, value, depth) =>
  isRecord(value) || typeof value === "boolean" ? copyNode(walk, value, depth + 1) : undefined;
const schemas: Copier = (walk, value, depth) =>
  Array.isArray(value) && value.length > 0 ? value.map((item) => copyNode(walk, item, depth + 1)) : undefined;
const namedSchemas: Copier = (walk, value, depth) => {
  if (!isRecord(value)) return undefined;
  const names = Object.keys(value).filter((name) => name !== "__proto__");
  return Object.fromEntries(names.map((name) => [name, copyNode(walk, value[name], depth + 1)]));
};
const count: Copier = (_walk, value) =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined;
const number: Copier = (_walk, value) =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;
const text: Copier = (_walk, value) => (typeof value === "string" ? value : undefined);
const flag: Copier = (_walk, value) => (value === true ? true : undefined);
const anything: Copier = (_walk, value) => value;

const TYPES = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);

const COPIERS: Partial<Record<string, Copier>> = Object.assign(Object.create(null), {
  type: (_walk, value) => {
    const types = [value].flat().filter((name) => typeof name === "string" && TYPES.has(name));
    return types.length === 0 ? undefined : types.length === 1 ? types[0] : [...new Set(types)];
  },
  enum: (_walk, value) =>
    Array.isArray(value) && value.length > 0 && value.length <= MAX_ENUM_VALUES
      ? uniqueValues(value)
      : undefined,
  const: anything,
  default: (_walk, value) => (holdsProto(value) ? undefined : value),
  properties: namedSchemas,
  patternProperties: namedSchemas,
  additionalProperties: schema,
  propertyNames: schema,
  required: (_walk, value) => {
    if (!Array.isArray(value)) return undefined;
    const names = value.filter((name) => typeof name === "string" && name !== "__proto__");
    return names.length === 0 ? undefined : [...new Set(names)];
  },
  minProperties: count,
  maxProperties: count,
  items: (walk, value, depth) =>
    Array.isArray(value) ? schemas(walk, value, depth) : schema(walk, value, depth),
  prefixItems: schemas,
  additionalItems: schema,
  contains: schema,
  minItems: count,
  maxItems: count,
  uniqueItems: flag,
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: (_walk, value) => (typeof value === "number" && value > 0 ? value : undefined),
  minLength: count,
  maxLength: count,
  pattern: text,
  format: text,
  allOf: schemas,
  anyOf: schemas,
  oneOf: schemas,
  not: schema,
  if: schema,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, not a thenable.
  then: schema,
  else: schema,
  nullable: flag,
  $ref: (_walk, value) => (typeof value === "string" && /^#(?:\/|$)/.test(value) ? value : undefined),
  $defs: namedSchemas,
  definitions: namedSchemas,
} satisfies Record<string, Copier>);

function isCostly(keyword: string, value: unknown): boolean {
  if (keyword === "format") return !PLAIN_FORMATS.has(value as string);
  if (keyword === "enum") return (value as unknown[]).length > 500;
  return COSTLY.has(keyword);
}

/** Formats whose check reads a text only once. */
const PLAIN_FORMATS = new Set(
  "date time date-time uuid ipv4 uri int32 int64 float double byte binary password".split(" "),
);

/** Keywords that check a value more than once, compare values with each other, or match a pattern. */
const COSTLY = new Set([
  "anyOf",
  "oneOf",
  "not",
  "if",
  "$ref",
  "contains",
  "uniqueItems",
  "pattern",
  "patternProperties",
  "propertyNames",
]);

/** Translates keywords of OpenAPI 3.0 and older drafts to draft 2020-12. */
function adaptDialects(source: Record<string, unknown>, node: JSONSchema): void {
  for (const [exclusive, bound] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (source[exclusive] !== true || typeof node[bound] !== "number") continue;
    node[exclusive] = node[bound];
    delete node[bound];
  }
  if (Array.isArray(node.items)) {
    node.prefixItems = node.items;
    if (node.additionalItems === undefined) delete node.items;
    else node.items = node.additionalItems;
  }
  delete node.additionalItems;
  if (node.nullable !== true) return;
  delete node.nullable;
  if (typeof node.type === "string") node.type = [node.type, "null"];
  else if (Array.isArray(node.type)) node.type = [...new Set([...node.type, "null"])];
  if (Array.isArray(node.enum) && !node.enum.includes(null)) node.enum = [...node.enum, null];
}

function uniqueValues(values: unknown[]): unknown[] {
  const seen = new Map(values.map((value) => [JSON.stringify(value), value]));
  return [...seen.values()];
}

function holdsProto(value: unknown): boolean {
  return JSON.stringify(value)?.includes('"__proto__"') ?? true;
}
