/**
 * The host's fetch as the library gets it: with the service's headers on requests to the service's own origin, never
 * past it; every body bounded; every request ended with the exchange it belongs to.
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
   * `streamable`: answers come with the request, and no stream is opened beside them (nothing a server says on its own
   * initiative is of use here). `sse`: one stream carries all answers; `onStreamEnd` is told when it ends.
   */
  mode: "streamable" | "sse";
  onStreamEnd(error: Error): void;
  /** Gets the messages of all answers. The library gets empty ones, and would round large integers. */
  onMessage(message: JSONRPCMessage): void;
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
    // Nothing is left for the library to read.
    return new Response(null, { status: 202, headers: answered });
  };
}

/** Hands out the messages of an event stream. `onEndpoint` is told where the older transport posts its messages to. */
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
      // Not a message of the protocol: its answer may still come.
    }
  }
}

/** The service's own origin, or the same host by https where the service's URL said http, both on their default ports. */
function isSameSite(service: URL, url: URL): boolean {
  if (service.origin === url.origin) return true;
  const isUpgrade = service.protocol === "http:" && url.protocol === "https:";
  return isUpgrade && service.hostname === url.hostname && service.port === "" && url.port === "";
}
