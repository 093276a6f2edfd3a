/**
 * Relays messages between a stdio client and a server's MCP endpoint. Every request gets a response: the server's, or
 * an error that says what failed. If the server has forgotten a session, reopens it without the client noticing.
 */
import type { Readable, Writable } from "node:stream";
import { ReadableStream } from "node:stream/web";
import { setTimeout as sleep } from "node:timers/promises";
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  InitializeResultSchema,
  isInitializeRequest,
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
} from "@modelcontextprotocol/sdk/types.js";

export interface StdioProxyOptions {
  endpoint: URL;
  key: string | null;
  input: Readable;
  output: Writable;
  report(message: string): void;
  signal: AbortSignal;
}

/** Buffer size for client messages; the server has the same limit. */
const MAX_INPUT_BYTES = 2 * 1024 * 1024;
const MAX_GOODBYE_MS = 2000;
const MAX_REOPEN_MS = 15_000;
/** Time allowed to read a response after its last byte has arrived. */
const READING_MS = 250;
const SERVER_ERROR = -32000;
const REOPEN_ID = "cyrnel-reopen";

/** Resolves with the exit code when the client closes its side or the signal aborts. */
export async function runStdioProxy(options: StdioProxyOptions): Promise<number> {
  const { endpoint, key, input, output, report, signal } = options;
  const local = new StdioServerTransport(input, output, { maxBufferSize: MAX_INPUT_BYTES });
  const open = new Set<RequestId>();
  const end = Promise.withResolvers<number>();
  let initialize: JSONRPCMessage | null = null;
  let reopening: Promise<void> | null = null;
  let remote = connect();

  function connect(): StreamableHTTPClientTransport {
    const transport = new StreamableHTTPClientTransport(endpoint, {
      requestInit: { headers: key === null ? {} : { authorization: `Bearer ${key}` } },
      fetch: fetchWatched,
    });
    transport.onmessage = (message) => receive(transport, message);
    return transport;
  }

  function receive(transport: StreamableHTTPClientTransport, message: JSONRPCMessage): void {
    const isAnswer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
    if (isAnswer && message.id !== undefined && !open.delete(message.id)) return;
    if (isJSONRPCResultResponse(message)) {
      // The transport must send the negotiated version with each further request.
      const agreed = InitializeResultSchema.safeParse(message.result);
      if (agreed.success) transport.setProtocolVersion(agreed.data.protocolVersion);
    }
    local.send(message).catch(() => end.resolve(1));
  }

  function refuse(id: RequestId, message: string): void {
    if (!open.delete(id)) return;
    local.send({ jsonrpc: "2.0", id, error: { code: SERVER_ERROR, message } }).catch(() => end.resolve(1));
  }

  /** Reports requests whose response was interrupted. */
  async function fetchWatched(url: string | URL, init?: RequestInit): Promise<Response> {
    const response = await fetch(url, init);
    const ids = idsOf(init?.body);
    if (response.body === null || ids.length === 0) return response;
    const body = ReadableStream.from(watch(response.body as AsyncIterable<Uint8Array>, ids));
    const { status, statusText, headers } = response;
    return new Response(body as unknown as BodyInit, { status, statusText, headers });
  }

  async function* watch(body: AsyncIterable<Uint8Array>, ids: RequestId[]): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } finally {
      setTimeout(() => {
        for (const id of ids) refuse(id, "The connection to the server broke before the answer arrived.");
      }, READING_MS).unref();
    }
  }

  async function forward(message: JSONRPCMessage): Promise<void> {
    if (isInitializeRequest(message)) initialize = message;
    if (isJSONRPCRequest(message)) open.add(message.id);
    const used = remote;
    try {
      await reopening;
      await remote.send(message);
    } catch (error) {
      const isForgotten = error instanceof StreamableHTTPError && error.code === 404;
      if (isForgotten && initialize !== null && !isInitializeRequest(message) && isJSONRPCRequest(message)) {
        return again(message, used);
      }
      fail(message, error);
    }
  }

  async function again(message: JSONRPCMessage, forgotten: StreamableHTTPClientTransport): Promise<void> {
    try {
      if (remote === forgotten) reopening ??= reopen().finally(() => (reopening = null));
      await reopening;
      await remote.send(message);
    } catch (error) {
      fail(message, error);
    }
  }

  async function reopen(): Promise<void> {
    report("the server has forgotten the session; starting a new one");
    void remote.close();
    remote = connect();
    await remote.start();
    const agreed = Promise.withResolvers<void>();
    const next = remote.onmessage;
    remote.onmessage = (message) => {
      if (isJSONRPCErrorResponse(message)) agreed.reject(new Error(message.error.message));
      if (!isJSONRPCResultResponse(message) || message.id !== REOPEN_ID) return;
      const { data } = InitializeResultSchema.safeParse(message.result);
      if (data !== undefined) remote.setProtocolVersion(data.protocolVersion);
      agreed.resolve();
    };
    const late = sleep(MAX_REOPEN_MS, undefined, { ref: false }).then(() => {
      throw new Error("the server did not answer in time");
    });
    await remote.send({ ...(initialize as JSONRPCMessage & { id: RequestId }), id: REOPEN_ID });
    await Promise.race([agreed.promise, late]);
    if (next) remote.onmessage = next;
    await remote.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  function fail(message: JSONRPCMessage, error: unknown): void {
    const problem = describeFailure(error, endpoint);
    report(problem);
    if (isJSONRPCRequest(message)) refuse(message.id, problem);
  }

  local.onmessage = (message) => void forward(message);
  local.onerror = (error) => report(`the client sent an invalid message: ${error.message.slice(0, 200)}`);
  local.onclose = () => end.resolve(1);
  input.once("end", () => end.resolve(0));
  output.once("error", () => end.resolve(0));
  signal.addEventListener("abort", () => end.resolve(0), { once: true });
  await remote.start();
  await local.start();
  const exitCode = await end.promise;
  const goodbye = remote.terminateSession().catch(() => {});
  await Promise.race([goodbye, sleep(MAX_GOODBYE_MS, undefined, { ref: false })]);
  await remote.close();
  return exitCode;
}

function idsOf(body: unknown): RequestId[] {
  if (typeof body !== "string") return [];
  return [JSON.parse(body)].flat().flatMap((message) => (isJSONRPCRequest(message) ? [message.id] : []));
}

function describeFailure(error: unknown, endpoint: URL): string {
  if (error instanceof StreamableHTTPError) {
    if (error.code === 401) return "The server refused the key. Set CYRNEL_API_KEY to a key of this server.";
    return `The server at ${endpoint.origin} answered ${error.code}: ${sentenceOf(error.message)}`;
  }
  const { cause, message } = error as Error & { cause?: { code?: string; message?: string } };
  const detail = cause?.code ?? cause?.message ?? message;
  return `The server at ${endpoint.origin} cannot be reached (${detail}). Is it running? See CYRNEL_URL.`;
}

/** Returns an error response's message, in either of the endpoint's formats. */
function sentenceOf(text: string): string {
  const json = text.slice(text.indexOf("{"));
  try {
    const { error } = JSON.parse(json);
    return typeof error === "string" ? error : String(error.message);
  } catch {
    return text.slice(0, 500);
  }
}
