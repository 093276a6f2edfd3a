/**
 * Builds a tool's output schema: one alternative of `{status, headers, body}` per declared success. Other responses
 * reject; `x-failures` describes their errors.
 */

import { type Fields, isRecord, own, ownRecord, ownText } from "#kernel/foreign-json.ts";
import { FAILURES, type JSONSchema } from "#sdk";
import { essence, isText } from "../media-types.ts";
import { kindOf } from "./bodies.ts";
import type { References } from "./schemas/references.ts";
import type { SchemaTable } from "./schemas/schema-table.ts";

const HEADERS = { type: "object", additionalProperties: { type: "string" } };
const BINARY_ANSWER = {
  type: "object",
  properties: { contentType: { type: "string" }, base64: { type: "string" } },
  required: ["contentType", "base64"],
};

/** Depths to try in order until a schema without references is within the budget. */
const DEPTH_STEPS = [100, 10, 7, 5, 4, 3] as const;

/** Most documents describe all failures with one schema. */
const MAX_FAILURE_BYTES = 4000;
const MAX_FAILURE_DEPTH = 4;

export interface OutputBudget {
  maxBytes: number;
}

export function describeOutput(
  operation: Fields,
  table: SchemaTable,
  references: References,
  { maxBytes }: OutputBudget,
): { schema: JSONSchema; accept: string } {
  const responses = Object.entries(ownRecord(operation, "responses") ?? {})
    .filter(([status]) => /^([1-5][0-9X]{2}|default)$/i.test(status))
    .map(([status, value]) => ({ status: normalise(status), response: references.follow(value) ?? {} }));
  const good = responses.filter(({ status }) => /^[123]/.test(status));
  // `default` describes failures if a success is declared.
  const shown = good.length > 0 ? good : responses.filter(({ status }) => status === "default");
  const statuses = shown.map(({ status }) => status);
  const listed = shown.length > 0 ? shown : [{ status: "default", response: {} }];
  const build = (maxDepth: number): JSONSchema => {
    const alternatives = listed.map(({ status, response }) => ({
      type: "object",
      ...descriptionOf(response),
      properties: {
        status: describeStatus(status, statuses),
        headers: HEADERS,
        body: describeBody(response, table, references, maxDepth),
      },
      required: ["status", "headers", "body"],
    }));
    return alternatives.length === 1 ? (alternatives[0] as JSONSchema) : { oneOf: alternatives };
  };
  let root = build(DEPTH_STEPS[0]);
  for (const depth of DEPTH_STEPS.slice(1)) {
    if (JSON.stringify(root).length <= maxBytes) break;
    root = build(depth);
  }
  const failures = describeFailures(
    responses.filter((response) => !shown.includes(response)),
    (response) => describeBody(response, table, references, MAX_FAILURE_DEPTH),
  );
  return {
    schema: withFailures(
      table.complete(root, maxBytes),
      failures && table.complete(failures, MAX_FAILURE_BYTES),
    ),
    accept: acceptOf(responses.map(({ response }) => response)),
  };
}

interface Response {
  status: string;
  response: Fields;
}

/** Returns one `{status, body}` alternative per distinct body, or null if no failure is declared. */
function describeFailures(
  responses: readonly Response[],
  bodyOf: (response: Fields) => JSONSchema | boolean,
): JSONSchema | null {
  const statuses = responses.map(({ status }) => status);
  const groups = new Map<string, { body: JSONSchema | boolean; statuses: JSONSchema[] }>();
  for (const { status, response } of responses) {
    const body = bodyOf(response);
    const text = JSON.stringify(body);
    const group = groups.get(text) ?? { body, statuses: [] };
    groups.set(text, group);
    group.statuses.push(describeStatus(status, statuses));
  }
  const build = (found: { body: JSONSchema | boolean; statuses: JSONSchema[] }[]) =>
    found.map(({ body, statuses }) => ({
      type: "object",
      properties: { status: joinStatuses(statuses), body },
      required: ["status", "body"],
    }));
  let alternatives: JSONSchema[] = build([...groups.values()]);
  if (JSON.stringify(alternatives).length > MAX_FAILURE_BYTES) {
    alternatives = build([{ body: {}, statuses: [...groups.values()].flatMap((group) => group.statuses) }]);
  }
  return alternatives.length > 1 ? { anyOf: alternatives } : (alternatives[0] ?? null);
}

