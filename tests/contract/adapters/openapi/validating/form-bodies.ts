/** Bodies of forms as a server reads them: multipart by the platform, nested names by qs, styles by Prism. */
import { parse } from "qs";
import { bodyDeserialisers, type PrismOperation, type PrismRequest, type PrismSchema } from "./prism.ts";

export interface JudgedForm {
  mediaType: string;
  required: boolean;
  schema: PrismSchema;
  encodings: { property: string; style?: string; explode?: boolean }[];
  resolve(schema: PrismSchema | undefined): PrismSchema | undefined;
}

/** The form that the operation takes and the request has. Undefined: it is left to Prism. */
export function findForm(resource: PrismOperation, request: PrismRequest): JudgedForm | undefined {
  const sent = request.headers["content-type"]?.split(";", 1)[0];
  const body = resource.request?.body;
  const media = body?.contents?.find(({ mediaType }) => mediaType === sent);
  if (media?.schema === undefined || sent === undefined) return undefined;
  const encodings = media.encodings ?? [];
  const isNested = encodings.some(({ style }) => style === "deepObject");
  if (sent !== "multipart/form-data" && !(sent === "application/x-www-form-urlencoded" && isNested))
    return undefined;
  return {
    mediaType: sent,
    required: body?.required === true,
    schema: media.schema,
    encodings,
    resolve: (schema) =>
      schema?.$ref === undefined
        ? schema
        : resource.__bundled__?.[schema.$ref.slice("#/__bundled__/".length)],
  };
}

export async function readForm(form: JudgedForm, request: PrismRequest, raw: Buffer): Promise<object> {
  if (form.mediaType !== "multipart/form-data") {
    return parse(raw.toString(), { depth: 20, arrayLimit: 1000, parameterLimit: 10_000 });
  }
  const headers = { "content-type": request.headers["content-type"] as string };
  const parts = await new Response(new Uint8Array(raw), { headers }).formData();
  const texts: Record<string, string | string[]> = {};
  for (const name of new Set(parts.keys())) {
    const values = await Promise.all(
      parts.getAll(name).map((part) => (typeof part === "string" ? part : part.text())),
    );
    texts[name] = values.length === 1 ? (values[0] as string) : values;
  }
  return readFields(texts, form);
}

/** What the schema says of a field decides what its text is. */
function readFields(texts: Record<string, string | string[]>, form: JudgedForm): object {
  const fields: Record<string, unknown> = { ...texts };
  for (const [name, declared] of Object.entries(form.resolve(form.schema)?.properties ?? {})) {
    const schema = form.resolve(declared) ?? {};
    const encoding = form.encodings.find(({ property }) => property === name);
    const value = texts[name];
    if (encoding?.style !== undefined) {
      for (const part of Object.keys(texts)) if (part.startsWith(`${name}[`)) delete fields[part];
      fields[name] = bodyDeserialisers[encoding.style]?.(name, texts, schema, encoding.explode);
      if (fields[name] === undefined) delete fields[name];
    } else if (schema.type === "array" && value !== undefined) fields[name] = [value].flat();
    else if (schema.type === "object" && typeof value === "string") fields[name] = JSON.parse(value);
  }
  return fields;
}
