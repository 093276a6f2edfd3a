/**
 * Copies a foreign JSON Schema into a size-limited, self-contained one: only known keywords, references only into its
 * own `$defs`, and comment-safe texts. Anything else becomes `{}`. The type printer receives only such copies.
 */
import { FAILURES } from "#sdk";
import { isRecord, own, resolveReference } from "../foreign-json.ts";
import { commentText, describeSchema, joinTexts } from "./doc-comment.ts";

export const PLAIN_SCHEMA_LIMITS = {
  maxNodes: 600,
  maxDepth: 12,
  maxBranches: 50,
  maxEnumValues: 60,
  maxReferenceChain: 64,
  maxNameChars: 200,
  maxValueChars: 400,
} as const;

const TOO_DEEP = "Any value (the schema is nested more deeply than shown here).";

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"] as const;
type TypeName = (typeof TYPES)[number];

/** Shape of every copy. `nullable` from OpenAPI 3.0 is kept for the type printer. */
export interface PlainSchema {
  /** `any` is not JSON Schema: it marks a schema without constraints for the type printer. */
  type?: TypeName | TypeName[] | "any";
  description?: string;
  deprecated?: true;
  nullable?: true;
  isLarge?: true;
  enum?: unknown[];
  properties?: Record<string, PlainSchema>;
  required?: string[];
  additionalProperties?: boolean | PlainSchema;
  items?: PlainSchema | PlainSchema[];
  additionalItems?: boolean | PlainSchema;
  anyOf?: PlainSchema[];
  oneOf?: PlainSchema[];
  allOf?: PlainSchema[];
  $ref?: string;
  $defs?: Record<string, PlainSchema>;
}

interface Copy {
  root: unknown;
  nodes: number;
  referenceChain: number;
  /** Definition names by source node, for targets of references and cycles of shared objects. */
  names: Map<object, string>;
  definitions: Map<string, PlainSchema>;
  usedNames: Set<string>;
  onPath: Set<object>;
}

/**
 * Adds the names of the copy's definitions to `usedNames` and avoids existing ones, so that several copies can be
 * declared together. Never throws.
 */
export function makePlainSchema(source: unknown, usedNames: Set<string>): PlainSchema {
  const copy: Copy = {
    root: source,
    nodes: 0,
    referenceChain: 0,
    names: new Map(),
    definitions: new Map(),
    usedNames,
    onPath: new Set(),
  };
  const schema = copyNode(copy, source, 0, "Value");
  if (schema.$ref === "#") return { type: "any" };
  cutReferenceLoops(copy.definitions);
  if (copy.definitions.size > 0) schema.$defs = Object.fromEntries(copy.definitions);
  return schema;
}

/** Copies the schema for errors of failed calls, or returns null if the output schema has none. */
export function makePlainFailures(outputSchema: unknown, usedNames: Set<string>): PlainSchema | null {
  const failures = isRecord(outputSchema) ? own(outputSchema, FAILURES) : undefined;
  if (!isRecord(outputSchema) || !isRecord(failures)) return null;
  const description = "Members of a failed call's error if the service answered.";
  return makePlainSchema({ description, ...failures, $defs: own(outputSchema, "$defs") }, usedNames);
}

export function asParameters(schema: PlainSchema): PlainSchema {
  return schema.type === "any" ? { ...schema, type: "object", additionalProperties: true } : schema;
}

function copyNode(copy: Copy, source: unknown, depth: number, nameHint: string): PlainSchema {
  if (source === false) return { enum: [] };
  if (!isRecord(source)) return { type: "any" };
  if (copy.onPath.has(source)) return referTo(copy, source, nameHint);
  copy.nodes += 1;
  if (copy.nodes > PLAIN_SCHEMA_LIMITS.maxNodes || depth > PLAIN_SCHEMA_LIMITS.maxDepth) {
    return { type: "any", description: TOO_DEEP };
  }
  if (typeof own(source, "$ref") === "string") return copyReference(copy, source, depth);
  copy.onPath.add(source);
  const plain = copyKeywords(copy, source, depth);
  copy.onPath.delete(source);
  const cycleName = source === copy.root ? undefined : copy.names.get(source);
  if (cycleName === undefined || copy.definitions.has(cycleName)) return plain;
  copy.definitions.set(cycleName, plain);
  return { $ref: `#/$defs/${cycleName}` };
}

