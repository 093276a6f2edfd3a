/** Checks the JSON Schemas that a server declares for its tools, before they are compiled, stored or traversed. */
import { Ajv } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { resolveReference } from "#kernel/foreign-json.ts";
import type { JSONSchema } from "#sdk";
import { repairSchema } from "./repair.ts";

const MAX_SCHEMA_BYTES = 256 * 1024;
const MAX_SCHEMA_DEPTH = 64;
const MAX_SCHEMA_NODES = 20_000;

const OPTIONS = { strict: false, logger: false, validateFormats: false } as const;
const DIALECTS = {
  "draft-06": () => new Ajv(OPTIONS),
  "draft-07": () => new Ajv(OPTIONS),
  "2019-09": () => new Ajv2019(OPTIONS),
  "2020-12": () => new Ajv2020(OPTIONS),
} as const;
type Dialect = keyof typeof DIALECTS;

const checkers = new Map<Dialect, Ajv>();

export type SchemaCheck = { ok: true; schema: JSONSchema } | { ok: false; problem: string };

/**
 * Returns the problem, or a self-contained copy: without `$id` (two tools may declare the same), without an unknown
 * dialect, and with references into itself only.
 */
export function checkSchema(claimed: unknown): SchemaCheck {
  if (claimed === null || typeof claimed !== "object" || Array.isArray(claimed))
    return no("it is not an object");
  const structure = findStructureProblem(claimed as JSONSchema);
  if (structure !== null) return no(structure);
  const text = JSON.stringify(claimed);
  if (Buffer.byteLength(text) > MAX_SCHEMA_BYTES) return no(`it is larger than ${MAX_SCHEMA_BYTES} bytes`);
  if (text.includes("\\u0000")) return no("it contains a NUL character");
  const { $id: _, id: _old, ...schema } = repairSchema(JSON.parse(text) as JSONSchema);
  const dialect = findDialect(schema.$schema);
  if (dialect === null) delete schema.$schema;
  const problem = findMetaProblem(schema, dialect ?? "2020-12");
  return problem === null ? { ok: true, schema } : no(problem);
}

function no(problem: string): SchemaCheck {
  return { ok: false, problem };
}

function findDialect(claimed: unknown): Dialect | null {
  if (typeof claimed !== "string") return null;
  return (Object.keys(DIALECTS) as Dialect[]).find((dialect) => claimed.includes(dialect)) ?? null;
}

function findMetaProblem(schema: JSONSchema, dialect: Dialect): string | null {
  const checker = checkers.get(dialect) ?? DIALECTS[dialect]();
  checkers.set(dialect, checker);
  if (checker.validateSchema(schema)) return null;
  const [error] = checker.errors ?? [];
  return `it is not valid JSON Schema at ${error?.instancePath || "its top"}: ${error?.message ?? "unknown reason"}`;
}

/**
 * Finds excessive depth or size, and references that are broken or leave the schema. Iterative, because the schema
 * may be deep.
 */
function findStructureProblem(schema: JSONSchema): string | null {
  const open: { node: object; depth: number }[] = [{ node: schema, depth: 1 }];
  const references = new Set<string>();
  const anchors = new Set<unknown>();
  let nodes = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, depth } = next;
    nodes += 1;
    if (depth > MAX_SCHEMA_DEPTH) return `it is nested deeper than ${MAX_SCHEMA_DEPTH} levels`;
    if (nodes > MAX_SCHEMA_NODES) return `it has more than ${MAX_SCHEMA_NODES} parts`;
    for (const [key, value] of Object.entries(node)) {
      if ((key === "$ref" || key === "$dynamicRef") && typeof value === "string") references.add(value);
      if (key === "$anchor" || key === "$dynamicAnchor") anchors.add(value);
      if (value !== null && typeof value === "object") open.push({ node: value, depth: depth + 1 });
    }
  }
  for (const reference of references) {
    if (leadsSomewhere(schema, reference, anchors)) continue;
    return `its reference ${JSON.stringify(reference.slice(0, 200))} has no target in the schema`;
  }
  return null;
}

function leadsSomewhere(schema: JSONSchema, reference: string, anchors: Set<unknown>): boolean {
  if (reference.startsWith("#") && reference !== "#" && !reference.startsWith("#/")) {
    return anchors.has(reference.slice(1));
  }
  const target = resolveReference(schema, reference);
  return target !== null && (typeof target === "object" || typeof target === "boolean");
}
