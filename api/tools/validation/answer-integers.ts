/**
 * Large integers in the answer of a tool, for a script: exact where the output schema says `integer`, else the nearest number,
 * and a warning.
 */
import { isRecord, own, resolvePointer } from "#runner/docs/pointer.ts";
import { type InvokeInput, isRawInteger, type JSONSchema } from "#sdk";

/** Schemas that are looked at for one value: references and alternatives multiply. */
const MAX_SCHEMAS = 100;
const INTEGER_FORMATS = new Set<unknown>(["int64", "uint64"]);

export function settleIntegers(
  answer: unknown,
  outputSchema: JSONSchema,
  warn: NonNullable<InvokeInput["warn"]>,
): unknown {
  function settle(node: unknown, found: readonly unknown[], path: string): unknown {
    if (typeof node !== "object" || node === null) return node;
    const schemas = expand(found, outputSchema);
    if (isRawInteger(node)) {
      if (schemas.some(isInteger)) return node;
      const message = `${path} is ${node.rawJSON.slice(0, 100)}, and was rounded: JavaScript's numbers are exact up to 2^53, and the schema of the answer does not say that it is an integer.`;
      warn({ code: "number_rounded", message, path });
      const number = Number(node.rawJSON);
      return Number.isFinite(number) ? number : null;
    }
    if (Array.isArray(node)) {
      return node.map((item, index) =>
        settle(
          item,
          schemas.flatMap((schema) => itemSchemas(schema, index)),
          `${path}[${index}]`,
        ),
      );
    }
    const members = Object.entries(node).map(([name, member]) => [
      name,
      settle(
        member,
        schemas.flatMap((schema) => memberSchemas(schema, name)),
        `${path}.${name}`,
      ),
    ]);
    return Object.fromEntries(members);
  }
  return settle(answer, [outputSchema], "answer");
}

function isInteger(schema: Record<string, unknown>): boolean {
  return [own(schema, "type")].flat().includes("integer") || INTEGER_FORMATS.has(own(schema, "format"));
}

/** The schemas themselves, with those that they refer to or are made of. */
function expand(schemas: readonly unknown[], root: JSONSchema): Record<string, unknown>[] {
  const all = new Set<unknown>(schemas);
  for (const schema of all) {
    if (all.size > MAX_SCHEMAS) break;
    if (!isRecord(schema)) continue;
    const reference = own(schema, "$ref");
    if (typeof reference === "string") all.add(resolvePointer(root, reference));
    for (const keyword of ["anyOf", "oneOf", "allOf"]) {
      const parts = own(schema, keyword);
      if (Array.isArray(parts)) for (const part of parts.slice(0, MAX_SCHEMAS)) all.add(part);
    }
  }
  return [...all].filter(isRecord);
}

function itemSchemas(schema: Record<string, unknown>, index: number): unknown[] {
  const first = own(schema, "prefixItems");
  return Array.isArray(first) && index < first.length ? [first[index]] : [own(schema, "items")];
}

function memberSchemas(schema: Record<string, unknown>, name: string): unknown[] {
  const properties = own(schema, "properties");
  if (isRecord(properties) && Object.hasOwn(properties, name)) return [properties[name]];
  const patterns = own(schema, "patternProperties");
  return [own(schema, "additionalProperties"), ...(isRecord(patterns) ? Object.values(patterns) : [])];
}
