/** One connection to a server. The MCP library declines the server's own requests (sampling, elicitation, roots). */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
} from "@modelcontextprotocol/sdk/types.js";
import type { z } from "zod";
import { McpFailure, toFailure } from "../failures.ts";
import { currentExchange, type Exchange, outsideExchange, runExchange } from "./exchange.ts";

export interface RequestLimits {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

export interface ServerInfo {
  name: string;
  instructions: string;
  hasTools: boolean;
}

export interface Connection {
  readonly server: ServerInfo;
  /** True when the connection accepts no more requests. */
  readonly lost: boolean;
  request<T>(
    method: string,
    params: Record<string, unknown>,
    answer: z.ZodType<T>,
    limits: RequestLimits,
  ): Promise<T>;
  /** Closes the connection and fails requests in progress. Bounded in time, idempotent. */
  close(): Promise<void>;
}

export interface Carrier {
  transport: Transport;
  /** Returns why the transport ended, or null if it does not know. */
  describeEnd?(): string | null;
  /** Ends the session; failures do not matter. */
  sayGoodbye?(): Promise<void>;
}

const CLIENT = { name: "cyrnel", version: "1" };

const MAX_REPLIES_IN_FLIGHT = 32;

/** Maximum number of server messages between two responses. */
const MAX_UNASKED_MESSAGES = 10_000;

/** A server's output schemas are not trusted, so none is compiled. */
const NO_VALIDATION = {
  getValidator: () => () => ({ valid: true as const, data: undefined as never, errorMessage: undefined }),
};

/**
 * `makeCarrier` gets the function that reports a lost transport. @throws McpFailure or the host's egress error, after
 * closing everything
 */
export async function openConnection(
  makeCarrier: (lose: (error: Error) => void) => Carrier,
  limits: RequestLimits,
): Promise<Connection> {
  const pending = new Set<Exchange>();
  let failure: Error | null = null;
  let closing: Promise<void> | null = null;

  const lose = (error: Error) => {
    if (failure !== null) return;
    failure = error;
    for (const exchange of pending) exchange.fail(error);
    void closeTransport();
  };
  const carrier = makeCarrier(lose);
  const { transport } = carrier;
  const closeTransport = () => transport.close().catch(() => {});
  const describeLoss = () =>
    new McpFailure(
      "mcp_connection_lost",
      carrier.describeEnd?.() ?? "The connection ended before the server answered.",
    );
  guardTransport(transport, lose);

  const client = new Client(CLIENT, { capabilities: {}, jsonSchemaValidator: NO_VALIDATION });
  async function run<T>(
    requestLimits: RequestLimits,
    work: (options: RequestOptions) => Promise<T>,
  ): Promise<T> {
    try {
      return await runExchange(requestLimits, pending, (signal) =>
        // The exchange's own deadline is earlier.
        work({ signal, timeout: requestLimits.timeoutMs + 60_000 }),
      );
    } catch (error) {
      const own = toFailure(error);
      const isLoss = own instanceof McpFailure && own.code === "mcp_connection_lost";
      throw isLoss ? (failure ?? describeLoss()) : own;
    }
  }

  try {
    await run(limits, (options) => client.connect(transport, options));
  } catch (error) {
    await closeTransport();
    throw error;
  }
  // A failed connect closes the client too and reports its own reason.
  client.onclose = () => lose(describeLoss());
  const version = client.getServerVersion();
  return {
    server: {
      name: version?.title ?? version?.name ?? "",
      instructions: client.getInstructions() ?? "",
      hasTools: client.getServerCapabilities()?.tools !== undefined,
    },
    get lost() {
      return failure !== null;
    },
    request: (method, params, answer, requestLimits) => {
      if (failure !== null) return Promise.reject(failure);
      return run(requestLimits, (options) => client.request({ method, params }, answer, options));
    },
    close() {
      closing ??= (async () => {
        if (failure === null) await carrier.sayGoodbye?.().catch(() => {});
        failure ??= new McpFailure("mcp_canceled", "The service was removed or changed.");
        for (const exchange of pending) exchange.fail(failure);
        await closeTransport();
      })();
      return closing;
    },
  };
}

/** Sends notifications and replies outside the exchange that caused them, and limits how many a server can cause. */
function guardTransport(transport: Transport, lose: (error: Error) => void): void {
  const send = transport.send.bind(transport);
  let replies = 0;
  let unasked = 0;
  transport.send = async (message, options) => {
    if (isJSONRPCRequest(message)) return send(message, options);
    if ("method" in message) return outsideExchange(() => send(message, options));
    if (replies >= MAX_REPLIES_IN_FLIGHT) {
      lose(
        new McpFailure(
          "mcp_bad_answer",
          "The server sends requests to this client without waiting for the replies.",
        ),
      );
      return;
    }
    replies += 1;
    try {
      await outsideExchange(() => send(message, options));
    } finally {
      replies -= 1;
    }
  };
  transport.onmessage = (message) => {
    if (!isJSONRPCResultResponse(message) && !isJSONRPCErrorResponse(message)) {
      unasked += 1;
      if (unasked > MAX_UNASKED_MESSAGES) {
        lose(
          new McpFailure(
            "mcp_bad_answer",
            "The server sends endless messages without responding to a request.",
          ),
        );
      }
      return;
    }
    unasked = 0;
    const exchange = currentExchange();
    if (exchange !== undefined) exchange.answered = true;
  };
}
