/** A server as the console's tests need it: real environment and adapters, a key, and a small HTTP API to install. */
import { hash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { makePackage, moduleEntries } from "#tests/integration/custom-modules/packs.ts";
import { TEST_KEY } from "#tests/integration/harness/http-app.ts";
import { type Answer, startServer, type TestServer } from "#tests/integration/harness/server.ts";
import { SECRETS_KEY } from "#tests/integration/services-server.ts";

export const API_TOKEN = "token-of-the-orders-api-5d1f";

export interface ConsoleServer extends AsyncDisposable {
  server: TestServer;
  url: string;
  orders: OrdersApi;
  send(method: string, path: string, json?: unknown): Promise<Answer>;
}

export interface OrdersApi extends AsyncDisposable {
  /** What is pasted to install it. */
  document: string;
  /**
   * Where `openapi.json` and its registry entry `entry.json` are downloaded from, the package `module.tar.zst`, its entry
   * `module.json`, and `wrong-module.json`, whose digest is that of another package.
   */
  files: string;
  /** A newer version of the module, in the same place. */
  publishModule(version: string): Promise<void>;
  /** `Authorization` of each request so far. */
  seen: (string | undefined)[];
  /** Requests to /orders/slow wait for it. */
  release(): void;
}

export async function startConsoleServer(environment: Record<string, string> = {}): Promise<ConsoleServer> {
  await using undo = new AsyncDisposableStack();
  const orders = undo.use(await startOrdersApi());
  const server = await startServer({
    starterPackages: true,
    environment: {
      CYRNEL_API_KEY: TEST_KEY,
      CYRNEL_SECRETS_KEY: SECRETS_KEY,
      CYRNEL_EGRESS_ALLOW: "127.0.0.1",
      // One person plays both sides.
      CYRNEL_ALLOW_SELF_APPROVAL: "true",
      ...environment,
    },
  });
  undo.defer(() => server.close());
  const close = undo.move();
  return {
    server,
    url: server.url,
    orders,
    send: (method, path, json) =>
      server.request(method, path, {
        ...(json !== undefined && { json }),
        headers: { authorization: `Bearer ${TEST_KEY}` },
      }),
    [Symbol.asyncDispose]: () => close.disposeAsync(),
  };
}

async function startOrdersApi(): Promise<OrdersApi> {
  const seen: (string | undefined)[] = [];
  const waiting: (() => void)[] = [];
  const files = new Map<string, string | Buffer>();
  const http = createServer((request: IncomingMessage, response: ServerResponse) => {
    const file = files.get(request.url ?? "");
    if (file !== undefined) return void response.end(file);
    seen.push(request.headers.authorization);
    const answer = (body: unknown) =>
      response.setHeader("content-type", "application/json").end(JSON.stringify(body));
    if (request.headers.authorization !== `Bearer ${API_TOKEN}`) response.writeHead(401).end();
    else if (request.url === "/orders/slow") waiting.push(() => answer({ id: "slow", total: 7 }));
    else answer({ id: request.url?.split("/").at(-1), total: 42 });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const document = JSON.stringify(describeOrders(`http://127.0.0.1:${port}`), null, 2);
  files.set("/files/openapi.json", document);
  files.set("/files/entry.json", JSON.stringify({ downloadUrl: "./openapi.json", adapter: "openapi" }));
  const publishModule = async (version: string) => {
    const packed = await makePackage(moduleEntries({ id: "packed", version }, PACKED));
    const describe = (hash: string) => JSON.stringify({ downloadUrl: "./module.tar.zst", hash });
    files.set("/files/module.tar.zst", packed);
    files.set("/files/module.json", describe(hash("sha256", packed)));
    files.set("/files/wrong-module.json", describe(hash("sha256", "another package")));
  };
  await publishModule("1.0.0");
  return {
    publishModule,
    document,
    files: `http://127.0.0.1:${port}/files`,
    seen,
    release: () => {
      for (const go of waiting.splice(0)) go();
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        http.closeAllConnections();
        http.close(() => resolve());
      }),
  };
}

/** An adapter without a tool. */
const PACKED = `export const instantiate = () => ({
  setup() {}, teardown() {}, hydrateService() {}, dehydrateService() {}, invoke() {},
  generateDefinition: () => ({ name: "Nothing", tools: [] }),
});`;

function describeOrders(url: string) {
  const id = { name: "id", in: "path", required: true, schema: { type: "string" } };
  const order = {
    type: "object",
    properties: { id: { type: "string" }, total: { type: "number" } },
    required: ["id", "total"],
  };
  const answers = {
    200: { description: "An order", content: { "application/json": { schema: order } } },
  };
  return {
    openapi: "3.1.0",
    info: { title: "Orders", version: "1", description: "What customers have bought." },
    servers: [{ url }],
    components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
    security: [{ token: [] }],
    paths: {
      "/orders/{id}": {
        get: {
          operationId: "getOrder",
          summary: "Read an order",
          description: "Reads **one** order.",
          parameters: [id],
          responses: answers,
        },
        delete: {
          operationId: "cancelOrder",
          summary: "Cancel an order",
          parameters: [id],
          responses: answers,
        },
      },
    },
  };
}
