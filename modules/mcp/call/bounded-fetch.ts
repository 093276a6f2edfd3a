/**
 * The host's fetch as the library gets it: with the service's headers on requests to the service's own origin, never
 * past it; every body bounded; every request ended with the exchange it belongs to.
 */
import { McpFailure } from "../failures.ts";
import { watchBody } from "./bounded-body.ts";
import { currentExchange } from "./exchange.ts";

export interface BoundedFetchOptions {
  fetch: typeof globalThis.fetch;
  url: URL;
  headers: Record<string, string>;
  maxResponseBytes: number;
  /**
   * `streamable`: answers come with the request, and no stream is opened beside them (nothing a server says on its own
   * initiative is of use here). `sse`: one stream carries all answers; `onStreamEnd` is told when it ends.
   */
  mode: "streamable" | "sse";
  onStreamEnd(error: Error): void;
}

/** For what belongs to no exchange: notifications, replies to a server's requests, the end of a session. */
const MAX_ASIDE_MS = 3000;
/** From the end of a stream to its last message having been read. */
const ANSWER_GRACE_MS = 250;

const NO_BODY = new Set([204, 205, 304]);

export function createBoundedFetch(options: BoundedFetchOptions): typeof globalThis.fetch {
  const { maxResponseBytes, mode, url: service } = options;

  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (!isSameSite(service, url)) {
      throw new McpFailure(
        "mcp_refused",
        `The server points to another origin, ${url.origin}; not followed.`,
      );
    }
    const isGet = (init.method ?? "GET").toUpperCase() === "GET";
    if (isGet && mode === "streamable") return new Response(null, { status: 405 });

    const exchange = isGet ? undefined : currentExchange();
    const ends = [init.signal, exchange?.over].filter((signal) => signal instanceof AbortSignal);
    if (!isGet && exchange === undefined) ends.push(AbortSignal.timeout(MAX_ASIDE_MS));
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(options.headers)) headers.set(name, value);
    const response = await options.fetch(url, {
      ...init,
      headers,
      signal: AbortSignal.any(ends),
      redirect: "manual",
    });
    if (response.body === null || NO_BODY.has(response.status)) return response;

    const tooLarge = () =>
      new McpFailure(
        "mcp_too_large",
        `The server's answer is larger than ${maxResponseBytes} bytes (maxResponseBytes of the service).`,
      );
    const lost = (error?: unknown) =>
      error instanceof McpFailure
        ? error
        : new McpFailure("mcp_connection_lost", "The connection ended before the server answered.", {
            cause: error,
          });
    const body = watchBody(response.body, {
      maxBytes: maxResponseBytes,
      per: isGet ? "event" : "body",
      tooLarge,
      onEnd() {
        if (isGet) options.onStreamEnd(lost());
        else if (mode === "streamable" && response.status === 200 && exchange !== undefined) {
          setTimeout(() => exchange.answered || exchange.fail(lost()), ANSWER_GRACE_MS).unref();
        }
      },
      onFailure(error) {
        if (isGet) options.onStreamEnd(lost(error));
        else exchange?.fail(lost(error));
      },
    });
    return new Response(body, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  };
}

/** The service's own origin, or the same host by https where the service's URL said http, both on their default ports. */
function isSameSite(service: URL, url: URL): boolean {
  if (service.origin === url.origin) return true;
  const isUpgrade = service.protocol === "http:" && url.protocol === "https:";
  return isUpgrade && service.hostname === url.hostname && service.port === "" && url.port === "";
}
