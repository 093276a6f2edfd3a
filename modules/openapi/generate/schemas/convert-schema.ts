/**
 * Converts an OpenAPI 3.1 schema to JSON Schema 2020-12, for requests or for responses. Applies OpenAPI's own
 * keywords (readOnly, writeOnly, discriminator) or writes them into descriptions; references point into `$defs`.
 */

import { type Fields, isRecord, own, ownList, ownRecord, ownText } from "#kernel/foreign-json.ts";
import type { JSONSchema } from "#sdk";
import { convertDiscriminator } from "./discriminator.ts";
import { addNote, copyKeywords, isPattern, isSchema, readNames, showValue } from "./keywords.ts";
import type { References } from "./references.ts";

/** `form` represents binary values as files: `{filename, contentType, base64}`. */
export type SchemaUse = "request" | "form" | "response";

export interface Conversion {
  use: SchemaUse;
  references: References;
  refsStandAlone: boolean;
  nameOf(reference: string): string;
  maxDepth: number;
}

const describeFile = (source: string, description: string): JSONSchema => ({
  type: "object",
  properties: {
    filename: { type: "string" },
    contentType: { type: "string" },
    [source]: { type: "string", description },
  },
  required: [source],
  additionalProperties: false,
});

export const FILE_SCHEMAS = [
  describeFile("base64", "The content, base64."),
  describeFile("file", "Name of a file of the script's workspace, which is sent."),
];
const FILE_SCHEMA: JSONSchema = { description: "A file.", anyOf: FILE_SCHEMAS };

/** Maximum number of schemas to read for the properties of one `allOf`. */
const MAX_PARTS = 50;
const LISTS = ["allOf", "anyOf", "oneOf"] as const;
const SINGLE = [
  "not",
  "if",
  "then",
  "else",
  "contains",
  "propertyNames",
  "items",
  "additionalProperties",
] as const;
const MAPS = ["dependentSchemas"] as const;

/** `hidden` names properties that are not required, even if the schema requires them. */
export function convertSchema(
  source: unknown,
  conversion: Conversion,
  depth = 0,
  hidden: ReadonlySet<string> = new Set(),
): JSONSchema | boolean {
  if (typeof source === "boolean") return source;
  if (!isRecord(source)) return {};
  const reference = ownText(source, "$ref");
  if (reference !== undefined) return convertReference(source, reference, conversion, depth);
  if (depth > conversion.maxDepth) {
    return withDescription(source, "Any value: deeper levels of the schema are left out here.");
  }
  if (conversion.use === "form" && isBinary(source))
    return withNote(FILE_SCHEMA, ownText(source, "description"));

  const target: JSONSchema = {};
  copyKeywords(source, target);
  if (isBinary(source)) target.type ??= "string";
  const hiddenHere = union(hidden, hiddenProperties(source, conversion));
  convertObject(source, target, conversion, depth, hiddenHere);
  convertTuple(source, target, conversion, depth);
  for (const key of SINGLE) {
    const value = own(source, key);
    if (!isSchema(value) || (key === "items" && target.items !== undefined)) continue;
    target[key] = convertSchema(value, conversion, depth + 1);
  }
  for (const key of MAPS) {
    const value = ownRecord(source, key);
    if (value !== undefined) target[key] = convertEach(value, conversion, depth);
  }
  for (const key of LISTS) {
    const branches = ownList(source, key).filter(isSchema);
    if (branches.length === 0) continue;
    const passed = key === "allOf" ? hiddenHere : new Set<string>();
    target[key] =
      key === "allOf" && conversion.use !== "response"
        ? convertParts(source, branches, target, conversion, depth, passed)
        : branches.map((branch) => convertSchema(branch, conversion, depth + 1, passed));
  }
  convertDiscriminator(source, target, conversion);
  if (conversion.use !== "response") widenOneOf(target);
  if (conversion.use !== "response") addUsage(source, target);
  if (own(source, "nullable") === true && target.type === undefined) return makeNullable(target);
  return target;
}

