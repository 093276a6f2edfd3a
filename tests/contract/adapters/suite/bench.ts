/** One adapter as the host runs it, in front of a server of the test that answers, hangs, breaks or misleads. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { AdapterModule, ServiceDefinition, ToolDefinition } from "#sdk";

/** In every secret a subject is given; nothing an adapter says may hold it. */
export const SECRET = "planted-secret-4711";

export interface Received {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  body: string;
}

export interface AdapterUnderTest {
  instantiate(): AdapterModule | Promise<AdapterModule>;
  moduleConfig?: Record<string, unknown>;
  /** A definition whose tools lead to `url`. */
  define(url: string): string;
  /** Settings of the service. Cases add `maxResponseBytes` and `timeoutMs`. */
  config?(url: string): Record<string, unknown>;
  secrets: Record<string, unknown>;
  /** An honest server; `filler` is a text that it adds to its answer. */
  reply(request: Received, filler: string): Reply;
  /** True if a request is the call of a tool. */
  isCall?(request: Received): boolean;
  /** A call and what comes of it: of a tool that changes something. */
  call: { toolId: string; parameters: Record<string, unknown>; result: unknown };
  /** Definitions that must be refused, by what is wrong with them. */
  hostile: Record<string, string>;
  /** Settings of a service that must be refused. */
  badSettings: { config?: Record<string, unknown>; secrets?: Record<string, unknown> }[];
}

export type Behaviour = "honest" | "hang" | "drop" | "redirect" | "large";

export interface AdapterBench extends AsyncDisposable {
  readonly subject: AdapterUnderTest;
  readonly adapter: AdapterModule;
  readonly url: string;
  /** Requests that came to the server, and to the other one that redirects lead to. */
  readonly received: Received[];
  readonly elsewhere: Received[];
  /** Requests whose connection was closed before they were answered. */
  abandoned: number;
  behaviour: Behaviour;
  /** Makes the host's fetch refuse everything, as its egress rules do. */
  refusesEgress: boolean;
  /** Requests through the host's fetch. */
  fetches: number;
  /** All that the adapter has logged. */
  readonly logged: unknown[];
  setup(): Promise<void>;
  define(): Promise<ServiceDefinition>;
  /** Hydrates a service as the host does: what is stored goes through JSON. */
  hydrate(id: string, settings?: Settings): Promise<void>;
  call(serviceId: string, signal?: AbortSignal): Promise<unknown>;
}

export interface Settings {
  config?: Record<string, unknown>;
  secrets?: Record<string, unknown>;
  tools?: ToolDefinition[];
}

const FILLER = "x".repeat(1024 * 1024);

export async function openAdapterBench(subject: AdapterUnderTest): Promise<AdapterBench> {
  const adapter = await subject.instantiate();
  await using opened = new AsyncDisposableStack();
  const elsewhere: Received[] = [];
  const other = opened.use(await listen((request) => void elsewhere.push(request)));
  const server = opened.use(
    await listen((request, response) => {
      const isCall = subject.isCall?.(request) ?? true;
      bench.received.push(request);
      response.once("close", () => {
        if (!response.writableFinished) bench.abandoned += 1;
      });
      if (isCall && bench.behaviour === "hang") return;
      if (isCall && bench.behaviour === "drop") return void response.destroy();
      if (isCall && bench.behaviour === "redirect") {
        return void response.writeHead(307, { location: `${other.url}/taken` }).end();
      }
      const {
        status = 200,
        headers,
        body,
      } = subject.reply(request, bench.behaviour === "large" ? FILLER : "");
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
    }),
  );
  let made: ServiceDefinition | undefined;
  const note = (fields: object, message?: string) => void bench.logged.push([fields, message]);
  const bench: AdapterBench = {
    subject,
    adapter,
    url: server.url,
    received: [],
    elsewhere,
    abandoned: 0,
    behaviour: "honest",
    refusesEgress: false,
    fetches: 0,
    logged: [],
    setup: () =>
      adapter.setup({
        config: subject.moduleConfig ?? {},
        secrets: {},
        logger: { debug: note, info: note, warn: note, error: note },
        async fetch(input, init) {
          bench.fetches += 1;
          if (!bench.refusesEgress) return fetch(input, init);
          throw Object.assign(new Error("CYRNEL_EGRESS_DENY refuses it"), { code: "egress_refused" });
        },
      }),
    async define() {
      const config = subject.config?.(server.url) ?? {};
      return adapter.generateDefinition(subject.define(server.url), { config, secrets: subject.secrets });
    },
    async hydrate(id, { config = {}, secrets = subject.secrets, tools } = {}) {
      made ??= await bench.define();
      const stored = JSON.parse(
        JSON.stringify({ adapterDomain: made.adapterDomain, tools: tools ?? made.tools }),
      ) as Pick<ServiceDefinition, "adapterDomain" | "tools">;
      await adapter.hydrateService({
        id,
        adapterDomain: stored.adapterDomain,
        tools: Object.fromEntries(
          stored.tools.map((tool) => [tool.id, { adapterDomain: tool.adapterDomain }]),
        ),
        config: { ...subject.config?.(server.url), ...config },
        secrets,
      });
    },
    call: (serviceId, signal) =>
      adapter.invoke({ serviceId, ...subject.call, ...(signal === undefined ? {} : { signal }) }),
    async [Symbol.asyncDispose]() {
      await adapter.teardown();
      await servers[Symbol.asyncDispose]();
    },
  };
  await bench.setup();
  const servers = opened.move();
  return bench;
}

async function listen(answer: (request: Received, response: ServerResponse) => void) {
  const server = createServer(async (incoming, response) => {
    response.on("error", () => {});
    const { method = "", url = "", headers } = incoming;
    answer({ method, url, headers, body: await text(incoming).catch(() => "") }, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
