import { STATUS_CODES } from "node:http";
import type { jsonSchemaTransformObject } from "fastify-type-provider-zod";
import { ERROR_CATALOGUE, type ErrorCode } from "../../errors.ts";
import { describeCodes } from "../responses.ts";

type Document = ReturnType<typeof jsonSchemaTransformObject>;
interface Operation {
  tags: string[];
  parameters?: { name: string; in: string }[];
  responses: Record<string, { description: string; $ref?: string }>;
}

export function shareComponents(document: Document): Document {
  if (!("components" in document) || document.components === undefined) return document;
  const components = document.components as Record<string, Record<string, unknown>>;
  const paths = Object.values(document.paths ?? {}) as Record<string, Operation>[];
  const operations = paths.flatMap((path) => Object.values(path));
  components.responses = sortByName(shareErrorResponses(operations));
  components.parameters = sortByName(shareParameters(operations));
  const schemas = components.schemas ?? {};
  keepUsed(document, schemas);
  components.schemas = sortByName(schemas);
  return dropInputSuffixes(document);
}

/**
 * Moves error responses into shared components. Each route keeps its own description, which lists its error codes.
 */
function shareErrorResponses(operations: Operation[]): Record<string, unknown> {
  const shared: Record<string, unknown> = {};
  for (const { responses } of operations) {
    for (const [status, response] of Object.entries(responses)) {
      const reason = STATUS_CODES[status] ?? status;
      if (response.description === "Default Response") response.description = `${reason}.`;
      if (!JSON.stringify(response).includes('"#/components/schemas/Error"')) continue;
      const name = reason.replaceAll(" ", "");
      shared[name] = { ...response, description: describeCodes(codesOf(Number(status))) };
      responses[status] = { $ref: `#/components/responses/${name}`, description: response.description };
    }
  }
  return shared;
}

function shareParameters(operations: Operation[]): Record<string, unknown> {
  const uses = new Map<string, number>();
  for (const parameter of operations.flatMap(({ parameters = [] }) => parameters)) {
    const text = JSON.stringify(parameter);
    uses.set(text, (uses.get(text) ?? 0) + 1);
  }
  const shared: Record<string, unknown> = {};
  for (const { tags, parameters = [] } of operations) {
    for (const [index, parameter] of parameters.entries()) {
      const text = JSON.stringify(parameter);
      if (uses.get(text) === 1) continue;
      const plain = toPascalCase(parameter.name);
      const isTaken = plain in shared && JSON.stringify(shared[plain]) !== text;
      const name = parameter.in === "path" || isTaken ? `${toPascalCase(tags[0] ?? "")}${plain}` : plain;
      if (name in shared && JSON.stringify(shared[name]) !== text) continue;
      shared[name] = parameter;
      parameters[index] = { $ref: `#/components/parameters/${name}` } as never;
    }
  }
  return shared;
}

function toPascalCase(name: string): string {
  return name.replace(/(?:^|-)(.)/g, (_match, letter: string) => letter.toUpperCase());
}

function codesOf(status: number): ErrorCode[] {
  return (Object.keys(ERROR_CATALOGUE) as ErrorCode[]).filter(
    (code) => ERROR_CATALOGUE[code].status === status,
  );
}

/** Removes unused schemas: the schema library lists every named schema twice, as input and as output. */
function keepUsed(document: Document, schemas: Record<string, unknown>): void {
  for (let dropped = true; dropped; ) {
    const text = JSON.stringify(document);
    const unused = Object.keys(schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`));
    for (const name of unused) delete schemas[name];
    dropped = unused.length > 0;
  }
}

/** Renames `JsonPatchInput` to `JsonPatch` if no output schema has that name. */
function dropInputSuffixes(document: Document): Document {
  const names = Object.keys(("components" in document && document.components?.schemas) || {});
  const renamed = names.filter((name) => name.endsWith("Input") && !names.includes(name.slice(0, -5)));
  let text = JSON.stringify(document, dropFormatPatterns);
  for (const name of renamed) {
    const short = name.slice(0, -"Input".length);
    text = text
      .replaceAll(`"#/components/schemas/${name}"`, `"#/components/schemas/${short}"`)
      .replaceAll(`"${name}":`, `"${short}":`);
  }
  return JSON.parse(text);
}

/** Drops long patterns that the schema library writes next to an equivalent `format`. */
function dropFormatPatterns(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== "object" || !("format" in value) || !("pattern" in value))
    return value;
  const { pattern: _, ...rest } = value;
  return rest;
}

function sortByName<T>(values: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1)));
}
