/**
 * Builds one request from a rule and a script's parameters, and rejects what the rule does not allow: callers may
 * name the tool directly, without `fetch`.
 */
import { findMismatch, isBelow, readRequestUrl } from "#modules/shared/fetch-scope.ts";
import type { CallFiles, FileContent } from "#sdk";
import { MAX_HEADERS } from "./definition.ts";
import { HttpError } from "./failures.ts";
import { findScriptHeaderProblem, foldHeader } from "./headers.ts";
import type { Rule } from "./rules.ts";
import { listWords } from "./sentences.ts";

export type Credential = { header: [name: string, value: string] } | { query: [name: string, value: string] };

export type Redirect = "follow" | "manual" | "error";
export type Body = Uint8Array<ArrayBuffer> | Pick<FileContent, "size" | "stream">;

export interface Request {
  /** Does not contain the credential. */
  url: URL;
  method: string;
  headers: Headers;
  body: Body | undefined;
  redirect: Redirect;
}

/** @throws HttpError that names what cannot be sent, or the host's error if a file does not exist */
export async function prepareRequest(
  rule: Rule,
  credential: Credential | undefined,
  parameters: Record<string, unknown>,
  files: CallFiles | undefined,
): Promise<Request> {
  const { url: text, method: said, headers = [], body: given, redirect = "follow" } = parameters;
  const method = typeof said === "string" ? said.toUpperCase() : "GET";
  const read = readRequestUrl(String(text));
  if ("problem" in read) throw refuse(`The URL ${read.problem}.`);
  const { url } = read;
  const misfit = findMismatch(rule, url, method);
  if (misfit !== null) throw refuse(describeMismatch(rule, url, method, misfit));
  if (credential !== undefined && "query" in credential && hasParameter(url, credential.query[0])) {
    throw refuse(`The URL parameter ${credential.query[0]} is the rule's credential and cannot be set.`);
  }
  const body = given === undefined ? undefined : await readBody(given, files);
  if (body !== undefined && (method === "GET" || method === "HEAD"))
    throw refuse(`A ${method} request cannot have a body.`);
  const size = sizeOf(body);
  if (size > rule.maxRequestBytes) {
    throw new HttpError(
      "request_too_large",
      `The body is ${size} bytes; the limit of the rule ${rule.name} is ${rule.maxRequestBytes} (maxRequestBytes).`,
    );
  }
  return {
    url,
    method,
    headers: makeHeaders(rule, credential, headers as [string, string][]),
    body,
    redirect: redirect as Redirect,
  };
}

export function sizeOf(body: Body | undefined): number {
  if (body === undefined) return 0;
  return "stream" in body ? body.size : body.byteLength;
}

/** Returns the redirect target, or null if the rule does not allow that request. */
export function readTarget(
  rule: Rule,
  credential: Credential | undefined,
  from: URL,
  location: string,
): URL | null {
  const resolved = URL.parse(location, from);
  const read = resolved === null ? null : readRequestUrl(resolved.href);
  if (read === null || "problem" in read || read.url.origin !== from.origin) return null;
  // The server may repeat the credential, which is added again when the request is sent.
  if (credential !== undefined && "query" in credential) removeParameter(read.url, credential.query[0]);
  return isBelow(read.url.pathname, rule.pathPrefix) ? read.url : null;
}

export function addressOf(url: URL, credential: Credential | undefined): string {
  if (credential === undefined || !("query" in credential)) return url.href;
  const [name, value] = credential.query;
  const pair = `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
  const sent = new URL(url);
  sent.search = sent.search === "" ? pair : `${sent.search}&${pair}`;
  return sent.href;
}

function describeMismatch(
  rule: Rule,
  url: URL,
  method: string,
  misfit: "origin" | "path" | "method",
): string {
  const { name } = rule;
  switch (misfit) {
    case "origin":
      return `${url.origin} is not an origin of the rule ${name}, which allows ${listWords(rule.origins, "and")}.`;
    case "path":
      return `The path ${url.pathname.slice(0, 200)} is not below ${rule.pathPrefix}, the prefix of the rule ${name}.`;
    case "method":
      return `The method ${method.slice(0, 50)} is not allowed by the rule ${name}, which allows ${listWords(rule.methods, "and")}.`;
  }
}

function makeHeaders(rule: Rule, credential: Credential | undefined, given: [string, string][]): Headers {
  const headers = new Headers();
  if (given.length > MAX_HEADERS)
    throw refuse(`The request has ${given.length} headers; the limit is ${MAX_HEADERS}.`);
  const own = credential !== undefined && "header" in credential ? foldHeader(credential.header[0]) : null;
  const fixed = new Set(Object.keys(rule.headers).map(foldHeader));
  for (const [name, value] of given) {
    const key = foldHeader(name);
    if (key === own) throw refuse(`The header ${name} is the rule's credential and cannot be set.`);
    const problem = findScriptHeaderProblem(name, value, credential !== undefined);
    if (problem !== null) throw refuse(capitalize(problem));
    if (!fixed.has(key)) headers.append(name, value);
  }
  for (const [name, value] of Object.entries(rule.headers)) headers.set(name, value);
  if (credential !== undefined && "header" in credential) headers.set(...credential.header);
  return headers;
}

async function readBody(given: unknown, files: CallFiles | undefined): Promise<Body> {
  if (typeof given === "string") return new Uint8Array(Buffer.from(given));
  const { base64, file } = given as { base64?: string; file?: string };
  if (base64 !== undefined) {
    if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/.test(base64)) {
      throw refuse("The body's base64 has a character that is not base64.");
    }
    return new Uint8Array(Buffer.from(base64, "base64"));
  }
  if (files === undefined) {
    throw refuse("Only a script can send a file of its workspace. Send the bytes as {base64}.");
  }
  return files.open(String(file));
}

function hasParameter(url: URL, name: string): boolean {
  return listPairs(url).some((pair) => nameOf(pair) === name.toLowerCase());
}

function removeParameter(url: URL, name: string): void {
  const kept = listPairs(url).filter((pair) => nameOf(pair) !== name.toLowerCase());
  if (kept.length < listPairs(url).length) url.search = kept.join("&");
}

/** Some servers also split a query at semicolons. */
function listPairs(url: URL): string[] {
  return url.search.slice(1).split(/[&;]/);
}

/** Most servers ignore case and a suffix such as `[]`. */
function nameOf(pair: string): string {
  const [name] = [...new URLSearchParams(pair).keys()];
  return (name ?? "").trim().replace(/\[.*$/s, "").toLowerCase();
}

function refuse(message: string): HttpError {
  return new HttpError("invalid_parameters", message);
}

function capitalize(text: string): string {
  return text.replace(/^t/, "T");
}
