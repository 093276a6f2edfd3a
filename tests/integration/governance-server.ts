/** A server with a bootstrap key, a scripted environment and tools in its database; and callers with keys of their own. */

import type { TestDatabase } from "./harness/database.ts";
import { TEST_KEY } from "./harness/http-app.ts";
import { type Answer, startServer, type TestServer } from "./harness/server.ts";
import { builtin } from "./modules-server.ts";
import { ScriptedEnvironment } from "./scripted-environment.ts";

export interface Caller {
  id: string;
  key: string;
  get(path: string): Promise<Answer>;
  send(method: string, path: string, json?: unknown): Promise<Answer>;
}

export interface GovernanceServer extends AsyncDisposable {
  server: TestServer;
  environment: ScriptedEnvironment;
  /** Makes a key and a caller that uses it. */
  makeKey(body?: Record<string, unknown>): Promise<Caller>;
  /** A caller with any text as its key. */
  callerWith(key: string, id?: string): Caller;
}

export interface GovernanceServerOptions {
  environment?: Record<string, string>;
  /** Another server of the same database. */
  database?: TestDatabase;
}

export async function startGovernanceServer(
  options: GovernanceServerOptions = {},
): Promise<GovernanceServer> {
  const environment = new ScriptedEnvironment();
  const server = await startServer({
    environment: { CYRNEL_API_KEY: TEST_KEY, ...options.environment },
    builtins: [builtin({ id: "typescript-process" }, () => environment)],
    ...(options.database ? { database: options.database } : {}),
  });
  const callerWith = (key: string, id = ""): Caller => {
    const headers = { authorization: `Bearer ${key}` };
    const send = (method: string, path: string, json?: unknown) =>
      server.request(method, path, { headers, ...(json === undefined ? {} : { json }) });
    return { id, key, send, get: (path) => send("GET", path) };
  };
  return {
    server,
    environment,
    callerWith,
    async makeKey(body = {}) {
      const answer = await server.post("/keys", { name: "test", scopes: [], ...body });
      if (answer.status !== 201) throw new Error(`POST /keys answered ${answer.status}: ${answer.text}`);
      return callerWith(answer.body.key, answer.body.id);
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** Installs tools without an adapter: enough for everything that only looks at them. */
export async function insertTools(
  server: TestServer,
  tools: readonly { service: string; tool: string; destructive?: boolean }[],
): Promise<void> {
  const { pool } = server;
  await pool`
    insert into modules (id, type, name, description, is_builtin, enabled, hash)
    values ('adapter', 'adapter', 'Adapter', '', false, false, ${"0".repeat(64)}) on conflict do nothing`;
  for (const [position, { service, tool, destructive = false }] of tools.entries()) {
    await pool`
      insert into services (id, name, description, adapter, hash, definition, adapter_domain, config_schema, secrets_schema)
      values (${service}, ${service}, '', 'adapter', ${"0".repeat(64)}, '', '{}', '{}', '{}') on conflict do nothing`;
    await pool`
      insert into tools (
        service_id, id, position, name, description, input_schema, output_schema, adapter_domain, destructive
      )
      values (${service}, ${tool}, ${position}, ${tool}, '', '{}', '{}', '{}', ${destructive})`;
  }
}
