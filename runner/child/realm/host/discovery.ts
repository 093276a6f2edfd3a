/** Calls of `cyrnel` that are not tools: discovery, documentation and questions. Only known fields are sent. */

import { encodeJson } from "../json/encode.ts";
import { MAX_VALUE_DEPTH, run } from "../limits.ts";
import {
  ArrayIsArray,
  defineHidden,
  NumberIsInteger,
  RealmTypeError,
  StringOf,
  slice,
} from "../primordials.ts";
import { quote } from "../sending.ts";
import { ASK_OPTIONS, readOptions } from "./call-options.ts";
import { callHost } from "./calls.ts";

const MAX_QUERY_CHARS = 1000;
const MAX_ID_CHARS = 500;
const MAX_LIMIT = 200;
const MAX_QUESTION_CHARS = 10_000;

export function discoverServices(query?: unknown): Promise<unknown> {
  const name = "cyrnel.discoverServices";
  return callHost({ method: "discoverServices", name, encode: () => encodeQuery(name, query, false) });
}

export function discoverTools(query?: unknown): Promise<unknown> {
  const name = "cyrnel.discoverTools";
  const encode = () => encodeQuery(name, query, true);
  return callHost({ method: "discoverTools", name, encode, read: addPackages });
}

/** Adds packages to the list of tools that were found. A journal of an earlier version contains only the list. */
function addPackages(reply: unknown): unknown {
  const { tools, packages } = reply as { tools: unknown; packages: unknown };
  if (!ArrayIsArray(tools)) return reply;
  defineHidden(tools, "packages", packages);
  return tools;
}

export function getService(id: unknown): Promise<unknown> {
  const name = "cyrnel.getService";
  return callHost({ method: "getService", name, encode: () => `{"id":${readId(name, "an id", id)}}` });
}

export function getTool(id: unknown): Promise<unknown> {
  const name = "cyrnel.getTool";
  return callHost({ method: "getTool", name, encode: () => encodeToolId(name, id) });
}

export function getToolDocs(id: unknown): Promise<unknown> {
  const name = "cyrnel.getToolDocs";
  return callHost({ method: "getToolDocs", name, encode: () => encodeToolId(name, id) });
}

export function ask(request: unknown, options?: unknown): Promise<unknown> {
  const name = "cyrnel.ask";
  let signal: AbortSignal | undefined;
  const encode = () => {
    ({ signal } = readOptions(name, ASK_OPTIONS, options));
    return encodeQuestion(request);
  };
  return callHost({ method: "ask", name, encode, signal: () => signal });
}

function encodeQuestion(request: unknown): string {
  const { message, schema } = asObject("cyrnel.ask", request);
  if (typeof message !== "string" || message.length === 0 || message.length > MAX_QUESTION_CHARS) {
    throw new RealmTypeError(
      `cyrnel.ask expects {message, schema?}, message being 1 to ${StringOf(MAX_QUESTION_CHARS)} characters of text.`,
    );
  }
  if (schema === undefined) return `{"message":${quote(message)}}`;
  const limits = { name: "schema", maxDepth: MAX_VALUE_DEPTH, maxBytes: run.limits.maxMessageBytes };
  const { text, tooLarge } = encodeJson(asObject("The schema of cyrnel.ask", schema), limits);
  if (tooLarge)
    throw new RealmTypeError(`The schema of cyrnel.ask is larger than ${StringOf(limits.maxBytes)} bytes.`);
  return `{"message":${quote(message)},"schema":${text ?? "{}"}}`;
}

function encodeQuery(name: string, input: unknown, withService: boolean): string {
  if (input === undefined || input === null) return "{}";
  const { query, limit, serviceId } = typeof input === "string" ? { query: input } : asObject(name, input);
  let fields = "";
  if (query !== undefined) {
    if (typeof query !== "string" || query.length > MAX_QUERY_CHARS) {
      throw new RealmTypeError(`${name}: query is text of at most ${StringOf(MAX_QUERY_CHARS)} characters.`);
    }
    fields += `,"query":${quote(query)}`;
  }
  if (withService && serviceId !== undefined)
    fields += `,"serviceId":${readId(name, "serviceId", serviceId)}`;
  if (limit !== undefined) {
    if (typeof limit !== "number" || !NumberIsInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
      throw new RealmTypeError(`${name}: limit is a whole number from 1 to ${StringOf(MAX_LIMIT)}.`);
    }
    fields += `,"limit":${StringOf(limit)}`;
  }
  return fields === "" ? "{}" : `{${slice(fields, 1)}}`;
}

function encodeToolId(name: string, input: unknown): string {
  const { serviceId, toolId } = asObject(name, input);
  return `{"serviceId":${readId(name, "serviceId", serviceId)},"toolId":${readId(name, "toolId", toolId)}}`;
}

function readId(name: string, field: string, id: unknown): string {
  if (typeof id !== "string" || id.length === 0 || id.length > MAX_ID_CHARS) {
    throw new RealmTypeError(
      `${name} expects ${field} to be text of 1 to ${StringOf(MAX_ID_CHARS)} characters.`,
    );
  }
  return quote(id);
}

function asObject(name: string, value: unknown): Record<string, unknown> {
  if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  throw new RealmTypeError(`${name} expects an object; found ${value === null ? "null" : typeof value}.`);
}
