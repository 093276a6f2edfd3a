/**
 * Repairs unambiguous mistakes in servers' schemas: null members, `required: true`, `type: "int"`, draft-4 bounds.
 */
import type { JSONSchema } from "#sdk";

/** Keywords in which null is a value. */
const VALUES = new Set(["const", "default", "enum", "examples", "example"]);
const MAPS = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
const TYPE_NAMES: Record<string, string> = {
  int: "integer",
  int32: "integer",
  int64: "integer",
  float: "number",
  double: "number",
  bool: "boolean",
  str: "string",
  text: "string",
  list: "array",
  dict: "object",
};

/** The schema's depth must already be limited. */
export function repairSchema(source: JSONSchema): JSONSchema {
  const schema: JSONSchema = {};
  for (const [key, value] of Object.entries(source)) {
    if (VALUES.has(key)) schema[key] = value;
    else if (value !== null) schema[key] = MAPS.has(key) ? repairMap(value) : repairValue(value);
  }
  repairType(schema);
  repairRequired(schema, source);
  repairBound(schema, "minimum", "exclusiveMinimum");
  repairBound(schema, "maximum", "exclusiveMaximum");
  return schema;
}

function repairValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(repairValue);
  return isObject(value) ? repairSchema(value) : value;
}

function repairMap(value: unknown): unknown {
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(kept.map(([name, inner]) => [name, repairValue(inner)]));
}

function repairType(schema: JSONSchema): void {
  const rename = (name: unknown) =>
    typeof name === "string" && Object.hasOwn(TYPE_NAMES, name) ? TYPE_NAMES[name] : name;
  if (Array.isArray(schema.type)) schema.type = [...new Set(schema.type.map(rename))];
  else if (schema.type !== undefined) schema.type = rename(schema.type);
}

/** Moves `required: true` from a property to the list beside the properties. */
function repairRequired(schema: JSONSchema, source: JSONSchema): void {
  if (typeof schema.required === "boolean") delete schema.required;
  if (!isObject(source.properties)) return;
  const named = Object.entries(source.properties)
    .filter(([, property]) => isObject(property) && property.required === true)
    .map(([name]) => name);
  if (named.length === 0) return;
  const listed = Array.isArray(schema.required) ? schema.required : [];
  schema.required = [...new Set([...listed, ...named])];
}

function repairBound(schema: JSONSchema, bound: string, exclusive: string): void {
  if (typeof schema[exclusive] !== "boolean") return;
  if (schema[exclusive] === true && typeof schema[bound] === "number") {
    schema[exclusive] = schema[bound];
    delete schema[bound];
  } else delete schema[exclusive];
}

function isObject(value: unknown): value is JSONSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
