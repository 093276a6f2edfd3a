/**
 * Opens a definition's connection: Streamable HTTP, the older HTTP transport if the server supports only that, or a
 * program.
 */
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { McpFailure } from "../failures.ts";
import { createBoundedFetch } from "./bounded-fetch.ts";
import { type Connection, openConnection, type RequestLimits } from "./connection.ts";
import { createStdioTransport } from "./stdio-transport.ts";

export type Server =
  | { transport: "http"; url: string; headers: Record<string, string> }
  | { transport: "stdio"; command: string; args: string[]; env: Record<string, string> };

export interface OpenOptions extends RequestLimits {
  fetch: typeof globalThis.fetch;
  maxResponseBytes: number;
}

/** Statuses of a server that does not support Streamable HTTP. */
const OLDER_TRANSPORT_STATUSES = new Set([400, 404, 405, 406, 415, 501]);

/** @throws McpFailure or the host's egress error for the address, after closing everything */
export async function openServer(server: Server, options: OpenOptions): Promise<Connection> {
  if (server.transport === "stdio") {
    return openConnection(() => {
      const transport = createStdioTransport({ ...server, maxMessageBytes: options.maxResponseBytes });
      return { transport, describeEnd: transport.describeEnd };
    }, options);
  }
  const startedAt = performance.now();
  try {
    return await openHttp(server, "streamable", options);
  } catch (error) {
    const isOlder = error instanceof McpFailure && OLDER_TRANSPORT_STATUSES.has(error.status ?? 0);
    if (!isOlder) throw error;
    const timeoutMs = Math.max(1, options.timeoutMs - (performance.now() - startedAt));
    try {
      return await openHttp(server, "sse", { ...options, timeoutMs });
    } catch (second) {
      // The current transport's error explains more.
      throw options.signal?.aborted ? second : error;
    }
  }
}

function openHttp(
  server: Extract<Server, { transport: "http" }>,
  mode: "streamable" | "sse",
  options: OpenOptions,
): Promise<Connection> {
  const url = new URL(server.url);
  return openConnection((lose) => {
    let transport: Transport;
    const fetch = createBoundedFetch({
      fetch: options.fetch,
      url,
      headers: server.headers,
      maxResponseBytes: options.maxResponseBytes,
      mode,
      onStreamEnd: lose,
      onMessage: (message) => transport.onmessage?.(message),
    });
    if (mode === "sse") {
      transport = new SSEClientTransport(url, { fetch });
      return { transport };
    }
    const streamable = new StreamableHTTPClientTransport(url, { fetch });
    transport = streamable as Transport;
    return { transport, sayGoodbye: () => streamable.terminateSession() };
  }, options);
}
