/** Sends one request and reads its response: follows redirects as the rule allows, limits the size, never retries. */
import { ReadableStream } from "node:stream/web";
import { beginBody, type IncomingBody, MAX_INLINE_BYTES } from "#kernel/incoming-body.ts";
import { limitWaits, type Timer } from "#modules/shared/limits.ts";
import type { InvokeInput, OpenStream } from "#sdk";
import { describeTransportFailure, HttpError } from "./failures.ts";
import { listShownHeaders } from "./headers.ts";
import { addressOf, type Body, type Credential, type Request, readTarget } from "./request.ts";
import type { Rule } from "./rules.ts";

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);
/** Codings that fetch decodes. If the list contains any other, it decodes nothing. */
const DECODED: ReadonlySet<string> = new Set(["gzip", "x-gzip", "deflate", "br", "zstd"]);

export interface Sending {
  fetch: typeof globalThis.fetch;
  rule: Rule;
  credential: Credential | undefined;
  warn: InvokeInput["warn"];
  maxStreamMs: number;
  /** Saves a body that is too large to be inline. If absent, every body is inline. */
  save: InvokeInput["save"];
  openStream: InvokeInput["openStream"];
  onStreaming(status: number): void;
  timer: Timer;
  signal: AbortSignal;
}

export interface Answer {
  status: number;
  statusText: string;
  headers: [string, string][];
  url: string;
  redirected: boolean;
  /** `streamed`: number of bytes that the script has read. */
  body: null | { text: string } | { base64: string } | { file: string; size: number } | { streamed: number };
}

/** @throws HttpError if there is no response, or the signal's reason on abort */
export async function send(request: Request, sending: Sending): Promise<Answer> {
  const what = nameOf(request);
  try {
    const { response, url, method, redirected } = await follow(request, sending, what);
    const head = {
      status: response.status,
      statusText: response.statusText,
      headers: listShownHeaders(response.headers),
      url: url.href,
      redirected,
    };
    return { ...head, body: await readBody(response, method, sending, what, head) };
  } catch (error) {
    sending.signal.throwIfAborted();
    throw error instanceof HttpError ? error : describeTransportFailure(error, what);
  }
}

/** Omits the query, which may be long or secret. */
export function nameOf({ method, url }: Pick<Request, "method" | "url">): string {
  return `${method} ${url.origin}${url.pathname.slice(0, 500)}`;
}

interface Followed {
  response: Response;
  url: URL;
  method: string;
  redirected: boolean;
}

/**
 * Follows redirects like the fetch standard while the rule allows the next request; otherwise returns the redirect.
 */
async function follow(request: Request, sending: Sending, what: string): Promise<Followed> {
  const { rule, credential, signal } = sending;
  const headers = new Headers(request.headers);
  let { url, method, body } = request;
  for (let redirects = 0; ; redirects += 1) {
    const response = await sending.fetch(addressOf(url, credential), {
      method,
      headers: [...headers, ...lengthOf(body)],
      redirect: "manual",
      signal,
      ...openBody(body),
    });
    const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
    if (location === null || request.redirect === "manual") {
      return { response, url, method, redirected: redirects > 0 };
    }
    if (request.redirect === "error") {
      await response.body?.cancel();
      throw new HttpError("redirected", `${what} was redirected, and the request says redirect: "error".`);
    }
    const target = rule.redirects === "none" ? null : readTarget(rule, credential, url, location);
    const next = becomesGet(response.status, method) ? "GET" : method;
    if (target === null || !(rule.methods as readonly string[]).includes(next)) {
      return { response, url, method, redirected: redirects > 0 };
    }
    await response.body?.cancel();
    if (redirects === MAX_REDIRECTS) {
      throw new HttpError("too_many_redirects", `${what} was redirected more than ${MAX_REDIRECTS} times.`);
    }
    if (next !== method) {
      method = next;
      body = undefined;
      for (const name of [...headers.keys()]) if (name.startsWith("content-")) headers.delete(name);
    }
    url = target;
  }
}

/** A known length avoids chunked encoding, which some servers reject. */
function lengthOf(body: Body | undefined): [string, string][] {
  return body !== undefined && "stream" in body ? [["content-length", String(body.size)]] : [];
}