/** In 3.0, keywords beside a `$ref` are ignored, except a description, which is common there. */
function convertReference(
  source: Fields,
  reference: string,
  conversion: Conversion,
  depth: number,
): JSONSchema {
  const { $ref: _, ...beside } = source;
  const target: JSONSchema = { $ref: `#/$defs/${conversion.nameOf(reference)}` };
  if (conversion.refsStandAlone || Object.keys(beside).length === 0) {
    const description = ownText(beside, "description");
    return description === undefined ? target : { ...target, description };
  }
  const converted = convertSchema(beside, conversion, depth);
  return isRecord(converted) ? { ...target, ...converted } : target;
}

function convertObject(
  source: Fields,
  target: JSONSchema,
  conversion: Conversion,
  depth: number,
  hidden: ReadonlySet<string>,
): void {
  const properties = ownRecord(source, "properties");
  if (properties !== undefined) {
    const shown = Object.entries(properties).filter(
      ([, value]) => isSchema(value) && !isHidden(value, conversion),
    );
    target.properties = Object.fromEntries(
      shown.map(([name, value]) => [name, convertSchema(value, conversion, depth + 1)]),
    );
  }
  const patterns = ownRecord(source, "patternProperties");
  if (patterns !== undefined) {
    const usable = Object.entries(patterns).filter(
      ([pattern, value]) => isPattern(pattern) && isSchema(value),
    );
    target.patternProperties = convertEach(Object.fromEntries(usable), conversion, depth);
  }
  const required = readNames(own(source, "required")).filter((name) => !hidden.has(name));
  if (required.length > 0) target.required = required;
  const dependent = ownRecord(source, "dependentRequired");
  if (dependent !== undefined) {
    target.dependentRequired = Object.fromEntries(
      Object.entries(dependent).map(([name, names]) => [name, readNames(names)]),
    );
  }
}

function convertTuple(source: Fields, target: JSONSchema, conversion: Conversion, depth: number): void {
  const prefix = [...ownList(source, "prefixItems"), ...ownList(source, "items")].filter(isSchema);
  if (prefix.length === 0) return;
  target.prefixItems = prefix.map((item) => convertSchema(item, conversion, depth + 1));
  const rest = own(source, "additionalItems");
  if (Array.isArray(own(source, "items")) && isSchema(rest)) {
    target.items = convertSchema(rest, conversion, depth + 1);
  }
}

function convertEach(schemas: Fields, conversion: Conversion, depth: number): JSONSchema {
  return Object.fromEntries(
    Object.entries(schemas)
      .filter(([, value]) => isSchema(value))
      .map(([name, value]) => [name, convertSchema(value, conversion, depth + 1)]),
  );
}

/** Requests omit read-only properties, responses write-only ones. */
function isHidden(property: unknown, conversion: Conversion): boolean {
  const flag = conversion.use === "response" ? "writeOnly" : "readOnly";
  return own(property, flag) === true;
}

/** Collects hidden properties of a schema and its `allOf` parts: another part may require the name. */
function hiddenProperties(source: Fields, conversion: Conversion): Set<string> {
  const names = new Set<string>();
  const parts = [source];
  for (const part of parts) {
    for (const [name, value] of Object.entries(ownRecord(part, "properties") ?? {})) {
      if (isHidden(value, conversion)) names.add(name);
    }
    for (const branch of ownList(part, "allOf")) {
      const followed = conversion.references.follow(branch);
      if (followed !== undefined && parts.length < MAX_PARTS) parts.push(followed);
    }
  }
  return names;
}

/**
 * Converts the parts of an `allOf`. A part with `additionalProperties: false` means those of the complete schema: by
 * itself it would reject the properties of the other parts.
 */
