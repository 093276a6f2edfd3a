/** A server with the processes feature over a real database and the scripted environment, listening on loopback. */
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { buildApp } from "#api/app.ts";
import {
  createEnvironmentHost,
  type EnvironmentHost,
} from "#api/components/modules/activation/environment-host.ts";
import { type Config, parseConfig } from "#api/config.ts";
import { createPool, type Pool } from "#api/db/pool.ts";
import type { App } from "#api/http/app-type.ts";
import { createLifecycle } from "#api/http/guards.ts";
import { describeOnly } from "#api/openapi-main.ts";
import { createBindings } from "#api/processes/calls/bindings.ts";
import { RunRegistry } from "#api/processes/live/registry.ts";
import type { ProcessRecord } from "#api/processes/model/schemas.ts";
import { createProcessService, type ProcessService } from "#api/processes/service.ts";
import { createRedactor, type Redactor } from "#api/secrets/redactor.ts";
import type { ToolHost } from "#api/tools/contract.ts";
import { createStrictChecks } from "#api/tools/validation/strict-checks.ts";
import { NO_TOOLS } from "./harness/tools.ts";
import { ScriptedEnvironment } from "./scripted-environment.ts";

export interface ProcessesServer extends AsyncDisposable {
  app: App;
  url: string;
  pool: Pool;
  service: ProcessService;
  environment: ScriptedEnvironment;
  environments: EnvironmentHost;
  registry: RunRegistry;
  config: Config;
  /** What the server logged, parsed. */
  logs: Record<string, unknown>[];
  /** Stops like a server that is told to; 0 interrupts at once. */
  stop(drainMs?: number): Promise<void>;
}

export interface ProcessesServerOptions {
  databaseUrl: string;
  variables?: Record<string, string>;
  slots?: number;
  tools?: ToolHost;
  /** false: no environment is active. */
  active?: boolean;
  pool?: Pool;
  /** Default: one that knows no secret. */
  redactor?: Redactor;
}

export async function startProcessesServer(options: ProcessesServerOptions): Promise<ProcessesServer> {
  const parsed = parseConfig({ LOG_LEVEL: "warn", ...options.variables });
  if (!parsed.ok) throw new Error(parsed.problems.join("\n"));
  const { config } = parsed;
  const logs: Record<string, unknown>[] = [];
  const logger = pino({ level: "debug" }, { write: (line: string) => void logs.push(JSON.parse(line)) });
  const pool = options.pool ?? createPool(options.databaseUrl, { maxConnections: 5 });
  const lifecycle = createLifecycle();
  const registry = new RunRegistry();
  const redactor = options.redactor ?? createRedactor();
  const bindings = createBindings({
    registry,
    tools: options.tools ?? NO_TOOLS,
  });
  const environment = new ScriptedEnvironment(options.slots);
  await environment.setup({ config: {}, secrets: {}, fetch: globalThis.fetch, logger, bindings });
  const environments = createEnvironmentHost((error) => logger.error({ err: error }, "environment"));
  if (options.active !== false) activate(environments, environment);
  const service = createProcessService({
    db: pool,
    environments,
    registry,
    log: logger,
    config,
    checks: createStrictChecks(),
    redactor,
  });
  await service.start();
  const app = await buildApp(config, {
    ...describeOnly(logger),
    lifecycle,
    database: { watch: { reachable: true } },
    processes: service,
    redactor,
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  let stopping: Promise<void> | null = null;
  const stop = (drainMs = 0) => {
    stopping ??= (async () => {
      lifecycle.startDraining();
      await service.drain(drainMs);
      const closing = app.close();
      setTimeout(() => app.server.closeAllConnections(), 200);
      await closing;
      await environments.close();
      await pool.end({ timeout: 5 });
    })();
    return stopping;
  };
  return {
    app,
    url: `http://127.0.0.1:${port}`,
    pool,
    service,
    environment,
    environments,
    registry,
    config,
    logs,
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

export function activate(environments: EnvironmentHost, module: ScriptedEnvironment, id = "scripted"): void {
  environments.replace({ id, hash: "", module, teardown: () => module.teardown() });
}

export interface Answer<T = Record<string, unknown>> {
  status: number;
  headers: Headers;
  body: T;
  text: string;
}

/** One request; the body is parsed when it is JSON. */
export async function send<T = Record<string, unknown>>(
  server: ProcessesServer,
  method: string,
  path: string,
  body?: unknown,
  init: RequestInit = {},
): Promise<Answer<T>> {
  const response = await fetch(server.url + path, {
    method,
    ...init,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...init.headers },
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

export interface ErrorBody {
  error: string;
  code: string;
  requestId: string;
  issues?: { path: string; message: string }[];
}

/** Submits and waits for the end. */
export async function runScript(
  server: ProcessesServer,
  code: string,
  body: Record<string, unknown> = {},
): Promise<ProcessRecord> {
  const answer = await send<ProcessRecord>(server, "POST", "/processes", { code, block: true, ...body });
  if (answer.status !== 201) throw new Error(`POST /processes answered ${answer.status}: ${answer.text}`);
  return answer.body;
}

/** Submits without waiting; the id. */
export async function submit(
  server: ProcessesServer,
  code: string,
  body: Record<string, unknown> = {},
): Promise<number> {
  const answer = await send<{ id: number }>(server, "POST", "/processes", { code, ...body });
  if (answer.status !== 201) throw new Error(`POST /processes answered ${answer.status}: ${answer.text}`);
  return answer.body.id;
}

export async function read(server: ProcessesServer, id: number, query = ""): Promise<ProcessRecord> {
  return (await send<ProcessRecord>(server, "GET", `/processes/${id}${query}`)).body;
}

/** Polls until the condition holds; for states the server reaches on its own. */
export async function until<T>(
  what: string,
  probe: () => Promise<T | false> | T | false,
  maxMs = 30_000,
): Promise<T> {
  const deadline = Date.now() + maxMs;
  for (;;) {
    const value = await probe();
    if (value !== false && value !== undefined && value !== null) return value as T;
    if (Date.now() > deadline) throw new Error(`waited ${maxMs} ms in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Nothing is left of any run: no slot, no listener, no counter, nothing in the environment. */
export async function expectNothingLeft(server: ProcessesServer): Promise<void> {
  const nothing = {
    active: 0,
    queued: 0,
    running: 0,
    slotsTaken: 0,
    claimWaitMs: 0,
    unstored: 0,
    listeners: 0,
  };
  await until(
    "nothing is left",
    () => JSON.stringify(server.service.health()) === JSON.stringify(nothing),
    // A count that is wrong is brought in line every 3 s, unless something moves just then.
    20_000,
  ).catch(() => {
    throw new Error(`left behind: ${JSON.stringify(server.service.health())}`);
  });
  if (server.environment.held > 0)
    throw new Error(`the environment still holds ${server.environment.held} runs`);
}
