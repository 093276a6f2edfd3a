import { type CallToolResult, ContentBlockSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { quoteForeign } from "#modules/shared/failures.ts";
import { isJsonObject, type JSONSchema, parseExactJson } from "#sdk";
import { fitsOutline, type ToolDomain } from "../definition.ts";
import { McpFailure } from "../failures.ts";
import { withoutNulls } from "./message.ts";

/** Accepts anything: the call was made, so its response is returned in any form. */
export const callAnswerSchema = z.looseObject({
  content: z.unknown().optional(),
  structuredContent: z.unknown().optional(),
  isError: z.unknown().optional(),
});
export type CallAnswer = z.infer<typeof callAnswerSchema>;

type Block = CallToolResult["content"][number];

/**
 * Returns structured content unchanged, or else the content: text as a string, other kinds as objects with `type`; a
 * single piece by itself, several as an array, none as null. Calls `warn` for a deviation from the protocol. @throws
 * McpFailure `mcp_tool_error` with the tool's own message if the response reports an error
 */
export function readAnswer(
  answer: CallAnswer,
  { structured: promisesStructure, outline = { types: ["object"] } }: Omit<ToolDomain, "name">,
  warn: (message: string) => void,
): unknown {
  const { structuredContent = null } = answer;
  const content = (Array.isArray(answer.content) ? answer.content : [answer.content]).filter(
    (block) => block !== undefined && block !== null,
  );
  const blocks = content.map((block) => ContentBlockSchema.safeParse(withoutNulls(block)));
  const texts = blocks.flatMap(({ data }) => (data?.type === "text" ? [data.text] : []));
  if (answer.isError === true) {
    throw new McpFailure(
      "mcp_tool_error",
      quoteForeign(texts.join("\n")) || "The tool failed and gave no reason.",
    );
  }
  const isPromised =
    promisesStructure && structuredContent !== null && fitsOutline(structuredContent, outline);
  if (isJsonObject(structuredContent) || isPromised) return structuredContent;
  const isOdd = structuredContent !== null;
  if (promisesStructure || isOdd) {
    const found = isOdd
      ? "structured content that is neither an object nor of the promised type"
      : "no structured content, which its tool promises";
    const parsed = texts.length === 1 ? parseFitting(texts[0] as string, outline) : undefined;
    warn(
      `The server's answer has ${found}: ${parsed !== undefined ? "its text was read as JSON" : "what came is the result"}.`,
    );
    if (parsed !== undefined) return parsed;
    if (isOdd) return structuredContent;
  }
  if (blocks.some(({ success }) => !success)) {
    warn(
      "The server's response has content of a kind that the protocol does not define: it is returned unchanged.",
    );
  }
  const values = blocks.map(({ data }, index) => (data === undefined ? content[index] : readBlock(data)));
  return values.length > 1 ? values : (values[0] ?? null);
}

function parseFitting(text: string, outline: NonNullable<ToolDomain["outline"]>): unknown {
  try {
    const value = parseExactJson(text);
    return fitsOutline(value, outline) ? value : undefined;
  } catch {
    return undefined;
  }
}

function readBlock(block: Block): unknown {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return { type: block.type, mimeType: block.mimeType, base64: block.data };
    case "resource": {
      const { uri, mimeType } = block.resource;
      const body = "text" in block.resource ? { text: block.resource.text } : { base64: block.resource.blob };
      return { type: "resource", uri, ...(mimeType === undefined ? {} : { mimeType }), ...body };
    }
    case "resource_link": {
      const { uri, name, description, mimeType } = block;
      return {
        type: "resource_link",
        uri,
        name,
        ...(description === undefined ? {} : { description }),
        ...(mimeType === undefined ? {} : { mimeType }),
      };
    }
  }
}

const BASE64 = { type: "string", contentEncoding: "base64" };
const TEXT: JSONSchema = { type: "string" };
const media = (type: string): JSONSchema => ({
  type: "object",
  properties: { type: { const: type }, mimeType: TEXT, base64: BASE64 },
  required: ["type", "mimeType", "base64"],
});
const block: JSONSchema[] = [
  TEXT,
  media("image"),
  media("audio"),
  {
    type: "object",
    properties: { type: { const: "resource" }, uri: TEXT, mimeType: TEXT, text: TEXT, base64: BASE64 },
    required: ["type", "uri"],
  },
  {
    type: "object",
    properties: {
      type: { const: "resource_link" },
      uri: TEXT,
      name: TEXT,
      description: TEXT,
      mimeType: TEXT,
    },
    required: ["type", "uri", "name"],
  },
];

/** Schema of `readAnswer`'s result for unstructured content. */
export const CONTENT_SCHEMA: JSONSchema = {
  description: "Text as a string; several pieces of content as an array; null when there is none.",
  anyOf: [...block, { type: "array", items: { anyOf: block } }, { type: "null" }],
};
