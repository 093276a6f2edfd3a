import { AppError } from "../errors.ts";
import { EgressRefused } from "./rules.ts";

export interface DownloadOptions {
  maxBytes: number;
  /** Time limit for all redirects and the complete body. Default 10,000. */
  maxMs?: number;
  maxRedirects?: number;
  accept?: string;
  signal?: AbortSignal;
}

export interface Downloaded {
  bytes: Buffer;
  contentType: string | null;
  finalUrl: string;
}

/** Downloads a file. Throws AppError `download_failed`, `payload_too_large` or `egress_refused`. */
export type Download = (url: string, options: DownloadOptions) => Promise<Downloaded>;

const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);
const MAX_SHOWN_URL_CHARACTERS = 300;
const MAX_CAUSE_CHARACTERS = 300;
const FIRST_PIECE_BYTES = 64 * 1024;

/** `fetch` must be a guarded fetch. */
export function createDownload(fetch: typeof globalThis.fetch): Download {
  return async (url, options) => {
    const maxMs = options.maxMs ?? 10_000;
    const timeout = AbortSignal.timeout(maxMs);
    const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
    try {
      const { response, finalUrl } = await followRedirects(fetch, parseUrl(url, url), options, signal);
      const bytes = await readBody(response, options.maxBytes);
      return { bytes, contentType: response.headers.get("content-type"), finalUrl };
    } catch (error) {
      if (error instanceof AppError) throw error;
      if (error instanceof EgressRefused)
        throw new AppError("egress_refused", error.message, { cause: error });
      if (timeout.aborted) throw failed(url, `it took longer than ${maxMs} ms`, error);
      options.signal?.throwIfAborted();
      throw failed(url, describeCause(error), error);
    }
  };
}

async function followRedirects(
  fetch: typeof globalThis.fetch,
  start: URL,
  options: DownloadOptions,
  signal: AbortSignal,
): Promise<{ response: Response; finalUrl: string }> {
  const maxRedirects = options.maxRedirects ?? 5;
  let url = start;
  for (let redirects = 0; ; redirects += 1) {
    const response = await fetch(url, {
      redirect: "manual",
      signal,
      headers: { accept: options.accept ?? "*/*", "user-agent": "cyrnel" },
    });
    if (!REDIRECT_STATUSES.has(response.status)) {
      if (response.ok) return { response, finalUrl: url.href };
      await discard(response);
      throw failed(url.href, `the server answered with status ${response.status}`);
    }
    await discard(response);
    const location = response.headers.get("location");
    if (location === null) throw failed(url.href, "a redirect has no Location header");
    if (redirects >= maxRedirects) throw failed(start.href, `there are more than ${maxRedirects} redirects`);
    const next = parseUrl(location, url.href, url);
    if (url.protocol === "https:" && next.protocol === "http:") {
      throw failed(url.href, `it redirects from https to http (${show(next.href)})`);
    }
    url = next;
  }
}

function parseUrl(text: string, shownUrl: string, base?: URL): URL {
  if (!URL.canParse(text, base)) throw failed(shownUrl, `${JSON.stringify(show(text))} is not a URL`);
  const url = new URL(text, base);
  url.hash = "";
  return url;
}

/** Counts decompressed bytes, so that a small compressed body cannot become a large one. */
async function readBody(response: Response, maxBytes: number): Promise<Buffer> {
  const declared = Number(response.headers.get("content-length") ?? 0);
  if (!response.headers.has("content-encoding") && declared > maxBytes) {
    await discard(response);
    throw tooLarge(maxBytes);
  }
  let bytes = Buffer.allocUnsafeSlow(Math.min(maxBytes, FIRST_PIECE_BYTES));
  let length = 0;
  // Throwing inside the loop cancels the stream and closes the connection.
  for await (const chunk of response.body ?? []) {
    const needed = length + chunk.byteLength;
    if (needed > maxBytes) throw tooLarge(maxBytes);
    if (needed > bytes.length) {
      const wanted = Math.max(needed, 2 * bytes.length, Number.isSafeInteger(declared) ? declared : 0);
      bytes = grow(bytes, Math.min(maxBytes, wanted), length);
    }
    bytes.set(chunk, length);
    length = needed;
  }
  return bytes.subarray(0, length);
}

function grow(bytes: Buffer<ArrayBuffer>, size: number, length: number): Buffer<ArrayBuffer> {
  const grown = Buffer.allocUnsafeSlow(size);
  bytes.copy(grown, 0, 0, length);
  return grown;
}

async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {});
}

function tooLarge(maxBytes: number): AppError {
  return new AppError("payload_too_large", `The download is larger than the limit of ${maxBytes} bytes.`);
}

function failed(url: string, problem: string, cause?: unknown): AppError {
  return new AppError("download_failed", `Could not download ${show(url)}: ${problem}.`, { cause });
}

/** Returns the URL without user name and password, which must not reach messages or logs. */
function show(url: string): string {
  const withoutCredentials = url.replace(/\/\/[^/?#]*@/, "//");
  return withoutCredentials.slice(0, MAX_SHOWN_URL_CHARACTERS);
}

function describeCause(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  const inner = cause instanceof AggregateError ? (cause.errors[0] as unknown) : (cause ?? error);
  const text = inner instanceof Error ? inner.message : "the connection failed";
  return text.slice(0, MAX_CAUSE_CHARACTERS).replace(/\.$/, "");
}
