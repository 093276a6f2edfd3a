/** A server with modules that a test drives: real database, real processes, real HTTP, modules made in the test. */
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { buildApp } from "#api/app.ts";
import type { BuiltinModule } from "#api/components/modules/builtins.ts";
import type { ModuleLimits } from "#api/components/modules/host.ts";
import { createModules, type Modules } from "#api/components/modules/service.ts";
import { createSettings } from "#api/components/settings/service.ts";
import { parseConfig } from "#api/config.ts";
import { createPool, type Pool } from "#api/db/pool.ts";
import { createLifecycle } from "#api/http/guards.ts";
import { describeOnly } from "#api/openapi-main.ts";
import { createBindings } from "#api/processes/calls/bindings.ts";
import { RunRegistry } from "#api/processes/live/registry.ts";
import { createProcessService } from "#api/processes/service.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { createVault } from "#api/secrets/vault.ts";
import { createStrictChecks } from "#api/tools/validation/strict-checks.ts";
import type { ModuleManifest } from "#sdk";
import { NO_TOOLS } from "./harness/tools.ts";

export interface ModulesServer extends AsyncDisposable {
  url: string;
  pool: Pool;
  modules: Modules;
  /** What the server logged, parsed. */
  logs: Record<string, unknown>[];
  stop(): Promise<void>;
}

export interface ModulesServerOptions {
  databaseUrl: string;
  builtins?: BuiltinModule[];
  limits?: Partial<ModuleLimits>;
  variables?: Record<string, string>;
}

export async function startModulesServer(options: ModulesServerOptions): Promise<ModulesServer> {
  const parsed = parseConfig({ ...options.variables });
  if (!parsed.ok) throw new Error(parsed.problems.join("\n"));
  const { config } = parsed;
  const logs: Record<string, unknown>[] = [];
  const logger = pino({ level: "debug" }, { write: (line: string) => void logs.push(JSON.parse(line)) });
  const pool = createPool(options.databaseUrl, { maxConnections: 5 });
  const lifecycle = createLifecycle();
  const registry = new RunRegistry();
  const bindings = createBindings({ registry, tools: NO_TOOLS });
  const redactor = createRedactor();
  const secrets = createVault(null, redactor);
  const modules = createModules({
    secrets,
    watch: redactor,
    isolation: "strict",
    fetch: globalThis.fetch,
    pool,
    logger,
    ...(options.builtins && { builtins: options.builtins }),
    ...(options.limits && { limits: options.limits }),
  });
  const { environments } = modules;
  const processes = createProcessService({
    db: pool,
    environments,
    registry,
    log: logger,
    config,
    checks: createStrictChecks(),
    redactor,
  });
  const hosts = { module: modules.settings, service: modules.settings };
  await modules.start({ bindings });
  await processes.start();
  const database = { pool, watch: { reachable: true } };
  const app = await buildApp(config, {
    ...describeOnly(logger),
    packages: { listNames: () => [] } as never,
    lifecycle,
    database,
    processes,
    modules,
    settings: createSettings({ pool, secrets, watch: redactor, hosts }),
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  let stopping: Promise<void> | null = null;
  const stop = () => {
    stopping ??= (async () => {
      lifecycle.startDraining();
      await processes.drain(0);
      await app.close();
      await modules.close();
      await pool.end({ timeout: 5 });
    })();
    return stopping;
  };
  return { url: `http://127.0.0.1:${port}`, pool, modules, logs, stop, [Symbol.asyncDispose]: stop };
}

/** A bundled module made of a manifest and whatever it instantiates. */
export function builtin(
  manifest: Partial<ModuleManifest> & Pick<ModuleManifest, "id">,
  instantiate: () => unknown,
): BuiltinModule {
  const { id, type = "environment" } = manifest;
  const whole = { name: `The ${id}`, description: `Module ${id}`, main: "index.ts", ...manifest, type };
  return { id, type, load: async () => ({ manifest: whole, instantiate }) };
}

export interface Answer<T> {
  status: number;
  headers: Headers;
  body: T;
  text: string;
}

/** One request; the body is parsed when it is JSON. */
export async function send<T = Record<string, unknown>>(
  server: ModulesServer,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer<T>> {
  const response = await fetch(server.url + path, {
    method,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (isJson ? JSON.parse(text) : null) as T,
  };
}
