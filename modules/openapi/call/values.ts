/**
 * Serializes parameter values with openapi-fetch (and qs for nested objects). These join names and keys unchanged, so
 * both are percent-encoded first: a script chooses keys and values, never a separator.
 */
import { serializeArrayParam, serializeObjectParam, serializePrimitiveParam } from "openapi-fetch";
import { stringify } from "qs";
import { type Fields, isRecord } from "#kernel/foreign-json.ts";
import { isRawInteger, withBigInts } from "#sdk";
import type { FieldPlan, ParameterPlan } from "../domain.ts";
import { CallError } from "../failures.ts";

type Plain = string | number | boolean;
type Encode = (text: string) => string;

/** Also encodes five characters that RFC 3986 reserves but `encodeURIComponent` leaves out. */
export function encodeText(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * Encodes as `allowReserved` asks, except for characters that would end the value: `&`, `#`, and `+`, which servers
 * read as a space.
 */
function encodeLoosely(text: string): string {
  return encodeURI(text.toWellFormed())
    .replaceAll("%5B", "[")
    .replaceAll("%5D", "]")
    .replace(/[&#+]/g, (found) => encodeURIComponent(found));
}

export function writePairs(plan: ParameterPlan | FieldPlan, value: unknown): string[] {
  const name = encodeText(plan.name);
  const encode = plan.allowReserved === true ? encodeLoosely : encodeText;
  if ("in" in plan && plan.contentType !== undefined) {
    return [serializePrimitiveParam(name, encode(writeContent(value, plan.contentType)), RAW)];
  }
  const style = (plan.style ?? "form") as "form";
  if (Array.isArray(value)) {
    if (plan.style === "deepObject") return splitPairs(writeNested(plan.name, value));
    const items = encodeItems(value, encode);
    if (items.length === 0) return [];
    // A delimiter between values requires `explode` to be off; only `form` has it on by default.
    const explode = plan.explode ?? style === "form";
    return splitPairs(serializeArrayParam(name, items as never, { style, explode, ...RAW }));
  }
  if (isRecord(value)) {
    if (plan.style === "deepObject") return splitPairs(writeNested(plan.name, value));
    const fields = encodeFields(value, encode);
    if (Object.keys(fields).length === 0) return [];
    return splitPairs(serializeObjectParam(name, fields, { style, explode: plan.explode ?? true, ...RAW }));
  }
  const text = writePlain(value);
  return text === undefined ? [] : [serializePrimitiveParam(name, encode(text), RAW)];
}

const RAW = { allowReserved: true } as const;

function writeNested(name: string, value: object): string {
  return stringify({ [name]: withBigInts(value) }, { arrayFormat: "indices", skipNulls: true });
}

/** Serializes in style `simple`. Headers are not percent-encoded. */
export function writeHeader(plan: ParameterPlan, value: unknown): string | undefined {
  return writeSimple(plan, value, (text) => text);
}

/** Serializes in style `simple`, `label` or `matrix`, percent-encoded. */
export function writeSegment(plan: ParameterPlan, value: unknown): string | undefined {
  return writeSimple(plan, value, encodeText);
}

function writeSimple(plan: ParameterPlan, value: unknown, encode: Encode): string | undefined {
  const style = (plan.style ?? "simple") as "simple";
  const options = { style, explode: plan.explode ?? false, ...RAW };
  if (plan.contentType !== undefined) return encode(writeContent(value, plan.contentType));
  if (Array.isArray(value)) {
    const items = encodeItems(value, encode);
    return items.length === 0
      ? undefined
      : serializeArrayParam(encodeText(plan.name), items as never, options);
  }
  if (isRecord(value)) {
    const fields = encodeFields(value, encode);
    return Object.keys(fields).length === 0
      ? undefined
      : serializeObjectParam(encodeText(plan.name), fields, options);
  }
  const text = writePlain(value);
  if (text === undefined) return undefined;
  if (plan.style === "matrix") return `;${serializePrimitiveParam(encodeText(plan.name), encode(text), RAW)}`;
  return plan.style === "label" ? `.${encode(text)}` : encode(text);
}

function writeContent(value: unknown, contentType: string): string {
  if (typeof value === "string" && !/json/i.test(contentType)) return value;
  return JSON.stringify(value) ?? "";
}

function encodeItems(values: unknown[], encode: Encode): string[] {
  return values
    .map(writePart)
    .filter((text) => text !== undefined)
    .map(encode);
}

function encodeFields(fields: Fields, encode: Encode): Record<string, string> {
  const written = Object.entries(fields).flatMap(([key, value]) => {
    const text = writePart(value);
    return text === undefined ? [] : [[encode(key), encode(text)] as const];
  });
  return Object.fromEntries(written);
}

function writePart(value: unknown): string | undefined {
  return isComplex(value) ? JSON.stringify(value) : writePlain(value);
}

export function writePlain(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (isPlain(value)) return String(value);
  if (isRawInteger(value)) return value.rawJSON;
  throw new CallError("invalid_parameters", `A parameter cannot be a ${typeof value}.`);
}

function isPlain(value: unknown): value is Plain {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function isComplex(value: unknown): value is object {
  return typeof value === "object" && value !== null && !isRawInteger(value);
}

function splitPairs(text: string): string[] {
  return text.split("&").filter((pair) => pair !== "");
}
