/**
 * `/mcp`: Streamable HTTP for MCP clients, with the same keys, limits and guards as every other route. A call's
 * content decides which scope it needs, so tools.ts checks the scope. The OpenAPI document omits the route, because
 * MCP describes itself. https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
 */
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { ErrorCode, isInitializeRequest, isJSONRPCRequest } from "@modelcontextprotocol/sdk/types.js";
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../errors.ts";
import type { App } from "../http/app-type.ts";
import { requireKey } from "../http/auth.ts";
import { MAX_BODY_WITH_INPUT_BYTES } from "../http/json/body.ts";
import type { McpPorts, RequestContext } from "./ports.ts";
import { createSessions, type HeldSession, SESSION_LIMITS, type SessionLimits } from "./sessions.ts";

const SESSION_HEADER = "mcp-session-id";
/** Headers passed to the transport. The key is not among them. */
const PASSED_HEADERS = ["accept", "content-type", SESSION_HEADER, "mcp-protocol-version"];
const KEPT_BACK_HEADERS = ["connection"];
const EVENT_STREAM = "text/event-stream";
const SERVER_ERROR = -32000;
const SESSION_NOT_FOUND = -32001;
const RETRY_SECONDS = 5;
const MAX_SESSION_ID_CHARACTERS = 100;

export function registerMcpRoutes(app: App, ports: McpPorts, limits: SessionLimits = SESSION_LIMITS): void {
  const sessions = createSessions(ports, limits);
  // Close sessions before the server waits for connections, which the sessions' streams would keep open.
  app.addHook("preClose", () => sessions.close());
  const route = { onRequest: requireKey(), schema: { hide: true } };

  const post = { ...route, bodyLimit: MAX_BODY_WITH_INPUT_BYTES, config: { keepsIntegers: true } };
  app.post("/mcp", post, async (request, reply) => {
    refuseOtherOrigins(request);
    const context = contextOf(request, reply);
    const { body } = request;
    const isFirst = isInitializeRequest(body) && request.headers[SESSION_HEADER] === undefined;
    const held = isFirst ? await sessions.open(context.caller) : findSession(request, context);
    if (held === null) return refuseSession(request, reply);

    if (Array.isArray(body) && body.length === 0) {
      return refuse(reply, 400, ErrorCode.InvalidRequest, "A batch contains at least one message.");
    }
    const count = countRequests(body);
    if (held.waiting + count > limits.maxRequestsPerSession) {
      reply.header("retry-after", RETRY_SECONDS);
      const message = `A session may have ${limits.maxRequestsPerSession} requests in progress. Wait for some to end.`;
      return refuse(reply, 429, SERVER_ERROR, message);
    }
    trackUse(held, count, reply);
    const response = await held.session.handle(toWebRequest(request), body, context);
    if (isFirst) {
      if (!held.session.isOpen) await held.session.close();
      else if (!sessions.keep(held)) {
        reply.header("retry-after", RETRY_SECONDS);
        return refuse(
          reply,
          429,
          SERVER_ERROR,
          "Too many MCP sessions are in use. End some, or try again later.",
        );
      }
    }
    return sendWebResponse(reply, response);
  });

  app.delete("/mcp", route, async (request, reply) => {
    refuseOtherOrigins(request);
    const context = contextOf(request, reply);
    const held = findSession(request, context);
    if (held === null) return refuseSession(request, reply);
    return sendWebResponse(reply, await held.session.handle(toWebRequest(request), undefined, context));
  });

  // This server sends messages only in responses, so a 405 tells clients not to wait for a stream.
  app.get("/mcp", route, async (_request, reply) => {
    reply.header("allow", "POST, DELETE");
    return refuse(
      reply,
      405,
      SERVER_ERROR,
      "This endpoint offers no stream: answers come with their requests.",
    );
  });

  function findSession(request: FastifyRequest, { caller }: RequestContext): HeldSession | null {
    const id = request.headers[SESSION_HEADER];
    return typeof id === "string" && id.length <= MAX_SESSION_ID_CHARACTERS
      ? sessions.find(id, caller)
      : null;
  }
}

/** Rejects requests from web pages of other origins, even with a valid key. */
function refuseOtherOrigins({ headers: { origin, host } }: FastifyRequest): void {
  if (origin === undefined) return;
  if (URL.canParse(origin) && new URL(origin).host === host?.toLowerCase()) return;
  throw new AppError(
    "forbidden",
    "The MCP endpoint refuses requests from web pages of other origins. Call it from a program, without the header Origin.",
  );
}

function contextOf(request: FastifyRequest, reply: FastifyReply): RequestContext {
  const { caller, id } = request;
  if (caller === null) throw new Error("an MCP request has no caller");
  const gone = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return { caller, requestId: id, signal: gone.signal };
}

function countRequests(body: unknown): number {
  return [body].flat().filter((message) => isJSONRPCRequest(message)).length;
}

/** Marks the session as in use until the response is sent or the client disconnects. */
function trackUse(held: HeldSession, count: number, reply: FastifyReply): void {
  const touch = () => {
    held.lastUsedMs = performance.now();
  };
  touch();
  // If the client disconnected while the session opened, no `close` event follows.
  if (reply.raw.closed) return;
  held.waiting += count;
  reply.raw.once("close", () => {
    held.waiting -= count;
    touch();
  });
}

function toWebRequest(request: FastifyRequest): Request {
  const headers = new Headers();
  for (const name of PASSED_HEADERS) {
    const value = request.headers[name];
    if (typeof value === "string") headers.set(name, value);
  }
  return new Request("http://localhost/mcp", { method: request.method, headers });
}

function sendWebResponse(reply: FastifyReply, response: Response): FastifyReply {
  reply.status(response.status);
  for (const [name, value] of response.headers) {
    if (!KEPT_BACK_HEADERS.includes(name)) reply.header(name, value);
  }
  const { body } = response;
  return reply.send(body === null ? "" : Readable.from(withBeginning(response), { objectMode: false }));
}

/**
 * Sends the headers at once: the first byte of a response may take long, and a client must see that it is connected.
 */
async function* withBeginning({ headers, body }: Response): AsyncGenerator<Uint8Array> {
  if (headers.get("content-type") === EVENT_STREAM) yield Buffer.from(": ping\n\n");
  yield* body as ReadableStream<Uint8Array>;
}

function refuseSession(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (request.headers[SESSION_HEADER] !== undefined) {
    return refuse(reply, 404, SESSION_NOT_FOUND, "The session does not exist. Start a new one: initialize.");
  }
  const message = `Expected an initialize request, or the header Mcp-Session-Id of a session.`;
  return refuse(reply, 400, ErrorCode.InvalidRequest, message);
}

/** Sends a JSON-RPC error, the only shape that MCP clients read. */
function refuse(reply: FastifyReply, status: number, code: number, message: string): FastifyReply {
  return reply
    .status(status)
    .type("application/json; charset=utf-8")
    .serializer(String)
    .send(JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null }));
}
