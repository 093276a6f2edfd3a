/**
 * One request from a rule and a script's parameters: its URL, headers, credential and body. Whoever calls the tool, by `fetch`
 * or by its name: what the rule does not allow is refused here.
 */
import { findMisfit, isBelow, readRequestUrl } from "#modules/shared/fetch-scope.ts";
import type { CallFiles, FileContent } from "#sdk";
import { MAX_HEADERS } from "./definition.ts";
import { HttpError } from "./failures.ts";
import { findScriptHeaderProblem, foldHeader } from "./headers.ts";
import type { Rule } from "./rules.ts";
import { listWords } from "./sentences.ts";

/** What a rule's secret puts on each request. */
export type Credential = { header: [name: string, value: string] } | { query: [name: string, value: string] };

export type Redirect = "follow" | "manual" | "error";
/** A file is opened anew for each request. */
export type Body = Uint8Array<ArrayBuffer> | Pick<FileContent, "size" | "stream">;

export interface Request {
  /** Without the credential. */
  url: URL;
  method: string;
  headers: Headers;
  body: Body | undefined;
  redirect: Redirect;
}

/** @throws HttpError naming what cannot be sent; as `open` of the host, where there is no such file */
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
  const misfit = findMisfit(rule, url, method);
  if (misfit !== null) throw refuse(describeMisfit(rule, url, method, misfit));
  if (credential !== undefined && "query" in credential && hasParameter(url, credential.query[0])) {
    throw refuse(`The parameter ${credential.query[0]} of the URL is the rule's and cannot be set.`);
  }
  const body = given === undefined ? undefined : await readBody(given, files);
  if (body !== undefined && (method === "GET" || method === "HEAD"))
    throw refuse(`A ${method} request has no body.`);
  const size = sizeOf(body);
  if (size > rule.maxRequestBytes) {
    throw new HttpError(
      "request_too_large",
      `The body has ${size} bytes; the rule ${rule.name} allows ${rule.maxRequestBytes} (maxRequestBytes).`,
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

/** Where a redirect leads, if the rule allows that request as well; null: it is shown to the script. */
export function readTarget(
  rule: Rule,
  credential: Credential | undefined,
  from: URL,
  location: string,
): URL | null {
  const resolved = URL.parse(location, from);
  const read = resolved === null ? null : readRequestUrl(resolved.href);
  if (read === null || "problem" in read || read.url.origin !== from.origin) return null;
  // A server may repeat the parameter of the credential, which is put there once.
  if (credential !== undefined && "query" in credential) removeParameter(read.url, credential.query[0]);
  return isBelow(read.url.pathname, rule.pathPrefix) ? read.url : null;
}

/** What is sent. */
export function addressOf(url: URL, credential: Credential | undefined): string {
  if (credential === undefined || !("query" in credential)) return url.href;
  const [name, value] = credential.query;
  const pair = `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
  const sent = new URL(url);
  sent.search = sent.search === "" ? pair : `${sent.search}&${pair}`;
  return sent.href;
}

function describeMisfit(rule: Rule, url: URL, method: string, misfit: "origin" | "path" | "method"): string {
  const { name } = rule;
  switch (misfit) {
    case "origin":
      return `${url.origin} is not an origin of the rule ${name}, which is for ${listWords(rule.origins, "and")}.`;
    case "path":
      return `The path ${url.pathname.slice(0, 200)} is not below ${rule.pathPrefix}, which the rule ${name} is for.`;
    case "method":
      return `The method ${method.slice(0, 50)} is not allowed by the rule ${name}, which allows ${listWords(rule.methods, "and")}.`;
  }
}

function makeHeaders(rule: Rule, credential: Credential | undefined, given: [string, string][]): Headers {
  const headers = new Headers();
  if (given.length > MAX_HEADERS) throw refuse(`A request has at most ${MAX_HEADERS} headers.`);
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
      throw refuse("The body's base64 holds a character that base64 does not have.");
    }
    return new Uint8Array(Buffer.from(base64, "base64"));
  }
  if (files === undefined) {
    throw refuse(
      "A file of the workspace can be sent by the call of a script only. Send its bytes as {base64}.",
    );
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

/** Some servers part a query at semicolons too. */
function listPairs(url: URL): string[] {
  return url.search.slice(1).split(/[&;]/);
}

/** As servers read it, most of them without a difference of case or `name[]`. */
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
