/** Sends a request and reads its response: redirects within the origin, GET retries, one deadline for everything. */
import { ReadableStream } from "node:stream/web";
import { setTimeout as wait } from "node:timers/promises";
import type { InvokeInput } from "#sdk";
import { CallError, describeTransportFailure, isConnectionReset } from "../failures.ts";
import { type Answer, type Reading, readAnswer, saveAnswer } from "./answer.ts";
import type { StreamedBody, WrittenBody } from "./files.ts";
import { nameOf, type PreparedRequest, urlOf } from "./request.ts";

const LIMITS = { maxAttempts: 3, maxRedirects: 5, resetPauseMs: 100 } as const;

export interface Sending extends Reading {
  fetch: typeof globalThis.fetch;
  save: InvokeInput["save"];
  signal: AbortSignal;
  remainingMs(): number;
}

/** @throws CallError if there is no response; an abort rejects with the signal's reason */
export async function send(request: PreparedRequest, sending: Sending): Promise<Answer> {
  const what = nameOf(request);
  for (let attempt = 1; ; attempt += 1) {
    const mayRetry = request.method === "GET" && attempt < LIMITS.maxAttempts;
    try {
      const response = await follow(request, sending, what);
      const pauseMs = mayRetry && response.status === 503 ? readRetryAfter(response) : undefined;
      if (pauseMs === undefined || pauseMs >= sending.remainingMs()) {
        return await (sending.save !== undefined && response.ok
          ? saveAnswer(response, sending.save)
          : readAnswer(response, { ...sending, maxStreamMs: limitStream(sending) }, what));
      }
      await response.body?.cancel();
      await wait(pauseMs, undefined, { signal: sending.signal });
    } catch (error) {
      sending.signal.throwIfAborted();
      if (error instanceof CallError) throw error;
      if (!mayRetry || !isConnectionReset(error)) throw describeTransportFailure(error, what);
      await wait(LIMITS.resetPauseMs * attempt, undefined, { signal: sending.signal });
    }
  }
}

/** Time after which a stream ends, early enough to return its beginning before the deadline. */
function limitStream({ maxStreamMs, remainingMs }: Sending): number {
  return Math.min(maxStreamMs, remainingMs() * 0.9);
}

function readRetryAfter(response: Response): number | undefined {
  const value = response.headers.get("retry-after")?.trim();
  if (value === undefined || value === "") return undefined;
  const pauseMs = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(pauseMs) ? undefined : Math.max(0, pauseMs);
}

/**
 * Follows redirects within the origin, like the fetch standard. Returns a redirect to another origin as the response:
 * no request goes there, least of all with credentials.
 */
async function follow(request: PreparedRequest, sending: Sending, what: string): Promise<Response> {
  let url = new URL(urlOf(request));
  let { method } = request;
  let body = request.body?.content;
  const headers = new Headers(request.headers);
  if (request.cookies.length > 0) {
    const before = headers.get("cookie");
    headers.set("cookie", [...(before === null ? [] : [before]), ...request.cookies].join("; "));
  }
  if (isStreamed(body)) headers.set("content-length", String(body.size));
  for (let redirects = 0; ; redirects += 1) {
    const response = await sending.fetch(url.href, {
      method,
      headers: Object.fromEntries(headers),
      redirect: "manual",
      signal: sending.signal,
      ...openBody(body),
    });
    const target = redirectTarget(response, url);
    if (target === undefined || target.origin !== url.origin) return response;
    await response.body?.cancel();
    if (redirects === LIMITS.maxRedirects) {
      throw new CallError(
        "too_many_redirects",
        `${what} was redirected more than ${LIMITS.maxRedirects} times.`,
      );
    }
    if (becomesGet(response.status, method)) {
      method = "GET";
      body = undefined;
      headers.delete("content-type");
      headers.delete("content-length");
    }
    url = target;
  }
}

type Content = WrittenBody["content"] | undefined;

function isStreamed(content: Content): content is StreamedBody {
  return typeof content === "object" && "stream" in content;
}

function openBody(content: Content): RequestInit & { duplex?: "half" } {
  if (content === undefined) return {};
  return isStreamed(content)
    ? { body: ReadableStream.from(content.stream()) as BodyInit, duplex: "half" }
    : { body: content };
}

function redirectTarget(response: Response, from: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(response.status)) return undefined;
  const location = response.headers.get("location");
  return location === null ? undefined : (URL.parse(location, from) ?? undefined);
}

function becomesGet(status: number, method: string): boolean {
  if (status === 303) return method !== "GET" && method !== "HEAD";
  return (status === 301 || status === 302) && method === "POST";
}
