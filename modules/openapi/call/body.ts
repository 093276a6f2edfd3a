/** The body of a request in its media type: bytes or text, and the Content-Type that goes with them. */
import type { BodyPlan, FieldPlan } from "../domain.ts";
import { CallError } from "../failures.ts";
import { type Fields, isRecord, ownText } from "../records.ts";
import { writePairs, writePlain } from "./values.ts";

export interface WrittenBody {
  content: string | Uint8Array<ArrayBuffer>;
  contentType: string;
}

/** @throws CallError if `value` cannot be written in the media type. */
export async function writeBody(plan: BodyPlan, value: unknown): Promise<WrittenBody> {
  const { contentType } = plan;
  switch (plan.kind) {
    case "json":
      return { content: JSON.stringify(value), contentType };
    case "form":
      return { content: writeForm(plan, requireFields(value, contentType)), contentType };
    case "multipart":
      return writeMultipart(plan, requireFields(value, contentType));
    case "text":
      return { content: typeof value === "string" ? value : JSON.stringify(value), contentType };
    case "binary":
      return writeBinary(value, contentType);
  }
}

function requireFields(value: unknown, contentType: string): Fields {
  if (isRecord(value)) return value;
  throw new CallError("invalid_parameters", `A body of the type ${contentType} must be an object of fields.`);
}

function writeForm(plan: BodyPlan, fields: Fields): string {
  return Object.entries(fields)
    .flatMap(([name, value]) => {
      const field = findField(plan, name);
      // Without a style of its own, an object in a form is JSON.
      return writePairs(field, isRecord(value) && !hasStyle(field) ? JSON.stringify(value) : value);
    })
    .join("&");
}

function hasStyle({ style, explode, allowReserved }: FieldPlan): boolean {
  return style !== undefined || explode !== undefined || allowReserved !== undefined;
}

function findField(plan: BodyPlan, name: string): FieldPlan {
  return plan.fields?.find((field) => field.name === name) ?? { name };
}

/** The bytes are made by the platform, with its boundary, so that a retry sends the same ones. */
async function writeMultipart(plan: BodyPlan, fields: Fields): Promise<WrittenBody> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    const field = findField(plan, name);
    if (field.file !== true && hasStyle(field) && typeof value === "object") {
      for (const pair of writePairs(field, value)) appendPair(form, pair);
      continue;
    }
    for (const item of Array.isArray(value) ? value : [value]) appendPart(form, field, plan, item);
  }
  const written = new Response(form);
  const boundary = written.headers.get("content-type") ?? "multipart/form-data";
  const contentType =
    plan.contentType.toLowerCase() === "multipart/form-data"
      ? boundary
      : boundary.replace("multipart/form-data", plan.contentType.split(";", 1)[0] as string);
  return { content: new Uint8Array(await written.arrayBuffer()), contentType };
}

/** In a part nothing is percent-encoded. */
function appendPair(form: FormData, pair: string): void {
  const [name = "", value = ""] = pair.split(/=(.*)/s, 2).map(decodeURIComponent);
  form.append(name, value);
}

function appendPart(form: FormData, field: FieldPlan, plan: BodyPlan, value: unknown): void {
  const known = plan.fields?.includes(field) === true;
  const base64 = ownText(value, "base64");
  if (base64 !== undefined && (field.file === true || !known)) {
    const type =
      safeType(ownText(value, "contentType")) ??
      concreteType(field.contentType) ??
      "application/octet-stream";
    form.append(
      field.name,
      new Blob([readBase64(base64)], { type }),
      ownText(value, "filename") ?? field.name,
    );
    return;
  }
  const text = typeof value === "object" && value !== null ? JSON.stringify(value) : writePlain(value);
  if (text === undefined) return;
  const type = concreteType(field.contentType);
  if (type === undefined || type.startsWith("text/plain")) form.append(field.name, text);
  else form.append(field.name, new Blob([text], { type }), field.name);
}

/** An `encoding` may name several types or a range: then none is certain. */
function concreteType(contentType: string | undefined): string | undefined {
  return contentType === undefined || /[*,]/.test(contentType) ? undefined : safeType(contentType);
}

/** A media type that can stand in a header as it is. */
function safeType(contentType: string | undefined): string | undefined {
  if (contentType === undefined || contentType.length > 200) return undefined;
  return /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(;[\x20-\x7e]*)?$/.test(contentType) ? contentType : undefined;
}

function writeBinary(value: unknown, contentType: string): WrittenBody {
  if (typeof value === "string") return { content: value, contentType };
  const base64 = ownText(value, "base64");
  if (base64 === undefined) {
    throw new CallError(
      "invalid_parameters",
      `A body of the type ${contentType} must be a text or {base64: "…"}.`,
    );
  }
  const given = safeType(ownText(value, "contentType"));
  return {
    content: readBase64(base64),
    contentType: contentType === "application/octet-stream" && given !== undefined ? given : contentType,
  };
}

function readBase64(text: string): Uint8Array<ArrayBuffer> {
  if (!/^[A-Za-z0-9+/_\s-]*={0,2}\s*$/.test(text)) {
    throw new CallError("invalid_parameters", "A file's base64 holds a character that base64 does not have.");
  }
  return new Uint8Array(Buffer.from(text, "base64"));
}
