/**
 * Writes multipart bodies like the fetch standard's `FormData`, which itself cannot take files that are read only
 * while they are sent.
 */
import { randomUUID } from "node:crypto";
import { type Fields, ownText } from "#kernel/foreign-json.ts";
import type { CallFiles } from "#sdk";
import type { BodyPlan, FieldPlan } from "../domain.ts";
import { type GivenFile, readGivenFile, type StreamedBody, safeType, type WrittenBody } from "./files.ts";
import { writePairs, writePlain } from "./values.ts";

interface Part {
  name: string;
  content: string | GivenFile["content"];
  file?: { filename: string; contentType: string };
}

export async function writeMultipart(
  plan: BodyPlan,
  fields: Fields,
  files: CallFiles | undefined,
): Promise<WrittenBody> {
  const parts: Part[] = [];
  for (const [name, value] of Object.entries(fields)) {
    const field = findField(plan, name);
    if (field.file !== true && hasStyle(field) && typeof value === "object") {
      parts.push(...writePairs(field, value).map(readPair));
      continue;
    }
    for (const item of Array.isArray(value) ? value : [value]) {
      const part = await writePart(field, plan, item, files);
      if (part !== undefined) parts.push(part);
    }
  }
  // A retry has to send the same bytes.
  const boundary = `----formdata-${randomUUID()}`;
  const isPlain = plan.contentType.toLowerCase() === "multipart/form-data";
  const type = isPlain ? "multipart/form-data" : (plan.contentType.split(";", 1)[0] as string);
  return { content: join(parts, boundary), contentType: `${type}; boundary=${boundary}` };
}

export function hasStyle({ style, explode, allowReserved }: FieldPlan): boolean {
  return style !== undefined || explode !== undefined || allowReserved !== undefined;
}

export function findField(plan: BodyPlan, name: string): FieldPlan {
  return plan.fields?.find((field) => field.name === name) ?? { name };
}

function readPair(pair: string): Part {
  const [name = "", content = ""] = pair.split(/=(.*)/s, 2).map(decodeURIComponent);
  return { name, content };
}

async function writePart(
  field: FieldPlan,
  plan: BodyPlan,
  value: unknown,
  files: CallFiles | undefined,
): Promise<Part | undefined> {
  const { name } = field;
  const isKnown = plan.fields?.includes(field) === true;
  const said = concreteType(field.contentType);
  // In a field that the document does not describe, `file` may be an ordinary member.
  const isFile = field.file === true || (!isKnown && ownText(value, "base64") !== undefined);
  const file = isFile ? await readGivenFile(value, files) : undefined;
  if (file !== undefined) {
    const contentType = file.contentType ?? said ?? file.ownType ?? "application/octet-stream";
    return { name, content: file.content, file: { filename: file.filename ?? name, contentType } };
  }
  const content = typeof value === "object" && value !== null ? JSON.stringify(value) : writePlain(value);
  if (content === undefined) return undefined;
  if (said === undefined || said.startsWith("text/plain")) return { name, content };
  return { name, content: Buffer.from(content), file: { filename: name, contentType: said } };
}

function concreteType(contentType: string | undefined): string | undefined {
  return contentType === undefined || /[*,]/.test(contentType) ? undefined : safeType(contentType);
}

function join(parts: readonly Part[], boundary: string): WrittenBody["content"] {
  const pieces = parts.flatMap((part) => [Buffer.from(writeHead(part, boundary)), toPiece(part), NEW_LINE]);
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  const inMemory = pieces.filter((piece) => piece instanceof Uint8Array);
  if (inMemory.length === pieces.length) return new Uint8Array(Buffer.concat(inMemory));
  const size = pieces.reduce((sum, piece) => sum + ("stream" in piece ? piece.size : piece.length), 0);
  async function* stream(): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) {
      if ("stream" in piece) yield* piece.stream();
      else yield piece;
    }
  }
  return { size, stream };
}

const NEW_LINE = Buffer.from("\r\n");

function toPiece({ content }: Part): Uint8Array | StreamedBody {
  return typeof content === "string" ? Buffer.from(endLines(content)) : content;
}

function writeHead({ name, file }: Part, boundary: string): string {
  const about = `--${boundary}\r\nContent-Disposition: form-data; name="${quote(endLines(name))}"`;
  if (file === undefined) return `${about}\r\n\r\n`;
  const { filename, contentType } = file;
  return `${about}; filename="${quote(filename)}"\r\nContent-Type: ${contentType.toLowerCase()}\r\n\r\n`;
}

function endLines(text: string): string {
  return text.toWellFormed().replace(/\r?\n|\r/g, "\r\n");
}

function quote(text: string): string {
  return text.toWellFormed().replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22");
}
