/**
 * Prints size-limited schemas as TypeScript declarations, for one tool's documentation or a complete service in an
 * editor. Accepts only copies created by `makePlainSchema`, which limits its running time.
 */
import { IDENTIFIER_PATTERN } from "#sdk";
import type { PlainSchema } from "./plain-schema.ts";

export interface PrintOptions {
  indent: string;
  keyword: "" | "export ";
  end: "" | ";";
  gap: "\n" | "\n\n";
}

interface Printer extends PrintOptions {
  definitions: Record<string, PlainSchema>;
  /** Definitions that refer to themselves without an object or array in between, which TypeScript rejects. */
  circular: ReadonlySet<string>;
}

export function printDefinitions(definitions: Record<string, PlainSchema>, options: PrintOptions): string {
  const printer: Printer = { ...options, definitions, circular: findCircular(definitions) };
  return Object.entries(definitions)
    .map(([name, schema]) => printDefinition(printer, name, schema))
    .join(options.gap);
}

function printDefinition(printer: Printer, name: string, schema: PlainSchema): string {
  const { indent, keyword, end } = printer;
  const comment = printComment(schema, indent);
  if (printer.circular.has(name)) return `${comment}${indent}${keyword}type ${name} = unknown${end}`;
  if (isPlainObject(schema))
    return `${comment}${indent}${keyword}interface ${name} ${printObject(printer, schema, indent)}`;
  return `${comment}${indent}${keyword}type ${name} = ${printType(printer, schema, indent)}${end}`;
}

function nameOf(reference: string, definitions: Record<string, PlainSchema>): string | undefined {
  return reference === "#" ? Object.keys(definitions)[0] : reference.slice("#/$defs/".length);
}

function isPlainObject(schema: PlainSchema): boolean {
  const { type, nullable, enum: values, anyOf, oneOf, allOf, $ref } = schema;
  const isOther = nullable ?? values ?? anyOf ?? oneOf ?? allOf ?? $ref;
  return (
    isOther === undefined && (type === "object" || (type === undefined && schema.properties !== undefined))
  );
}

function printType(printer: Printer, schema: PlainSchema, indent: string): string {
  const parts = listParts(printer, schema, indent);
  const whole =
    parts.length === 0
      ? "unknown"
      : parts.length === 1
        ? (parts[0] as string)
        : parts.map(enclose).join(" & ");
  return schema.nullable === true && whole !== "unknown" ? `${enclose(whole)} | null` : whole;
}

function listParts(printer: Printer, schema: PlainSchema, indent: string): string[] {
  if (schema.$ref !== undefined) {
    const name = nameOf(schema.$ref, printer.definitions);
    return [name !== undefined && Object.hasOwn(printer.definitions, name) ? name : "unknown"];
  }
  if (schema.enum !== undefined) {
    return [
      schema.enum.length === 0 ? "never" : schema.enum.map((value) => JSON.stringify(value)).join(" | "),
    ];
  }
  const parts: string[] = [];
  const types = [schema.type ?? guessType(schema)]
    .flat()
    .filter((type) => type !== undefined && type !== "any");
  if (types.length > 0) {
    parts.push(
      [...new Set(types.map((type) => printNamed(printer, type as string, schema, indent)))].join(" | "),
    );
  }
  for (const branches of [schema.anyOf, schema.oneOf]) {
    if (branches === undefined) continue;
    const printed = new Set(branches.map((branch) => printType(printer, branch, indent)));
    parts.push(printed.has("unknown") ? "unknown" : [...printed].map(enclose).join(" | "));
  }
  for (const branch of schema.allOf ?? []) parts.push(printType(printer, branch, indent));
  const telling = [...new Set(parts.filter((part) => part !== "unknown"))];
  return telling;
}

function guessType(schema: PlainSchema): string | undefined {
  if (schema.properties !== undefined || schema.additionalProperties !== undefined) return "object";
  return schema.items === undefined ? undefined : "array";
}

function printNamed(printer: Printer, type: string, schema: PlainSchema, indent: string): string {
  switch (type) {
    case "object":
      return printObject(printer, schema, indent);
    case "array":
      return printArray(printer, schema, indent);
    case "integer":
      return schema.isLarge === true ? "number | bigint" : "number";
    default:
      return type;
  }
}

function printObject(printer: Printer, schema: PlainSchema, indent: string): string {
  const inner = `${indent}  `;
  const required = new Set(schema.required ?? []);
  const lines = Object.entries(schema.properties ?? {}).map(([key, value]) => {
    const mark = required.has(key) ? "" : "?";
    return `${printComment(value, inner)}${inner}${printName(key)}${mark}: ${printType(printer, value, inner)}${printer.end}`;
  });
  const rest = schema.additionalProperties;
  if (rest === true) lines.push(`${inner}[name: string]: unknown${printer.end}`);
  else if (typeof rest === "object")
    lines.push(`${inner}[name: string]: ${printType(printer, rest, inner)}${printer.end}`);
  return lines.length === 0 ? "{}" : `{\n${lines.join("\n")}\n${indent}}`;
}

function printArray(printer: Printer, { items, additionalItems }: PlainSchema, indent: string): string {
  if (items === undefined) return "unknown[]";
  if (!Array.isArray(items)) return `${enclose(printType(printer, items, indent))}[]`;
  const elements = items.map((item) => `${enclose(printType(printer, item, indent))}?`);
  if (additionalItems !== false) {
    const rest =
      typeof additionalItems === "object" ? printType(printer, additionalItems, indent) : "unknown";
    elements.push(`...${enclose(rest)}[]`);
  }
  return `[${elements.join(", ")}]`;
}

function printName(name: string): string {
  return IDENTIFIER_PATTERN.test(name) && !(name in Object.prototype) ? name : JSON.stringify(name);
}

function enclose(type: string): string {
  return /^[A-Za-z]\w*$/.test(type) ? type : `(${type})`;
}

function printComment({ description = "", deprecated }: PlainSchema, indent: string): string {
  const text = deprecated === true ? `${description}\n@deprecated`.trim() : description;
  if (text === "") return "";
  const lines = text.split("\n");
  if (lines.length === 1) return `${indent}/** ${text} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

/** Finds aliases that are a union or intersection containing itself, which TypeScript rejects. */
function findCircular(definitions: Record<string, PlainSchema>): Set<string> {
  const direct = new Map(
    Object.entries(definitions).map(([name, schema]) => [name, listDirect(schema, definitions)]),
  );
  const circular = new Set<string>();
  for (const start of direct.keys()) {
    const reached = new Set(direct.get(start));
    for (const name of reached) for (const next of direct.get(name) ?? []) reached.add(next);
    if (reached.has(start)) circular.add(start);
  }
  return circular;
}

function listDirect(schema: PlainSchema, definitions: Record<string, PlainSchema>): string[] {
  if (schema.$ref !== undefined) return [nameOf(schema.$ref, definitions) ?? ""];
  return [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].flatMap((branch) =>
    listDirect(branch, definitions),
  );
}
