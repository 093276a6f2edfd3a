/** An MCP server over HTTP that does what a test says: honest by default, as wrong as needed. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export interface RpcMessage {
  id?: number;
  method?: string;
  params?: { name?: string; arguments?: Record<string, unknown>; cursor?: string; [key: string]: unknown };
  result?: unknown;
  error?: { code: number; message: string };
}

export interface Exchange {
  message: RpcMessage;
  request: IncomingMessage;
  response: ServerResponse;
  /** Answers the message with a result, as JSON. True, for a handler to return. */
  answer(result: unknown): true;
  /** Answers with an HTTP status and a text. True, for a handler to return. */
  refuse(status: number, text?: string, headers?: Record<string, string>): true;
  /** Begins an event stream; `send` writes one event of it. */
  stream(): { send(message: unknown): void; raw(text: string): boolean; end(): void };
}

export interface ScriptedServer extends AsyncDisposable {
  readonly url: string;
  readonly origin: string;
  /** Every JSON-RPC message that came, in order. */
  readonly received: RpcMessage[];
  /** The same as text. */
  readonly bodies: string[];
  /** Headers of every request. */
  readonly headers: IncomingMessage["headers"][];
  /** Connections that are open now. */
  connections(): number;
}

/** `handle` returns false for what it leaves to the honest server. */
export async function startScripted(
  handle: (exchange: Exchange) => boolean | undefined | Promise<boolean | undefined> = () => false,
  tools: unknown[] = [{ name: "ping", inputSchema: { type: "object" } }],
): Promise<ScriptedServer> {
  const received: RpcMessage[] = [];
  const bodies: string[] = [];
  const headers: IncomingMessage["headers"][] = [];
  let connections = 0;
  const server = createServer(async (request, response) => {
    response.on("error", () => {});
    headers.push(request.headers);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const message: RpcMessage = text === "" ? { method: `http:${request.method}` } : JSON.parse(text);
    received.push(message);
    bodies.push(text);
    const exchange: Exchange = {
      message,
      request,
      response,
      answer(result) {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
        return true;
      },
      refuse(status, body = "", more = {}) {
        response.writeHead(status, { "content-type": "text/plain", ...more });
        response.end(body);
        return true;
      },
      stream() {
        response.writeHead(200, { "content-type": "text/event-stream" });
        return {
          send: (event) =>
            void response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...(event as object) })}\n\n`),
          raw: (raw) => response.write(raw),
          end: () => void response.end(),
        };
      },
    };
    if ((await handle(exchange)) !== false) return;
    answerHonestly(exchange, tools);
  });
  server.on("connection", (socket) => {
    connections += 1;
    socket.on("error", () => {});
    socket.once("close", () => {
      connections -= 1;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  const origin = `http://127.0.0.1:${address.port}`;
  return {
    url: `${origin}/mcp`,
    origin,
    received,
    bodies,
    headers,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function answerHonestly({ message, answer, refuse }: Exchange, tools: unknown[]): true {
  switch (message.method) {
    case "initialize":
      return answer({
        protocolVersion: message.params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "scripted", version: "1" },
      });
    case "tools/list":
      return answer({ tools });
    case "tools/call":
      return answer({ content: [{ type: "text", text: `called ${message.params?.name}` }] });
    case "http:GET":
    case "http:DELETE":
      return refuse(405);
    default:
      return refuse(202);
  }
}

/** Polls until it holds; fails the test by its own time-out otherwise. */
export async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}
