/** A service of the adapter in front of a server of the test. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { AdapterModule, ServiceDefinition } from "#sdk";
import { startAdapter } from "./exercise.ts";

export interface Received {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface TestServer extends AsyncDisposable {
  url: string;
  received: Received[];
  /** Connections that ended before their answer did. */
  abandoned: number;
}

export type Respond = (request: Received, response: ServerResponse, incoming: IncomingMessage) => void;

/** Listens on loopback; without `respond` it answers `{}`. */
export async function startServer(respond: Respond = answerEmpty): Promise<TestServer> {
  const server = createServer((incoming, response) => {
    response.on("close", () => {
      if (!response.writableFinished) started.abandoned += 1;
    });
    void buffer(incoming).then((body) => {
      const { method = "", url = "", headers } = incoming;
      const request = { method, url, headers, body };
      started.received.push(request);
      respond(request, response, incoming);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const started: TestServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    abandoned: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return started;
}

function answerEmpty(_request: Received, response: ServerResponse): void {
  response.setHeader("content-type", "application/json");
  response.end("{}");
}

export function answerJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

export interface Answer {
  status: string;
  headers: Record<string, string>;
  body: unknown;
}

export interface TestService extends AsyncDisposable {
  definition: ServiceDefinition;
  adapter: AdapterModule;
  call(toolId: string, parameters?: Record<string, unknown>, signal?: AbortSignal): Promise<Answer>;
}

export interface ServiceSetup {
  server?: TestServer;
  config?: Record<string, unknown>;
  secrets?: Record<string, unknown>;
}

/** Reads the documents of all tests of a file: its thread is started once, and keeps no process alive. */
const definer = startAdapter();

/** Installs and enables a service as a host does: the definition goes through JSON. */
export async function startService(document: unknown, setup: ServiceSetup = {}): Promise<TestService> {
  const adapter = await startAdapter();
  const definition = await (await definer).generateDefinition(toText(document));
  await adapter.hydrateService({
    id: "api",
    adapterDomain: JSON.parse(JSON.stringify(definition.adapterDomain)),
    tools: JSON.parse(JSON.stringify(Object.fromEntries(definition.tools.map((tool) => [tool.id, tool])))),
    config: { ...(setup.server === undefined ? {} : { serverUrl: setup.server.url }), ...setup.config },
    secrets: setup.secrets ?? {},
  });
  return {
    definition,
    adapter,
    call: async (toolId, parameters = {}, signal) =>
      (await adapter.invoke({
        serviceId: "api",
        toolId,
        parameters,
        ...(signal === undefined ? {} : { signal }),
      })) as Answer,
    [Symbol.asyncDispose]: () => adapter[Symbol.asyncDispose](),
  };
}

export function toText(document: unknown): string {
  return typeof document === "string" ? document : JSON.stringify(document);
}

/** A document of one operation, `id` call, at `path`. */
export function documentOf(
  path: string,
  operation: Record<string, unknown>,
  rest: Record<string, unknown> = {},
  method = "get",
): Record<string, unknown> {
  return {
    openapi: "3.1.0",
    info: { title: "Test", version: "1" },
    paths: {
      [path]: { [method]: { operationId: "call", responses: { 200: { description: "ok" } }, ...operation } },
    },
    ...rest,
  };
}
