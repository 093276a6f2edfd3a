/** Turns a definition into a service: each rule is a tool that makes the matching `fetch` requests. */
import { z } from "zod";
import { toSettingsSchema } from "#modules/shared/settings.ts";
import type { JSONSchema, ServiceDefinition, ToolDefinition } from "#sdk";
import { isDestructive, type Rule, readDefinition } from "./rules.ts";
import { describeRule } from "./sentences.ts";

const MAX_URL_CHARACTERS = 16_384;
export const MAX_HEADERS = 200;

export const configSchema = z.strictObject({
  timeoutMs: z
    .int()
    .min(1)
    .max(600_000)
    .default(30_000)
    .describe("Time limit of one request in milliseconds, including redirects and the answer's body."),
  maxStreamMs: z
    .int()
    .min(1)
    .max(600_000)
    .default(10_000)
    .describe(
      "How long to read an event stream, in milliseconds. What has arrived by then is the body, and the run gets a warning.",
    ),
});

/** Redaction does not search for shorter credentials. */
export const MIN_CREDENTIAL_CHARACTERS = 8;
const secretText = z.string().min(MIN_CREDENTIAL_CHARACTERS).max(8192);
/** One of the two may be empty: some servers take a key as the user name, without a password. */
const basicSchema = z.strictObject({ username: z.string().max(1000), password: z.string().max(8192) });

/** One optional secret per rule, under the rule's name. A rule without its secret makes no request. */
export function secretsSchemaOf(rules: readonly Rule[]) {
  const fields = rules.flatMap(({ name, auth }) =>
    auth === undefined
      ? []
      : [[name, (auth.type === "basic" ? basicSchema : secretText).optional()] as const],
  );
  return z.strictObject(Object.fromEntries(fields));
}

/** @throws DefinitionError */
export function define(text: string): ServiceDefinition {
  const { name, description, rules } = readDefinition(text);
  return {
    name,
    description:
      description ?? `${rules.length === 1 ? "One rule" : `${rules.length} rules`} for the fetch of scripts.`,
    configSchema: toSettingsSchema(configSchema),
    secretsSchema: toSettingsSchema(secretsSchemaOf(rules)),
    adapterDomain: { version: 1 },
    tools: rules.map(toTool),
  };
}

function toTool(rule: Rule): ToolDefinition {
  // Separate, so that editing the description does not count as changing what is allowed.
  const { description, ...allowed } = rule;
  const sentences = describeRule(rule).join(" ");
  return {
    id: rule.name,
    name: `fetch: ${rule.methods.join(", ")} ${rule.origins[0]}${rule.pathPrefix}${rule.origins.length > 1 ? " …" : ""}`,
    // Quoted and last, so that it can neither pass for one of our sentences nor hide them.
    description:
      description === undefined
        ? sentences
        : `${sentences}\n\nIts author says: ${JSON.stringify(description.trim())}`,
    inputSchema: inputSchemaOf(rule),
    outputSchema: OUTPUT_SCHEMA,
    destructive: isDestructive(rule),
    adapterDomain: allowed,
    fetch: { origins: rule.origins, pathPrefix: rule.pathPrefix, methods: rule.methods },
  };
}

const pair = { type: "array", items: { type: "string" }, minItems: 2, maxItems: 2 };

function inputSchemaOf({ methods }: Rule): JSONSchema {
  return {
    type: "object",
    properties: {
      url: { type: "string", maxLength: MAX_URL_CHARACTERS, description: "Absolute." },
      method: {
        enum: methods,
        ...(methods.includes("GET") && { description: "GET if absent.", default: "GET" }),
      },
      headers: { type: "array", items: pair, maxItems: MAX_HEADERS, description: "Names and values." },
      body: {
        description: "Text, bytes in base64, or the name of a file of the workspace.",
        oneOf: [{ type: "string" }, bodyOf("base64"), bodyOf("file")],
      },
      redirect: {
        enum: ["follow", "manual", "error"],
        description:
          "How to treat a redirect. `follow` (default) follows it as far as the rule allows; otherwise it is the answer.",
      },
    },
    required: methods.includes("GET") ? ["url"] : ["url", "method"],
    additionalProperties: false,
  };
}

function bodyOf(member: "base64" | "file"): JSONSchema {
  return {
    type: "object",
    properties: { [member]: { type: "string" } },
    required: [member],
    additionalProperties: false,
  };
}

const OUTPUT_SCHEMA: JSONSchema = {
  type: "object",
  properties: {
    status: { type: "integer" },
    statusText: { type: "string" },
    headers: { type: "array", items: pair },
    url: { type: "string", description: "After redirects." },
    redirected: { type: "boolean" },
    body: {
      description:
        "`text` if the bytes are UTF-8, else `base64`; `file` if they were saved to the workspace.",
      oneOf: [
        { type: "null" },
        { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        { type: "object", properties: { base64: { type: "string" } }, required: ["base64"] },
        {
          type: "object",
          properties: { file: { type: "string" }, size: { type: "integer" } },
          required: ["file", "size"],
        },
      ],
    },
  },
  required: ["status", "statusText", "headers", "url", "redirected", "body"],
};
