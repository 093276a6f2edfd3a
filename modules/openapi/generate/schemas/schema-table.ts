/**
 * Converts a document's schemas for one use. Each tool gets a self-contained schema: its `$defs` contain each
 * referenced schema once, within a budget. A recursive reference is cut, with a note.
 */

import { isRecord } from "#kernel/foreign-json.ts";
import type { JSONSchema } from "#sdk";
import { type Conversion, convertSchema, type SchemaUse } from "./convert-schema.ts";
import { lastSegment } from "./discriminator.ts";
import type { References } from "./references.ts";

export interface SchemaTable {
  /** References in the result point into `$defs`, which `complete` adds. */
  convert(schema: unknown, maxDepth?: number): JSONSchema | boolean;
  /** Adds the `$defs` that `root` needs, nearest first, about `maxBytes` at most. */
  complete(root: JSONSchema, maxBytes: number): JSONSchema;
}

interface Definition {
  schema: JSONSchema | boolean;
  needs: string[];
  bytes: number;
  /** The same schema without texts, used when the budget is nearly spent. */
  bare?: { schema: JSONSchema | boolean; bytes: number };
}

const POINTER = "#/$defs/";
const MAX_DEPTH = 100;
const MAX_CHAIN = 40;
const NOTE_BYTES = 100;
/** Suffix of the outline's name that replaces a cut reference. No other name contains it. */
const CUT = "--cut";

export function createSchemaTable(
  use: SchemaUse,
  source: { references: References; refsStandAlone: boolean; names: DefinitionNames },
): SchemaTable {
  const { names, references, refsStandAlone } = source;
  const conversion: Conversion = {
    use,
    references,
    refsStandAlone,
    nameOf: names.nameOf,
    maxDepth: MAX_DEPTH,
  };
  const definitions = new Map<string, Definition>();

  function define(name: string): Definition {
    const known = definitions.get(name);
    if (known !== undefined) return known;
    const schema = convertSchema(references.resolve(names.referenceOf(name)), conversion);
    const definition = { schema, needs: findNeeds(schema, names), bytes: JSON.stringify(schema).length };
    definitions.set(name, definition);
    return definition;
  }

  function strip(definition: Definition): { schema: JSONSchema | boolean; bytes: number } {
    if (definition.bare === undefined) {
      const schema = withoutTexts(definition.schema) as JSONSchema | boolean;
      definition.bare = { schema, bytes: JSON.stringify(schema).length };
    }
    return definition.bare;
  }

  /**
   * Searches breadth first, to keep definitions near the root if not all of them are within the budget. Its second
   * half is for definitions without texts.
   */
  function select(first: string[], maxBytes: number): { kept: Map<string, Definition>; left: Set<string> } {
    const kept = new Map<string, Definition>();
    const left = new Set<string>();
    const found = new Set(first);
    // Each definition takes at least as many bytes as the note that it was left out.
    let bytes = found.size * NOTE_BYTES;
    for (const name of found) {
      const definition = define(name);
      const fresh = definition.needs.filter((needed) => !found.has(needed));
      const others = bytes + (fresh.length - 1) * NOTE_BYTES;
      const written = others + definition.bytes <= maxBytes / 2 ? definition : strip(definition);
      if (others + written.bytes > maxBytes) {
        left.add(name);
        continue;
      }
      bytes = others + written.bytes;
      kept.set(name, { ...definition, schema: written.schema });
      for (const needed of fresh) found.add(needed);
    }
    return { kept, left };
  }

  return {
    convert: (schema, maxDepth = MAX_DEPTH) => convertSchema(schema, { ...conversion, maxDepth }),
    complete(root, maxBytes) {
      const needs = findNeeds(root, names);
      if (needs.length === 0) return root;
      const { kept, left } = select(needs, maxBytes);
      const cuts = findCuts(needs, kept);
      const $defs: JSONSchema = {};
      for (const [name, { schema }] of kept) {
        const cut = cuts.get(name);
        $defs[name] = cut === undefined ? schema : cutReferences(schema, cut);
      }
      for (const name of new Set([...cuts.values()].flatMap((cut) => [...cut]))) {
        const note = `A ${name} again: the schema is recursive and is cut here.`;
        $defs[name + CUT] = outlineWithMembers(define(name), note);
      }
      for (const name of left) {
        $defs[name] = outline(define(name), "Left out here: the schema is too large.");
      }
      return { ...root, $defs };
    },
  };
}

const TEXTS = new Set(["description", "title", "examples"]);
const MAPS_OF_SCHEMAS = new Set(["properties", "patternProperties", "dependentSchemas", "$defs"]);
const MAPS_OF_VALUES = new Set(["enum", "const", "required", "dependentRequired"]);

function withoutTexts(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutTexts);
  if (!isRecord(schema)) return schema;
  const kept = Object.entries(schema).filter(([key]) => !TEXTS.has(key));
  return Object.fromEntries(
    kept.map(([key, value]) => {
      if (MAPS_OF_VALUES.has(key)) return [key, value];
      if (!MAPS_OF_SCHEMAS.has(key) || !isRecord(value)) return [key, withoutTexts(value)];
      return [
        key,
        Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutTexts(inner)])),
      ];
    }),
  );
}

type Cuts = Map<string, Set<string>>;