function openBody(body: Body | undefined): RequestInit & { duplex?: "half" } {
  if (body === undefined) return {};
  return "stream" in body
    ? { body: ReadableStream.from(body.stream()) as BodyInit, duplex: "half" }
    : { body };
}

function becomesGet(status: number, method: string): boolean {
  if (status === 303) return method !== "GET" && method !== "HEAD";
  return (status === 301 || status === 302) && method === "POST";
}

async function readBody(
  response: Response,
  method: string,
  sending: Sending,
  what: string,
  head: object,
): Promise<Answer["body"]> {
  if (method === "HEAD" || WITHOUT_BODY.has(response.status)) {
    await response.body?.cancel();
    return null;
  }
  await requireDecoded(response, what);
  const { rule, save, warn, maxStreamMs, openStream } = sending;
  const { maxResponseBytes } = rule;
  const maxInline = Math.min(maxResponseBytes, MAX_INLINE_BYTES);
  const begun = await beginBody(response, openStream, maxResponseBytes);
  const { body, stream } = begun;
  try {
    if (stream !== null) {
      sending.onStreaming(response.status);
      return await pass(
        limitBytes(body, response, rule, what),
        { ...head, body: { stream: true } },
        stream,
        sending,
      );
    }
    let isWhole = begun.isWhole;
    if (begun.isEventStream) {
      isWhole ||= await body.take(maxInline, maxStreamMs);
      const message = `${what} returned an event stream that did not end: the body contains the data of the first ${maxStreamMs} ms, at most ${maxInline} bytes.`;
      if (!isWhole) warn?.({ code: "answer_odd", message });
      return encode(body.bytes().subarray(0, maxInline));
    }
    isWhole ||= await body.take(save === undefined ? maxResponseBytes : maxInline, null);
    if (isWhole) return encode(body.bytes());
    if (save === undefined || body.size > maxResponseBytes) throw tooLarge(response, rule, what);
    const type = response.headers.get("content-type") ?? "application/octet-stream";
    const { file, size } = await save(type, limitBytes(body, response, rule, what));
    return { file, size };
  } finally {
    body.close();
  }
}

/** Resolves once the script has read the complete body or closed it. */
async function pass(
  pieces: AsyncIterable<Uint8Array>,
  answer: object,
  stream: NonNullable<ReturnType<OpenStream>>,
  { timer }: Sending,
): Promise<{ streamed: number }> {
  let streamed = 0;
  const counted = async function* () {
    for await (const piece of pieces) {
      streamed += piece.byteLength;
      yield piece;
    }
  };
  await stream(answer, limitWaits(counted(), timer));
  return { streamed };
}

/** Neither redaction nor limits work on encoded bytes. */
async function requireDecoded(response: Response, what: string): Promise<void> {
  const given = response.headers.get("content-encoding") ?? "";
  const codings = given.split(",").map((coding) => coding.trim().toLowerCase());
  if (given === "" || codings.every((coding) => coding === "identity")) return;
  if (codings.every((coding) => DECODED.has(coding))) return;
  await response.body?.cancel();
  throw new HttpError(
    "unknown_coding",
    `${what} was answered in the content coding ${JSON.stringify(given)}. Expected gzip, deflate, br or zstd; others are not decoded.`,
    { status: response.status },
  );
}

/** Counts bytes after decompression, as they arrive. */
async function* limitBytes(
  body: IncomingBody,
  response: Response,
  rule: Rule,
  what: string,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of body.stream()) {
    bytes += piece.byteLength;
    if (bytes > rule.maxResponseBytes) throw tooLarge(response, rule, what);
    yield piece;
  }
}

function tooLarge({ status }: Response, { name, maxResponseBytes }: Rule, what: string): HttpError {
  return new HttpError(
    "answer_too_large",
    `${what} answered more than ${maxResponseBytes} bytes, the limit of the rule ${name} (maxResponseBytes). Ask for less, or raise the limit.`,
    { status },
  );
}

/** Prefers text, in which secrets are found; uses base64 for bytes that are not UTF-8. */
function encode(bytes: Buffer): { text: string } | { base64: string } {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { base64: bytes.toString("base64") };
  }
}
