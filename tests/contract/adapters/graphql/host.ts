/** The GraphQL adapter as the host runs it, and real servers that it is tried on. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { instantiate } from "#modules/graphql/index.ts";
import type { AdapterModule, ServiceDefinition } from "#sdk";

export interface HostedAdapter extends AsyncDisposable {
  readonly adapter: AdapterModule;
  /** Generates a definition and hydrates a service with it. Text is taken as it is. */
  install(
    id: string,
    definition: object | string,
    settings?: { config?: Record<string, unknown>; secrets?: Record<string, unknown> },
  ): Promise<ServiceDefinition>;
  call(serviceId: string, toolId: string, parameters?: object, signal?: AbortSignal): Promise<unknown>;
}

export async function hostGraphql(
  options: { config?: Record<string, unknown>; fetch?: typeof globalThis.fetch } = {},
): Promise<HostedAdapter> {
  const adapter = instantiate();
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  await adapter.setup({
    config: options.config ?? {},
    secrets: {},
    logger,
    fetch: options.fetch ?? globalThis.fetch,
  });
  return {
    adapter,
    async install(id, definition, { config = {}, secrets = {} } = {}) {
      const input = typeof definition === "string" ? definition : JSON.stringify(definition);
      const made = await adapter.generateDefinition(input);
      await adapter.hydrateService({
        id,
        adapterDomain: made.adapterDomain,
        tools: Object.fromEntries(made.tools.map((tool) => [tool.id, { adapterDomain: tool.adapterDomain }])),
        config,
        secrets,
      });
      return made;
    },
    call: (serviceId, toolId, parameters = {}, signal) =>
      adapter.invoke({
        serviceId,
        toolId,
        parameters: parameters as Record<string, unknown>,
        ...(signal ? { signal } : {}),
      }),
    [Symbol.asyncDispose]: () => adapter.teardown(),
  };
}

export interface HttpServer extends AsyncDisposable {
  readonly url: string;
  /** Headers of every request so far. */
  readonly headers: IncomingMessage["headers"][];
}

/** Any request listener (a yoga server, or something hostile) on a free loopback port. */
export async function serve(listener: RequestListener): Promise<HttpServer> {
  const headers: IncomingMessage["headers"][] = [];
  const server = createServer((request, response) => {
    headers.push(request.headers);
    response.on("error", () => {});
    void listener(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  return {
    url: `http://127.0.0.1:${address.port}/graphql`,
    headers,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
