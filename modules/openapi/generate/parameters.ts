import { defined, type Fields, isRecord, own, ownList, ownRecord, ownText } from "#kernel/foreign-json.ts";
import type { JSONSchema } from "#sdk";
import { PATH_STYLES, type ParameterPlace, type ParameterPlan, QUERY_STYLES, SLOTS } from "../domain.ts";
import { addNote } from "./schemas/keywords.ts";
import type { References } from "./schemas/references.ts";
import type { SchemaTable } from "./schemas/schema-table.ts";

/** Headers that OpenAPI describes elsewhere in the document, or that belong to the connection. */
const UNUSED_HEADERS = new Set([
  "accept",
  "content-type",
  "authorization",
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "upgrade",
  "expect",
]);

export interface Parameters {
  plans: ParameterPlan[];
  slots: Partial<Record<(typeof SLOTS)[ParameterPlace], JSONSchema>>;
  required: string[];
}

/** Returns whether credentials set the parameter, so that callers cannot. */
export type TakenByCredentials = (place: ParameterPlace, name: string) => boolean;

export function readParameters(
  path: string,
  declared: unknown[],
  taken: TakenByCredentials,
  table: SchemaTable,
  references: References,
): Parameters {
  const inTemplate = new Set([...path.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name as string));
  const found = new Map<string, Fields>();
  for (const value of declared) {
    const parameter = references.follow(value);
    const place = ownText(parameter, "in");
    const name = ownText(parameter, "name");
    if (parameter === undefined || name === undefined || !isPlace(place)) continue;
    if (place === "header" && UNUSED_HEADERS.has(name.toLowerCase())) continue;
    if (place === "path" ? !inTemplate.has(name) : taken(place, name)) continue;
    found.set(`${place} ${name}`, parameter);
  }
  for (const name of inTemplate) {
    if (!found.has(`path ${name}`)) {
      found.set(`path ${name}`, { name, in: "path", required: true, schema: { type: "string" } });
    }
  }
  const parameters: Parameters = { plans: [], slots: {}, required: [] };
  for (const parameter of found.values()) addParameter(parameters, parameter, table);
  for (const slot of Object.values(parameters.slots)) {
    if (isFilledByDefaults(slot)) slot.default = {};
  }
  return parameters;
}

function isPlace(place: string | undefined): place is ParameterPlace {
  return place !== undefined && Object.hasOwn(SLOTS, place);
}

function addParameter(parameters: Parameters, parameter: Fields, table: SchemaTable): void {
  const name = ownText(parameter, "name") as string;
  const place = ownText(parameter, "in") as ParameterPlace;
  const [contentType, content] = Object.entries(ownRecord(parameter, "content") ?? {})[0] ?? [];
  const source = own(parameter, "schema") ?? own(content, "schema");
  parameters.plans.push(planParameter(parameter, place, name, contentType));

  const slotName = SLOTS[place];
  const slot = parameters.slots[slotName] ?? { type: "object", properties: {}, additionalProperties: false };
  parameters.slots[slotName] = slot;
  const required = place === "path" || own(parameter, "required") === true;
  const schema = describeParameter(parameter, place, source, required, table);
  Object.defineProperty(slot.properties, name, { value: schema, enumerable: true, configurable: true });
  if (!required) return;
  slot.required = [...((slot.required as string[] | undefined) ?? []), name];
  if (!parameters.required.includes(slotName)) parameters.required.push(slotName);
}

function planParameter(
  parameter: Fields,
  place: ParameterPlace,
  name: string,
  contentType: string | undefined,
): ParameterPlan {
  const style = ownText(parameter, "style");
  const explode = own(parameter, "explode");
  const usual = place === "query" || place === "cookie" ? "form" : "simple";
  const allowed: readonly string[] = place === "query" ? QUERY_STYLES : place === "path" ? PATH_STYLES : [];
  return {
    in: place,
    name,
    ...defined({
      style: style !== usual && allowed.includes(style ?? "") ? (style as ParameterPlan["style"]) : undefined,
      explode: typeof explode === "boolean" ? explode : undefined,
      allowReserved: place === "query" && own(parameter, "allowReserved") === true ? true : undefined,
      contentType,
    }),
  };
}

/**
 * Keeps the default of a required parameter, which the host fills in. Any other default is for the server to assume.
 */
function describeParameter(
  parameter: Fields,
  place: ParameterPlace,
  source: unknown,
  required: boolean,
  table: SchemaTable,
): JSONSchema {
  const converted = table.convert(source);
  const schema: JSONSchema = isRecord(converted) ? { ...converted } : {};
  const description = ownText(parameter, "description");
  if (description !== undefined && description !== "") {
    const notes = typeof schema.description === "string" ? schema.description : "";
    schema.description = description;
    if (notes !== "" && !description.includes(notes)) addNote(schema, notes);
  }
  if (own(parameter, "deprecated") === true) schema.deprecated = true;
  if (required) requireContent(schema, place);
  const fallback = own(source, "default");
  if (required && isPlainValue(fallback)) schema.default = fallback;
  const example = own(parameter, "example");
  if (schema.examples === undefined && isPlainValue(example)) schema.examples = [example];
  return schema;
}

/** Empty lists and objects, and empty text in a path, would not be sent, so the schema requires content. */
function requireContent(schema: JSONSchema, place: ParameterPlace): void {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  if (types.includes("array")) schema.minItems = Math.max(1, (schema.minItems as number | undefined) ?? 0);
  if (types.includes("object"))
    schema.minProperties = Math.max(1, (schema.minProperties as number | undefined) ?? 0);
  if (place !== "path" || !types.includes("string")) return;
  schema.minLength = Math.max(1, (schema.minLength as number | undefined) ?? 0);
}

function isPlainValue(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** The slot is optional if every required parameter in it has a default. */
function isFilledByDefaults(slot: JSONSchema): boolean {
  const names = ownList(slot, "required") as string[];
  return (
    names.length > 0 && names.every((name) => own(ownRecord(slot.properties, name), "default") !== undefined)
  );
}
