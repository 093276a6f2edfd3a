/** A server with one scripted adapter, allowed to download from loopback and to keep secrets. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ServiceRecord } from "#api/components/services/model.ts";
import type { TestDatabase } from "./harness/database.ts";
import { type Answer, startServer, type TestServer } from "./harness/server.ts";
import { builtin } from "./modules-server.ts";
import { define, ScriptedAdapter, type ScriptedDefinition } from "./scripted-adapter.ts";
import { ScriptedEnvironment } from "./scripted-environment.ts";

export const SECRETS_KEY = Buffer.from(
  "0a1f9c37e2b48d56f1c07a93be6422d8517fe0ac3b9d6482c5f70e19a8d35b64",
  "hex",
).toString("base64");

export interface ServicesServer extends TestServer {
  adapter: ScriptedAdapter;
  environment: ScriptedEnvironment;
  /** `POST /services` with a scripted definition. */
  install(id: string, definition?: ScriptedDefinition): Promise<Answer>;
  patch(path: string, json: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** `POST /services/:id/enabled`. */
  enable(id: string, enabled?: boolean): Promise<Answer>;
  service(id: string): Promise<ServiceRecord & Record<string, unknown>>;
  /** Rows of `tools`, in their order. */
  tools(id: string): Promise<{ id: string; enabled: boolean; name: string }[]>;
}

export interface ServicesServerOptions {
  adapter?: ScriptedAdapter;
  database?: TestDatabase;
  environment?: Record<string, string>;
}

export async function startServicesServer(options: ServicesServerOptions = {}): Promise<ServicesServer> {
  const adapter = options.adapter ?? new ScriptedAdapter();
  const environment = new ScriptedEnvironment();
  const server = await startServer({
    builtins: [
      builtin({ id: "typescript-process" }, () => environment),
      builtin({ id: "scripted", type: "adapter" }, () => adapter),
    ],
    environment: {
      CYRNEL_SECRETS_KEY: SECRETS_KEY,
      CYRNEL_EGRESS_ALLOW: "127.0.0.1",
      ...options.environment,
    },
    ...(options.database ? { database: options.database } : {}),
  });
  return {
    ...server,
    adapter,
    environment,
    install: (id, definition = {}) =>
      server.post("/services", { id, adapter: "scripted", content: define(definition) }),
    patch: (path, json, headers) => server.request("PATCH", path, { json, ...(headers ? { headers } : {}) }),
    enable: (id, enabled = true) => server.post(`/services/${id}/enabled`, { enabled }),
    service: async (id) => (await server.get(`/services/${id}`)).body,
    tools: (id) => server.pool`
      select id, enabled, name from tools where service_id = ${id} order by position`,
  };
}

export interface FileServer extends AsyncDisposable {
  url: string;
  /** Paths asked for so far. */
  requests: string[];
}

/** Answers each path with what is given for it; 404 for others. */
export async function serveFiles(
  files: Record<string, string | Buffer | ((request: IncomingMessage, response: ServerResponse) => void)>,
): Promise<FileServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    requests.push(path);
    const file = Object.hasOwn(files, path) ? files[path] : undefined;
    if (file === undefined) response.writeHead(404).end();
    else if (typeof file === "function") file(request, response);
    else response.end(file);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