function convertParts(
  source: Fields,
  branches: (Fields | boolean)[],
  target: JSONSchema,
  conversion: Conversion,
  depth: number,
  hidden: ReadonlySet<string>,
): (JSONSchema | boolean)[] {
  let isClosed = own(source, "additionalProperties") === false;
  const parts = branches.map((branch) => {
    const followed = isRecord(branch) ? conversion.references.follow(branch) : undefined;
    if (followed === undefined || own(followed, "additionalProperties") !== false || branches.length < 2) {
      return convertSchema(branch, conversion, depth + 1, hidden);
    }
    isClosed = true;
    const { additionalProperties: _, ...open } = followed;
    return convertSchema(open, conversion, depth + 1, hidden);
  });
  if (isClosed) {
    const members = listMembers([{ ...source, allOf: branches }], conversion);
    delete target.additionalProperties;
    if (members !== null) {
      const known = Object.fromEntries(members.map((name) => [name, {}]));
      target.properties = { ...known, ...(target.properties as JSONSchema | undefined) };
      target.additionalProperties = false;
    }
  }
  return parts;
}

function listMembers(parts: unknown[], { references, use }: Conversion): string[] | null {
  const names = new Set<string>();
  for (const part of parts) {
    const followed = references.follow(part) ?? {};
    if (parts.length > MAX_PARTS || OPEN_KEYWORDS.some((key) => Object.hasOwn(followed, key))) return null;
    for (const [name, value] of Object.entries(ownRecord(followed, "properties") ?? {})) {
      if (use === "response" || own(value, "readOnly") !== true) names.add(name);
    }
    parts.push(...ownList(followed, "allOf"));
  }
  return [...names];
}

const OPEN_KEYWORDS = ["anyOf", "oneOf", "patternProperties", "if", "dependentSchemas"];

/** Documents use `oneOf` even if several schemas match, which would make every value invalid. The server decides. */
function widenOneOf(target: JSONSchema): void {
  const { oneOf } = target;
  if (oneOf === undefined) return;
  delete target.oneOf;
  if (target.anyOf === undefined) target.anyOf = oneOf;
  else target.allOf = [...((target.allOf as unknown[] | undefined) ?? []), { anyOf: oneOf }];
}

/**
 * Describes a default instead of keeping it as `default`: hosts that fill in defaults would overwrite members that a
 * partial update omits. Keeps one short example.
 */
function addUsage(source: Fields, target: JSONSchema): void {
  const shown = Object.hasOwn(source, "default") ? showValue(source.default) : undefined;
  if (shown !== undefined) addNote(target, `Default: ${shown}.`);
  const [example] = [...ownList(source, "examples"), own(source, "example")].filter(
    (value) => value !== undefined,
  );
  if (example !== undefined && showValue(example) !== undefined) target.examples = [example];
}

function isBinary(source: Fields): boolean {
  if (own(source, "format") === "binary" || own(source, "type") === "file") return true;
  const type = own(source, "type");
  const mediaType = ownText(source, "contentMediaType");
  if (mediaType === undefined || Object.hasOwn(source, "contentEncoding")) return false;
  return type === undefined || (mediaType === "application/octet-stream" && type === "string");
}

function makeNullable(schema: JSONSchema): JSONSchema {
  const { description, ...rest } = schema;
  if (Object.keys(rest).length === 0) return schema;
  return { ...(description === undefined ? {} : { description }), anyOf: [rest, { type: "null" }] };
}

function withNote(schema: JSONSchema, description: string | undefined): JSONSchema {
  return description === undefined ? schema : { ...schema, description };
}

function withDescription(source: Fields, note: string): JSONSchema {
  const target: JSONSchema = {};
  const description = ownText(source, "description");
  if (description !== undefined && description.length <= 200) target.description = description;
  addNote(target, note);
  return target;
}

function union(first: ReadonlySet<string>, second: ReadonlySet<string>): ReadonlySet<string> {
  if (second.size === 0) return first;
  return new Set([...first, ...second]);
}