function joinStatuses(statuses: readonly JSONSchema[]): JSONSchema {
  const exact = statuses.map(({ const: status }) => status);
  return exact.includes(undefined) ? { type: "integer" } : { enum: exact };
}

/** Success definitions take precedence: the same name is the same schema, perhaps cut elsewhere. */
function withFailures(schema: JSONSchema, failures: JSONSchema | null): JSONSchema {
  if (failures === null) return schema;
  const { $defs, ...own } = failures;
  const all = { ...($defs as JSONSchema | undefined), ...(schema.$defs as JSONSchema | undefined) };
  return { ...schema, [FAILURES]: own, ...(Object.keys(all).length > 0 && { $defs: all }) };
}

function normalise(status: string): string {
  return status.toLowerCase() === "default" ? "default" : status.toUpperCase();
}

/** Makes alternatives exclude each other, because `oneOf` allows exactly one. */
function describeStatus(status: string, all: string[]): JSONSchema {
  if (/^[0-9]{3}$/.test(status)) return { const: Number(status) };
  if (status === "default") return { type: "integer" };
  const from = Number(status[0]) * 100;
  const schema: JSONSchema = { type: "integer", minimum: from, maximum: from + 99 };
  const covered = all.filter((other) => other !== status && other[0] === status[0]);
  return covered.length === 0 ? schema : { ...schema, not: { enum: covered.map(Number) } };
}

function descriptionOf(response: Fields): JSONSchema {
  const description = ownText(response, "description");
  return description === undefined || description === "" ? {} : { description: description.slice(0, 500) };
}

function describeBody(
  response: Fields,
  table: SchemaTable,
  references: References,
  maxDepth: number,
): JSONSchema | boolean {
  const content = Object.entries(ownRecord(response, "content") ?? {});
  if (content.length === 0) return {};
  const found = new Map<string, JSONSchema | boolean>();
  for (const [contentType, media] of content) {
    const type = essence(contentType);
    const schema = own(references.follow(media), "schema");
    const converted =
      kindOf(type) === "json"
        ? schema === undefined
          ? {}
          : table.convert(schema, maxDepth)
        : isText(type) || type.startsWith("multipart/")
          ? { type: "string" }
          : BINARY_ANSWER;
    found.set(JSON.stringify(converted), converted);
  }
  const alternatives = [...found.values()];
  if (alternatives.some((schema) => isRecord(schema) && Object.keys(schema).length === 0)) return {};
  return alternatives.length === 1 ? (alternatives[0] as JSONSchema) : { anyOf: alternatives };
}

const MAX_ACCEPT_CHARS = 500;

/** Prefers JSON and gives other types half the weight: a server may choose any among equals. */
function acceptOf(responses: Fields[]): string {
  const types = new Set(
    responses
      .flatMap((response) => Object.keys(ownRecord(response, "content") ?? {}))
      .map((type) => type.trim())
      .filter((type) => /^[\x21-\x7e]+\/[\x20-\x7e]+$/.test(type)),
  );
  const json = [...types].filter((type) => kindOf(type) === "json");
  const others = [...types].filter((type) => kindOf(type) !== "json");
  const weight = json.length === 0 ? "" : ";q=0.5";
  const kept: string[] = [];
  for (const type of [...json, ...others.map((other) => `${other}${weight}`)]) {
    if (kept.join(", ").length + type.length > MAX_ACCEPT_CHARS) break;
    kept.push(type);
  }
  return kept.length === 0 ? "*/*" : kept.join(", ");
}
