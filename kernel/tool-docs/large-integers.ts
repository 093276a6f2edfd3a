/**
 * Converts large integers that scripts receive: to a bigint where the schema says `integer`, otherwise to the nearest
 * number with a warning.
 */
import type { InvokeInput, JSONSchema } from "#sdk";
import { isRawInteger } from "../../sdk/exact-json.ts";
import { isRecord, own, resolveReference } from "../foreign-json.ts";

/** Maximum number of schemas consulted for one value, because references and alternatives multiply. */
const MAX_SCHEMAS = 100;
/**
 * Maximum number of schemas consulted for a complete document, because schema and data may be hostile. Beyond it,
 * large integers are rounded.
 */
const MAX_STEPS = 500_000;
const INTEGER_FORMATS = new Set<unknown>(["int64", "uint64"]);

export function settleIntegers(
  data: unknown,
  schema: JSONSchema | null,
  name: "answer" | "input",
  warn: NonNullable<InvokeInput["warn"]>,
): unknown {
  const missing =
    name === "answer" ? "the schema of the answer does not say" : "its process has no inputSchema that says";
  let steps = 0;
  function settle(node: unknown, found: readonly unknown[], path: string): unknown {
    if (typeof node !== "object" || node === null) return node;
    const schemas = steps < MAX_STEPS && schema !== null ? expand(found, schema) : [];
    steps += schemas.length;
    if (isRawInteger(node)) {
      if (schemas.some(isInteger)) return node;
      const number = Number(node.rawJSON);
      if (Number.isFinite(number) && BigInt(number) === BigInt(node.rawJSON)) return number;
      const message = `${path} is ${node.rawJSON.slice(0, 100)}, and was rounded: JavaScript's numbers are exact up to 2^53, and ${missing} that it is an integer.`;
      warn({ code: "number_rounded", message, path });
      return Number.isFinite(number) ? number : null;
    }
    if (Array.isArray(node)) {
      return node.map((item, index) =>
        typeof item === "object"
          ? settle(
              item,
              schemas.flatMap((one) => itemSchemas(one, index)),
              `${path}[${index}]`,
            )
          : item,
      );
    }
    const members = Object.entries(node).map(([key, member]) => [
      key,
      typeof member === "object"
        ? settle(
            member,
            schemas.flatMap((one) => memberSchemas(one, key)),
            `${path}.${key}`,
          )
        : member,
    ]);
    return Object.fromEntries(members);
  }
  return settle(data, [schema], name);
}

function isInteger(schema: Record<string, unknown>): boolean {
  return [own(schema, "type")].flat().includes("integer") || INTEGER_FORMATS.has(own(schema, "format"));
}

function expand(schemas: readonly unknown[], root: JSONSchema): Record<string, unknown>[] {
  const all = new Set<unknown>(schemas);
  for (const schema of all) {
    if (all.size > MAX_SCHEMAS) break;
    if (!isRecord(schema)) continue;
    const reference = own(schema, "$ref");
    if (typeof reference === "string") all.add(resolveReference(root, reference));
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
