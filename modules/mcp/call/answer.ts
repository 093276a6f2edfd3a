/** A server's answer to a call as the value a script gets. */
import { type CallToolResult, CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import type { z } from "zod";
import { quoteForeign } from "#modules/shared/failures.ts";
import type { JSONSchema } from "#sdk";
import { McpFailure } from "../failures.ts";

// The library's type follows its own zod; the schema is the same.
export const callAnswerSchema = CallToolResultSchema as unknown as z.ZodType<CallToolResult>;

type Block = CallToolResult["content"][number];

/**
 * Structured content as it is. Else the content: text as a string, other kinds as objects with `type`; one piece
 * by itself, several as an array, none as null.
 * @throws McpFailure `mcp_tool_error` with the tool's own words when the answer says that it failed.
 */
export function readAnswer(answer: CallToolResult, promisesStructure: boolean): unknown {
  const { content = [], structuredContent } = answer;
  if (answer.isError) {
    const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    throw new McpFailure("mcp_tool_error", quoteForeign(text) || "The tool failed and gave no reason.");
  }
  if (structuredContent !== undefined) return structuredContent;
  if (promisesStructure) {
    throw new McpFailure(
      "mcp_bad_answer",
      "The server has declared an outputSchema for this tool and answered without structured content.",
    );
  }
  const values = content.map(readBlock);
  return values.length > 1 ? values : (values[0] ?? null);
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

/** What `readAnswer` makes of content that is not structured. */
export const CONTENT_SCHEMA: JSONSchema = {
  description: "Text as a string; several pieces of content as an array; null when there is none.",
  anyOf: [...block, { type: "array", items: { anyOf: block } }, { type: "null" }],
};
