import { z } from "zod";
import { type Fields, isRecord, own, ownList, ownRecord, ownText } from "#kernel/foreign-json.ts";
import { toSettingsSchema } from "#modules/shared/settings.ts";
import type { JSONSchema } from "#sdk";
import { commonFields } from "../config.ts";
import type { ServerPlan } from "../domain.ts";

/** Returns the first usable server. `base` is the document's address, if known. */
export function readServer(servers: unknown, base?: string): ServerPlan | undefined {
  if (!Array.isArray(servers)) return undefined;
  const [server] = servers.filter((candidate) => ownText(candidate, "url") !== undefined);
  const url = ownText(server, "url");
  if (url === undefined) return undefined;
  const variables = variablesOf(server).map(([name, variable]) => {
    const value = own(variable, "default");
    return value === undefined || value === null ? { name } : { name, default: String(value) };
  });
  const plan = { url, ...(variables.length > 0 && { variables }) };
  return base === undefined || isAbsolute(plan) ? plan : { ...plan, base };
}

function variablesOf(server: unknown): [string, Fields][] {
  return Object.entries(ownRecord(server, "variables") ?? {}).filter((entry): entry is [string, Fields] =>
    isRecord(entry[1]),
  );
}

export function isAbsolute(server: ServerPlan): boolean {
  return /^(https?:\/\/|\{)/i.test(server.url);
}

function isKnown(server: ServerPlan): boolean {
  return isAbsolute(server) || server.base !== undefined;
}

export function describeConfig(server: ServerPlan, document: Fields, lists: unknown[]): JSONSchema {
  const { properties } = toSettingsSchema(z.object(commonFields));
  return {
    type: "object",
    properties: {
      serverUrl: describeServerUrl(server, document),
      ...Object.fromEntries(describeVariables(lists)),
      ...(properties as Record<string, JSONSchema>),
    },
    required: isKnown(server) ? [] : ["serverUrl"],
    additionalProperties: false,
  };
}

function describeServerUrl(server: ServerPlan, document: Fields): JSONSchema {
  const listed = ownList(document, "servers")
    .map((candidate) => ownText(candidate, "url"))
    .filter((url) => url !== undefined && url.length <= 200)
    .slice(0, 20);
  const known = listed.length > 1 ? ` The document lists: ${listed.join(", ")}.` : "";
  const from = server.base === undefined ? "" : ` (from ${server.base.slice(0, 500)})`;
  const description = isKnown(server)
    ? `Server for every request, instead of the document's servers. Default: ${server.url.slice(0, 500)}${from}.${known}`
    : `Server for every request. The document only contains ${JSON.stringify(server.url.slice(0, 500))}: set the complete URL, or the origin for this path.`;
  return { type: "string", pattern: "^[hH][tT][tT][pP][sS]?://", maxLength: 2000, description };
}

function describeVariables(lists: unknown[]): [string, JSONSchema][] {
  const found = new Map<string, JSONSchema>();
  for (const list of lists) {
    const [server] = Array.isArray(list)
      ? list.filter((candidate) => ownText(candidate, "url") !== undefined)
      : [];
    for (const [name, variable] of variablesOf(server)) {
      const property = `serverVar_${name}`;
      if (!found.has(property)) found.set(property, describeVariable(variable));
    }
  }
  return [...found];
}

function describeVariable(variable: Fields): JSONSchema {
  const values = ownList(variable, "enum")
    .filter((value) => typeof value !== "object")
    .map(String);
  const fallback = own(variable, "default");
  const about = [
    ownText(variable, "description"),
    fallback === undefined ? undefined : `Default: ${String(fallback)}.`,
  ].filter((text) => text !== undefined && text !== "");
  const schema: JSONSchema = { type: "string" };
  if (about.length > 0) schema.description = about.join(" ");
  if (values.length > 0) schema.enum = [...new Set(values)];
  return schema;
}