/** Refers to a node that is still being copied, which becomes a definition when its copy is complete. */
function referTo(copy: Copy, source: object, nameHint: string): PlainSchema {
  if (source === copy.root) return { $ref: "#" };
  let name = copy.names.get(source);
  if (name === undefined) {
    name = takeName(copy, nameHint);
    copy.names.set(source, name);
  }
  return { $ref: `#/$defs/${name}` };
}

function copyReference(copy: Copy, source: Record<string, unknown>, depth: number): PlainSchema {
  const reference = own(source, "$ref") as string;
  const target = resolveReference(copy.root, reference);
  if (target === undefined) {
    return {
      type: "any",
      description: commentText(`Any value (its schema, ${reference}, is not part of the tool's schema).`),
    };
  }
  const plain = copyTarget(copy, target, depth, reference);
  const description = describeSchema(source);
  return description === "" ? plain : { description, allOf: [plain] };
}

function copyTarget(copy: Copy, target: unknown, depth: number, reference: string): PlainSchema {
  if (!isRecord(target)) return copyNode(copy, target, depth + 1, "Value");
  if (target === copy.root) return { $ref: "#" };
  const known = copy.names.get(target);
  if (known !== undefined) return { $ref: `#/$defs/${known}` };
  const hint = reference.split("/").at(-1) ?? "Value";
  if (copy.onPath.has(target)) return referTo(copy, target, hint);
  if (copy.referenceChain >= PLAIN_SCHEMA_LIMITS.maxReferenceChain)
    return { type: "any", description: TOO_DEEP };
  const name = takeName(copy, hint);
  copy.names.set(target, name);
  copy.referenceChain += 1;
  const plain = copyNode(copy, target, 0, hint);
  copy.referenceChain -= 1;
  if (!copy.definitions.has(name)) copy.definitions.set(name, plain);
  return { $ref: `#/$defs/${name}` };
}

/** Makes definitions that only refer to each other accept any value. */
function cutReferenceLoops(definitions: Map<string, PlainSchema>): void {
  for (const start of definitions.keys()) {
    const seen = new Set<string>();
    let name: string | undefined = start;
    while (name !== undefined && !seen.has(name)) {
      seen.add(name);
      name = definitions.get(name)?.$ref?.replace("#/$defs/", "");
    }
    if (name !== undefined && definitions.has(name)) definitions.set(name, { type: "any" });
  }
}

function copyKeywords(copy: Copy, source: Record<string, unknown>, depth: number): PlainSchema {
  const plain: PlainSchema = {};
  const description = describeSchema(source);
  if (description !== "") plain.description = description;
  if (own(source, "deprecated") === true) plain.deprecated = true;
  if (own(source, "nullable") === true) plain.nullable = true;
  copyValues(source, plain);
  copyType(source, plain);
  if (plain.enum !== undefined) return plain;
  copyObject(copy, source, plain, depth);
  copyArray(copy, source, plain, depth);
  for (const keyword of ["anyOf", "oneOf", "allOf"] as const) {
    const branches = own(source, keyword);
    if (!Array.isArray(branches) || branches.length === 0) continue;
    plain[keyword] = branches
      .slice(0, PLAIN_SCHEMA_LIMITS.maxBranches)
      .map((branch, index) => copyNode(copy, branch, depth + 1, `Variant${index + 1}`));
    if (branches.length > PLAIN_SCHEMA_LIMITS.maxBranches && keyword !== "allOf")
      plain[keyword].push({ type: "any" });
  }
  if (Object.keys(plain).every((keyword) => ANNOTATIONS.has(keyword))) plain.type = "any";
  return plain;
}

const ANNOTATIONS = new Set(["description", "deprecated", "nullable"]);

function copyValues(source: Record<string, unknown>, plain: PlainSchema): void {
  const values = Object.hasOwn(source, "const") ? [source.const] : own(source, "enum");
  if (!Array.isArray(values) || values.length === 0) return;
  const simple = values.filter(
    (value) => value === null || ["string", "number", "boolean"].includes(typeof value),
  );
  const short = simple.every((value) => String(value).length <= PLAIN_SCHEMA_LIMITS.maxValueChars);
  // A partial union would forbid allowed values, so show all of its values or only their type.
  if (simple.length === values.length && short && values.length <= PLAIN_SCHEMA_LIMITS.maxEnumValues) {
    plain.enum = [...new Set(values)];
  } else if (simple.length > 0) {
    const some = simple.slice(0, 10).map((value) => JSON.stringify(value).slice(0, 80));
    plain.description = joinTexts(
      plain.description,
      commentText(`One of ${values.length} values: ${some.join(", ")}, ...`),
    );
  }
}

