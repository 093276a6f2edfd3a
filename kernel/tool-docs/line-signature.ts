import { IDENTIFIER_PATTERN } from "#sdk";
import { isRecord, own, resolveReference } from "../foreign-json.ts";

const MAX_PARAMETER_CHARACTERS = 240;
const MAX_RESULT_CHARACTERS = 160;
const MAX_DEPTH = 4;
const MAX_UNION = 6;
const MAX_VALUE_CHARACTERS = 40;

interface Place {
  root: unknown;
  depth: number;
  budget: number;
}

/**
 * Returns one line, for example `(params: { owner: string; page?: number }) => Promise<object>`: required parameters
 * first, then a rough result type. A comment states the number of omitted members.
 */
export function writeLineSignature(inputSchema: unknown, outputSchema: unknown): string {
  const input = print(inputSchema, { root: inputSchema, depth: 0, budget: MAX_PARAMETER_CHARACTERS });
  const output = print(outputSchema, { root: outputSchema, depth: 0, budget: MAX_RESULT_CHARACTERS });
  return `(params: ${input === "unknown" ? "object" : input}) => Promise<${output}>`;
}

function print(schema: unknown, place: Place): string {
  if (!isRecord(schema) || place.depth > MAX_DEPTH || place.budget <= 0) return "unknown";
  const deeper = { ...place, depth: place.depth + 1 };
  const reference = own(schema, "$ref");
  if (typeof reference === "string") return print(resolveReference(place.root, reference), deeper);
  const values = own(schema, "enum");
  if (Array.isArray(values)) return join(values.slice(0, MAX_UNION + 1).map(printValue), place.budget);
  if (own(schema, "const") !== undefined) return printValue(own(schema, "const"));
  const choices = own(schema, "anyOf") ?? own(schema, "oneOf");
  const type = own(schema, "type");
  if (isRecord(own(schema, "properties"))) return printObject(schema, deeper);
  if (Array.isArray(choices)) {
    const share = Math.floor(place.budget / Math.min(choices.length, MAX_UNION));
    return join(
      choices.slice(0, MAX_UNION + 1).map((choice) => print(choice, { ...deeper, budget: share })),
      place.budget,
    );
  }
  const parts = own(schema, "allOf");
  if (Array.isArray(parts) && parts.length === 1) return print(parts[0], deeper);
  if (type === "array") {
    const item = print(own(schema, "items"), { ...deeper, budget: place.budget - 2 });
    return /[|&]/.test(item) ? `(${item})[]` : `${item}[]`;
  }
  const types = (Array.isArray(type) ? type : [type]).map((name) => TYPES.get(name) ?? "unknown");
  if (own(schema, "format") === "int64" && [type].flat().includes("integer")) types.push("bigint");
  return join(types, place.budget);
}

const TYPES = new Map<unknown, string>([
  ["string", "string"],
  ["number", "number"],
  ["integer", "number"],
  ["boolean", "boolean"],
  ["null", "null"],
  ["object", "object"],
  ["array", "unknown[]"],
]);

function printObject(schema: Record<string, unknown>, place: Place): string {
  const properties = own(schema, "properties") as Record<string, unknown>;
  const required = new Set(
    Array.isArray(own(schema, "required")) ? (own(schema, "required") as unknown[]) : [],
  );
  const names = Object.keys(properties);
  const ordered = [
    ...names.filter((name) => required.has(name)),
    ...names.filter((name) => !required.has(name)),
  ];
  const shown: string[] = [];
  let budget = place.budget - 4;
  for (const name of ordered) {
    const key = `${printKey(name)}${required.has(name) ? "" : "?"}: `;
    const text = key + print(properties[name], { ...place, budget: budget - key.length });
    if (text.length > budget) break;
    shown.push(text);
    budget -= text.length + 2;
  }
  const rest = names.length - shown.length;
  if (shown.length === 0) return rest === 0 ? "{}" : "object";
  return `{ ${shown.join("; ")}${rest > 0 ? `; /* ${rest} more */` : ""} }`;
}

/** Joins types into a union, or returns their common type if the union exceeds the budget. */
function join(members: readonly string[], budget: number): string {
  const distinct = [...new Set(members)];
  const shown = distinct.slice(0, MAX_UNION);
  const text = shown.join(" | ") || "unknown";
  if (distinct.length <= MAX_UNION && text.length <= budget) return text;
  return distinct.every((member) => member.startsWith('"')) ? "string" : "unknown";
}

function printKey(name: string): string {
  return IDENTIFIER_PATTERN.test(name) ? name : printText(name);
}

function printValue(value: unknown): string {
  if (typeof value === "string") return value.length <= MAX_VALUE_CHARACTERS ? printText(value) : "string";
  return value === null || typeof value !== "object" ? String(value) : "unknown";
}

/** Prints the text on one line, unable to end a comment. */
function printText(text: string): string {
  return JSON.stringify(text)
    .replaceAll(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, "")
    .replaceAll("*/", "* /");
}