/**
 * Selects the references to cut: those that lead back to a definition above. Validators follow chains on the stack,
 * so if the remaining chain is too long, keeps only references to a deeper level.
 */
function findCuts(first: string[], kept: Map<string, Definition>): Cuts {
  const { cuts, longest } = findCycles(first, kept);
  return longest <= MAX_CHAIN ? cuts : findUpward(first, kept);
}

function findCycles(first: string[], kept: Map<string, Definition>): { cuts: Cuts; longest: number } {
  const cuts: Cuts = new Map();
  const heights = new Map<string, number>();
  for (const start of first) {
    if (heights.has(start) || !kept.has(start)) continue;
    const path = new Set([start]);
    const stack = [{ name: start, next: 0, height: 1 }];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const needed = kept.get(top.name)?.needs[top.next];
      top.next += 1;
      if (needed === undefined) {
        path.delete(top.name);
        heights.set(top.name, top.height);
        stack.pop();
        const above = stack.at(-1);
        if (above !== undefined) above.height = Math.max(above.height, top.height + 1);
      } else if (path.has(needed)) {
        addCut(cuts, top.name, needed);
      } else if (heights.has(needed)) {
        top.height = Math.max(top.height, (heights.get(needed) as number) + 1);
      } else if (kept.has(needed)) {
        path.add(needed);
        stack.push({ name: needed, next: 0, height: 1 });
      }
    }
  }
  return { cuts, longest: Math.max(0, ...heights.values()) };
}

function findUpward(first: string[], kept: Map<string, Definition>): Cuts {
  const cuts: Cuts = new Map();
  const levels = new Map(first.map((name) => [name, 0]));
  for (const [name, level] of levels) {
    for (const needed of kept.get(name)?.needs ?? []) {
      const known = levels.get(needed);
      if (known === undefined && level < MAX_CHAIN) levels.set(needed, level + 1);
      else if (known === undefined || known <= level) addCut(cuts, name, needed);
    }
  }
  return cuts;
}

function addCut(cuts: Cuts, name: string, needed: string): void {
  const cut = cuts.get(name) ?? new Set();
  cuts.set(name, cut.add(needed));
}

function cutReferences(value: unknown, cut: ReadonlySet<string>): JSONSchema {
  return JSON.parse(JSON.stringify(value), (_key, node: unknown) => {
    const name = referencedName(node);
    return name !== undefined && cut.has(name) ? { $ref: POINTER + name + CUT } : node;
  });
}

function outline({ schema }: Definition, description: string): JSONSchema {
  const type = isRecord(schema) ? schema.type : undefined;
  return type === undefined ? { description } : { type, description };
}

/** Like `outline`, but keeps scalar properties so that callers can still pass required ids. */
function outlineWithMembers(definition: Definition, description: string): JSONSchema {
  const target = outline(definition, description);
  const { properties, required } = definition.schema as JSONSchema;
  if (!isRecord(properties)) return target;
  const plain = Object.entries(properties).filter(([, value]) => isPlain(value));
  if (plain.length > 0) {
    target.properties = Object.fromEntries(plain.map(([name, value]) => [name, withoutTexts(value)]));
  }
  const needed = Array.isArray(required)
    ? required.filter((name) => plain.some(([known]) => known === name))
    : [];
  if (needed.length > 0) target.required = needed;
  return target;
}

const PLAIN_TYPES = new Set<unknown>(["string", "number", "integer", "boolean", "null"]);

function isPlain(schema: unknown): boolean {
  if (!isRecord(schema) || schema.$ref !== undefined) return false;
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.every((type) => PLAIN_TYPES.has(type));
}

function referencedName(node: unknown): string | undefined {
  if (!isRecord(node) || typeof node.$ref !== "string" || !node.$ref.startsWith(POINTER)) return undefined;
  return node.$ref.slice(POINTER.length);
}

/** Skips text that only looks like a reference, for example in an `enum`. */
function findNeeds(schema: unknown, known: DefinitionNames): string[] {
  const names = new Set<string>();
  const waiting: unknown[] = [schema];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next !== "object" || next === null) continue;
    const name = referencedName(next);
    if (name !== undefined && known.has(name)) names.add(name);
    for (const value of Object.values(next).reverse()) waiting.push(value);
  }
  return [...names];
}

/** Gives each reference target one name, the same in every tool and for every use. */
export interface DefinitionNames {
  nameOf(reference: string): string;
  referenceOf(name: string): string;
  has(name: string): boolean;
}

export function createDefinitionNames(): DefinitionNames {
  const byReference = new Map<string, string>();
  const byName = new Map<string, string>();
  const nextNumbers = new Map<string, number>();
  return {
    nameOf(reference) {
      const known = byReference.get(reference);
      if (known !== undefined) return known;
      const wanted =
        lastSegment(reference).replace(/%[0-9A-Fa-f]{2}|~[01]|[^A-Za-z0-9._-]+|--+/g, "_") || "schema";
      const base = wanted === "__proto__" ? "_proto_" : wanted.slice(0, 100);
      let name = base;
      let number = nextNumbers.get(base) ?? 2;
      for (; byName.has(name); number += 1) name = `${base}_${number}`;
      nextNumbers.set(base, number);
      byReference.set(reference, name);
      byName.set(name, reference);
      return name;
    },
    referenceOf: (name) => byName.get(name) as string,
    has: (name) => byName.has(name),
  };
}
