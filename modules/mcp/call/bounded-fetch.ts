/**
 * The fetch function for the MCP library: sends the service's headers to the service's origin only, limits every
 * body, and ends every request with its exchange.
 */
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { McpFailure, toFailure } from "../failures.ts";
import { watchBody } from "./bounded-body.ts";
import { currentExchange } from "./exchange.ts";
import { readEvents, readMessages } from "./message.ts";

export interface BoundedFetchOptions {
  fetch: typeof globalThis.fetch;
  url: URL;
  headers: Record<string, string>;
  maxResponseBytes: number;
  /**
   * `streamable`: each response arrives with its request, and no other stream is opened. `sse`: one stream carries
   * all responses.
   */
  mode: "streamable" | "sse";
  onStreamEnd(error: Error): void;
  /** Receives the messages of all responses. The library gets none, because it would round large integers. */
  onMessage(message: JSONRPCMessage): void;
}

/** Limit for requests without an exchange: notifications, replies to a server's requests, the end of a session. */
const MAX_ASIDE_MS = 3000;
/** Time after the end of a stream within which its last message must have been read. */
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
    const { status, statusText, headers: answered } = response;
    const type = answered.get("content-type")?.split(";")[0]?.trim().toLowerCase();
    const isStream = type === "text/event-stream";
    if (status === 200 && isGet && isStream) {
      const endpoints = new ReadableStream<Uint8Array>({
        start(controller) {
          const pass = (url: string) => controller.enqueue(Buffer.from(`event: endpoint\ndata: ${url}\n\n`));
          void takeMessages(body, options.onMessage, pass)
            .then(() => controller.close())
            .catch((error) => controller.error(error));
        },
      });
      return new Response(endpoints, { headers: answered });
    }
    const isAnswer = mode === "streamable" && exchange !== undefined && status === 200;
    if (!isAnswer || !(isStream || type === "application/json")) {
      return new Response(body, { status, statusText, headers: answered });
    }
    if (isStream) takeMessages(body, options.onMessage).catch(exchange.fail);
    else {
      new Response(body)
        .text()
        .then((text) => {
          for (const message of readMessages(text)) options.onMessage(message);
        })
        .catch((error) => exchange.fail(toFailure(error)));
    }
    return new Response(null, { status: 202, headers: answered });
  };
}

/** Passes on the messages of an event stream. `onEndpoint` gets the URL to which the older transport posts. */
async function takeMessages(
  body: ReadableStream<Uint8Array>,
  onMessage: (message: JSONRPCMessage) => void,
  onEndpoint?: (url: string) => void,
): Promise<void> {
  for await (const { name, data } of readEvents(body)) {
    if (name === "endpoint") onEndpoint?.(data);
    if (name !== "message") continue;
    try {
      for (const message of readMessages(data)) onMessage(message);
    } catch {
      // Not a message of the protocol; the response may still come.
    }
  }
}

/** Returns whether a URL has the service's origin, or upgrades the same host from http to https on default ports. */
function isSameSite(service: URL, url: URL): boolean {
  if (service.origin === url.origin) return true;
  const isUpgrade = service.protocol === "http:" && url.protocol === "https:";
  return isUpgrade && service.hostname === url.hostname && service.port === "" && url.port === "";
}
