import { defined, type Fields, isRecord, own, ownList, ownRecord, ownText } from "#kernel/foreign-json.ts";
import type { JSONSchema } from "#sdk";
import { type BodyKind, type BodyPlan, type FieldPlan, QUERY_STYLES } from "../domain.ts";
import { essence, isJson, isText } from "../media-types.ts";
import { FILE_SCHEMAS, type SchemaUse } from "./schemas/convert-schema.ts";
import type { References } from "./schemas/references.ts";
import type { SchemaTable } from "./schemas/schema-table.ts";

export interface RequestBody {
  plan: BodyPlan;
  schema: JSONSchema | boolean;
  required: boolean;
  table: SchemaTable;
}

export type SchemaTables = Record<SchemaUse, SchemaTable>;

/** Media types in order of preference: those that a script can write knowing only the schema. */
const PREFERENCE: readonly BodyKind[] = ["json", "form", "multipart", "text", "binary"];

export function readRequestBody(
  operation: Fields,
  tables: SchemaTables,
  references: References,
): RequestBody | undefined {
  const declared = references.follow(own(operation, "requestBody"));
  const [chosen] = Object.entries(ownRecord(declared, "content") ?? {})
    .map(([contentType, value]) => ({
      contentType,
      media: references.follow(value) ?? {},
      kind: kindOf(contentType),
    }))
    .sort((a, b) => rank(a) - rank(b));
  if (declared === undefined || chosen === undefined) return undefined;
  const { contentType, media, kind } = chosen;
  const table = kind === "multipart" ? tables.form : tables.request;
  const fields = kind === "form" || kind === "multipart" ? planFields(media, kind, references) : [];
  return {
    plan: { kind, contentType: concrete(contentType, kind), ...(fields.length === 0 ? {} : { fields }) },
    schema: describeBody(kind, media, table, ownText(declared, "description")),
    required: own(declared, "required") === true,
    table,
  };
}

function rank({ contentType, kind }: { contentType: string; kind: BodyKind }): number {
  return PREFERENCE.indexOf(kind) * 2 + (contentType.toLowerCase() === "application/json" ? 0 : 1);
}

export function kindOf(contentType: string): BodyKind {
  const type = essence(contentType);
  if (type === "*/*" || type === "application/*" || isJson(type)) return "json";
  if (type === "application/x-www-form-urlencoded") return "form";
  if (type.startsWith("multipart/")) return "multipart";
  return isText(type) ? "text" : "binary";
}

function concrete(contentType: string, kind: BodyKind): string {
  if (!contentType.includes("*")) return contentType;
  if (kind === "json") return "application/json";
  return kind === "text"
    ? "text/plain"
    : kind === "multipart"
      ? "multipart/form-data"
      : "application/octet-stream";
}

function describeBody(
  kind: BodyKind,
  media: Fields,
  table: SchemaTable,
  description: string | undefined,
): JSONSchema | boolean {
  const about = description === undefined || description === "" ? {} : { description };
  if (kind === "text") return { type: "string", ...about };
  if (kind === "binary") return { ...BINARY_BODY, ...about };
  const schema = table.convert(own(media, "schema") ?? {});
  if (!isRecord(schema) || schema.description !== undefined) return schema;
  return { ...schema, ...about };
}

const BINARY_BODY: JSONSchema = {
  description: "The content: a text, bytes in base64, or a file of the workspace.",
  anyOf: [{ type: "string" }, ...FILE_SCHEMAS],
};

function planFields(media: Fields, kind: BodyKind, references: References): FieldPlan[] {
  const encodings = ownRecord(media, "encoding") ?? {};
  const properties = propertiesOf(own(media, "schema"), references);
  const names = new Set([...properties.keys(), ...Object.keys(encodings)]);
  const plans: FieldPlan[] = [];
  for (const name of names) {
    const encoding = ownRecord(encodings, name);
    const style = ownText(encoding, "style");
    const explode = own(encoding, "explode");
    const plan = {
      name,
      ...defined({
        file: kind === "multipart" && isFile(properties.get(name), references) ? true : undefined,
        contentType: kind === "multipart" ? ownText(encoding, "contentType") : undefined,
        style: QUERY_STYLES.find((known) => known === style),
        explode: typeof explode === "boolean" ? explode : undefined,
        allowReserved: own(encoding, "allowReserved") === true ? true : undefined,
      }),
    };
    if (Object.keys(plan).length > 1) plans.push(plan);
  }
  return plans;
}

const MAX_PARTS = 50;

function propertiesOf(schema: unknown, references: References): Map<string, unknown> {
  const found = new Map<string, unknown>();
  const parts = [schema];
  for (const part of parts) {
    const followed = references.follow(part);
    for (const [name, value] of Object.entries(ownRecord(followed, "properties") ?? {})) {
      if (!found.has(name)) found.set(name, value);
    }
    const inner = ["allOf", "anyOf", "oneOf"].flatMap((key) => ownList(followed, key));
    parts.push(...inner.slice(0, MAX_PARTS - parts.length));
    if (parts.length >= MAX_PARTS) break;
  }
  return found;
}

function isFile(schema: unknown, references: References): boolean {
  const followed = references.follow(schema);
  if (followed === undefined) return false;
  const item = references.follow(own(followed, "items"));
  return [followed, item].some(
    (candidate) =>
      own(candidate, "format") === "binary" ||
      own(candidate, "type") === "file" ||
      (ownText(candidate, "contentMediaType") !== undefined &&
        own(candidate, "contentEncoding") === undefined),
  );
}
