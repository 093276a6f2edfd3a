import { type Fields, isRecord } from "#kernel/foreign-json.ts";
import type { CallFiles } from "#sdk";
import type { BodyPlan } from "../domain.ts";
import { CallError } from "../failures.ts";
import { readGivenFile, type WrittenBody } from "./files.ts";
import { findField, hasStyle, writeMultipart } from "./multipart.ts";
import { writePairs } from "./values.ts";

export async function writeBody(
  plan: BodyPlan,
  value: unknown,
  files: CallFiles | undefined,
): Promise<WrittenBody> {
  const { contentType } = plan;
  switch (plan.kind) {
    case "json":
      return { content: JSON.stringify(value), contentType };
    case "form":
      return { content: writeForm(plan, requireFields(value, contentType)), contentType };
    case "multipart":
      return writeMultipart(plan, requireFields(value, contentType), files);
    case "text":
      return { content: typeof value === "string" ? value : JSON.stringify(value), contentType };
    case "binary":
      return writeBinary(value, contentType, files);
  }
}

function requireFields(value: unknown, contentType: string): Fields {
  if (isRecord(value)) return value;
  throw new CallError("invalid_parameters", `A body of type ${contentType} must be an object of fields.`);
}

function writeForm(plan: BodyPlan, fields: Fields): string {
  return Object.entries(fields)
    .flatMap(([name, value]) => {
      const field = findField(plan, name);
      // An object in a form is JSON unless it declares a style.
      return writePairs(field, isRecord(value) && !hasStyle(field) ? JSON.stringify(value) : value);
    })
    .join("&");
}

async function writeBinary(
  value: unknown,
  contentType: string,
  files: CallFiles | undefined,
): Promise<WrittenBody> {
  if (typeof value === "string") return { content: value, contentType };
  const given = await readGivenFile(value, files);
  if (given === undefined) {
    throw new CallError(
      "invalid_parameters",
      `A body of type ${contentType} must be a string, {base64: "…"} or {file: "…"}.`,
    );
  }
  const said = given.contentType ?? given.ownType;
  const isOpen = contentType === "application/octet-stream" && said !== undefined;
  return { content: given.content, contentType: isOpen ? said : contentType };
}