function copyType(source: Record<string, unknown>, plain: PlainSchema): void {
  if (plain.enum !== undefined) return;
  const type = own(source, "type");
  const types = (Array.isArray(type) ? type : [type]).filter((name): name is TypeName =>
    TYPES.includes(name as TypeName),
  );
  const unique = [...new Set(types)];
  if (own(source, "format") === "int64" && unique.includes("integer")) plain.isLarge = true;
  if (unique.length === 1) plain.type = unique[0] as TypeName;
  else if (unique.length > 1) plain.type = unique;
}

function copyObject(copy: Copy, source: Record<string, unknown>, plain: PlainSchema, depth: number): void {
  const properties = own(source, "properties");
  const patterns = own(source, "patternProperties");
  const additional = own(source, "additionalProperties");
  if (isRecord(properties)) copyProperties(copy, source, properties, plain, depth);
  const rest: PlainSchema[] = [];
  if (isRecord(additional)) rest.push(copyNode(copy, additional, depth + 1, "Value"));
  if (isRecord(patterns)) {
    const listed = Object.values(patterns).slice(0, PLAIN_SCHEMA_LIMITS.maxBranches);
    for (const pattern of listed) rest.push(copyNode(copy, pattern, depth + 1, "Value"));
  }
  const isNamed = Object.keys(plain.properties ?? {}).length > 0;
  const [only, ...others] = rest;
  if (only !== undefined) {
    // An index signature must accept the type of every named property; `unknown` does.
    plain.additionalProperties = isNamed || (others.length === 0 ? only : { anyOf: rest });
  } else if (additional === true || (additional !== false && plain.type === "object" && !isNamed)) {
    plain.additionalProperties = true;
  }
  if (plain.additionalProperties !== undefined && plain.type === undefined) plain.type = "object";
}

function copyProperties(
  copy: Copy,
  source: Record<string, unknown>,
  properties: Record<string, unknown>,
  plain: PlainSchema,
  depth: number,
): void {
  const required = own(source, "required");
  const isRequired = new Set(Array.isArray(required) ? required : []);
  const names = Object.keys(properties);
  // Keep required properties first when there is no room for all.
  if (names.length > PLAIN_SCHEMA_LIMITS.maxNodes) {
    names.sort((left, right) => Number(isRequired.has(right)) - Number(isRequired.has(left)));
  }
  const copied: [string, PlainSchema][] = [];
  plain.required = [];
  for (const name of names) {
    if (copy.nodes > PLAIN_SCHEMA_LIMITS.maxNodes) break;
    if (name.length > PLAIN_SCHEMA_LIMITS.maxNameChars) continue;
    copied.push([name, copyNode(copy, properties[name], depth + 1, name)]);
    if (isRequired.has(name)) plain.required.push(name);
  }
  plain.properties = Object.fromEntries(copied);
  const hidden = names.length - copied.length;
  if (hidden > 0) {
    plain.description = joinTexts(plain.description, `(${hidden} more properties are not shown.)`);
    plain.additionalProperties = true;
  }
}

function copyArray(copy: Copy, source: Record<string, unknown>, plain: PlainSchema, depth: number): void {
  const items = own(source, "items");
  const prefix = own(source, "prefixItems") ?? (Array.isArray(items) ? items : undefined);
  if (Array.isArray(prefix) && prefix.length > 0) {
    plain.items = prefix
      .slice(0, PLAIN_SCHEMA_LIMITS.maxBranches)
      .map((item) => copyNode(copy, item, depth + 1, "Item"));
    const rest = Array.isArray(items) ? own(source, "additionalItems") : items;
    plain.additionalItems =
      rest === false ? false : isRecord(rest) ? copyNode(copy, rest, depth + 1, "Item") : true;
  } else if (isRecord(items)) {
    plain.items = copyNode(copy, items, depth + 1, "Item");
  }
  if (plain.items !== undefined && plain.type === undefined) plain.type = "array";
}

function takeName(copy: Copy, hint: string): string {
  const words =
    hint
      .normalize("NFKD")
      .replace(/^[^A-Za-z]+/, "")
      .match(/[A-Za-z0-9]+/g) ?? [];
  const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  const base = joined.slice(0, 60) || "Value";
  let name = base;
  for (let suffix = 2; copy.usedNames.has(name); suffix += 1) name = `${base}${suffix}`;
  copy.usedNames.add(name);
  return name;
}
