/** Sends one request and reads its answer: redirects as the rule has it, within the bounds of size; nothing is sent twice. */
import { ReadableStream } from "node:stream/web";
import { setTimeout as sleep } from "node:timers/promises";
import { limitWaits, readFor, type Timer } from "#modules/shared/limits.ts";
import type { InvokeInput, OpenStream } from "#sdk";
import { describeTransportFailure, HttpError } from "./failures.ts";
import { listShownHeaders } from "./headers.ts";
import { addressOf, type Body, type Credential, type Request, readTarget } from "./request.ts";
import { MAX_INLINE_BYTES, type Rule } from "./rules.ts";

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);
/** A body of unknown length that has not ended by then, after the headers, is streamed. */
const STREAM_AFTER_MS = 250;
/** Codings that fetch undoes. It undoes none of a list with another among them. */
const DECODED: ReadonlySet<string> = new Set(["gzip", "x-gzip", "deflate", "br", "zstd"]);

export interface Sending {
  fetch: typeof globalThis.fetch;
  rule: Rule;
  credential: Credential | undefined;
  /** Told that an event stream went on. */
  warn: InvokeInput["warn"];
  /** How long an event stream is read. */
  maxStreamMs: number;
  /** Where a body goes that is too large for the answer; absent: into the answer. */
  save: InvokeInput["save"];
  /** How the script reads a body while it comes; absent: it cannot. */
  openStream: InvokeInput["openStream"];
  /** Told of a body that streams, with the status. */
  onStreaming(status: number): void;
  /** Ends the request. */
  timer: Timer;
  /** Aborts with the caller's wish or at the deadline. */
  signal: AbortSignal;
}

export interface Answer {
  status: number;
  statusText: string;
  headers: [string, string][];
  url: string;
  redirected: boolean;
  /** `streamed`: bytes that the script has had. */
  body: null | { text: string } | { base64: string } | { file: string; size: number } | { streamed: number };
}

/** @throws HttpError when no answer came; an abort rejects with the signal's reason. */
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

/** Without its query, which may be long. */
export function nameOf({ method, url }: Pick<Request, "method" | "url">): string {
  return `${method} ${url.origin}${url.pathname.slice(0, 500)}`;
}

interface Followed {
  response: Response;
  url: URL;
  method: string;
  redirected: boolean;
}

/** As the fetch standard follows redirects, but only where the rule allows the next request; else the redirect is the answer. */
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

/** What is streamed has a length that is known: it is not sent in chunks. */
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
  const isEventStream = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
  let stream = isEventStream ? openStream?.() : null;
  if (isEventStream && !stream) {
    const maxBytes = Math.min(rule.maxResponseBytes, MAX_INLINE_BYTES);
    const { bytes, isWhole } = await readFor(response, maxStreamMs, maxBytes);
    const message = `${what} answered with an event stream that went on: the body is what came within ${maxStreamMs} ms, at most ${maxBytes} bytes.`;
    if (!isWhole) warn?.({ code: "answer_odd", message });
    return encode(bytes);
  }
  const pieces = limitBytes(response, rule, what)[Symbol.asyncIterator]();
  /** It may fail before anyone waits for it. */
  const begin = () => {
    const next = pieces.next();
    next.catch(() => {});
    return next;
  };
  const taken: Uint8Array[] = [];
  let bytes = 0;
  let late =
    openStream && !response.headers.has("content-length")
      ? sleep(STREAM_AFTER_MS, null, { ref: false })
      : null;
  try {
    for (;;) {
      const next = begin();
      let came = stream ? null : await Promise.race(late === null ? [next] : [next, late]);
      if (came === null) stream ??= openStream?.();
      if (came === null && stream) {
        sending.onStreaming(response.status);
        return await pass(joined(taken, pieces, next), { ...head, body: { stream: true } }, stream, sending);
      }
      late = came === null ? null : late;
      came ??= await next;
      const { done, value } = came;
      if (done) return encode(Buffer.concat(taken, bytes));
      taken.push(value);
      bytes += value.byteLength;
      if (save === undefined || bytes <= MAX_INLINE_BYTES) continue;
      const type = response.headers.get("content-type") ?? "application/octet-stream";
      const { file, size } = await save(type, joined(taken, pieces, begin()));
      return { file, size };
    }
  } finally {
    // Ends the connection where the body was not read to its end.
    void pieces.return?.(undefined)?.catch(() => {});
  }
}

/** Answers once the script has had the whole body, or wants no more of it. */
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

/** In what is still encoded no secret is found, and no limit counts. */
async function requireDecoded(response: Response, what: string): Promise<void> {
  const given = response.headers.get("content-encoding") ?? "";
  const codings = given.split(",").map((coding) => coding.trim().toLowerCase());
  if (given === "" || codings.every((coding) => coding === "identity")) return;
  if (codings.every((coding) => DECODED.has(coding))) return;
  await response.body?.cancel();
  throw new HttpError(
    "unknown_coding",
    `${what} was answered in the content coding ${JSON.stringify(given)}, which was not asked for and is not decoded.`,
    { status: response.status },
  );
}

/** Counted after decompression while they come in. */
async function* limitBytes(
  response: Response,
  rule: Rule,
  what: string,
): AsyncGenerator<Uint8Array, undefined> {
  const { maxResponseBytes, name } = rule;
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxResponseBytes) {
      throw new HttpError(
        "answer_too_large",
        `${what} answered more than ${maxResponseBytes} bytes, which is what the rule ${name} allows (maxResponseBytes).`,
        { status: response.status },
      );
    }
    yield chunk;
  }
  return undefined;
}

async function* joined(
  taken: Uint8Array[],
  rest: AsyncIterator<Uint8Array, undefined>,
  begun: ReturnType<typeof rest.next>,
): AsyncGenerator<Uint8Array> {
  yield* taken.splice(0);
  for (let next = await begun; !next.done; next = await rest.next()) yield next.value;
}

/** Text where that gives the same bytes again: secrets in it are found. */
function encode(bytes: Buffer): { text: string } | { base64: string } {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { base64: bytes.toString("base64") };
  }
}
