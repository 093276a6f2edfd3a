/**
 * One server in this process: its features over an open database, built, recovered and ready to listen, and the order
 * in which all of it ends. Opens no database, reads no environment variable, handles no signal.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyBaseLogger } from "fastify";
import { buildApp } from "./app.ts";
import type { Config } from "./config.ts";
import { listAppliedMigrations, listMigrations } from "./db/migrate.ts";
import type { Pool } from "./db/pool.ts";
import type { App } from "./http/app-type.ts";
import type { ReadinessCheck } from "./http/health.ts";
import { createLifecycle } from "./http/lifecycle.ts";
import type { BuiltinModule } from "./modules/builtins.ts";
import { createModules, type Modules } from "./modules/service.ts";
import { createBindings } from "./processes/bindings.ts";
import { RunRegistry } from "./processes/registry.ts";
import { createProcessService } from "./processes/service.ts";
import { NO_TOOLS, type ToolHost } from "./processes/tool-host.ts";

export interface ServerDeps {
  /** Migrated, and of this server only. Closed by whoever opened it. */
  database: { pool: Pool; readonly reachable: boolean };
  logger: FastifyBaseLogger;
  /** Default: the bundled modules. */
  builtins?: readonly BuiltinModule[];
  /** Default: no services are installed. */
  tools?: ToolHost;
}

export interface CyrnelServer extends AsyncDisposable {
  readonly app: App;
  readonly modules: Modules;
  /** Listens as configured; the address as a URL. */
  listen(): Promise<string>;
  /**
   * Takes no new work, lets runs finish for `shutdownTimeoutMs`, ends the rest as interrupted, closes everything in
   * reverse. Idempotent; bounded by `shutdownTimeoutMs` + about 30 s.
   */
  stop(): Promise<void>;
}

/** How long answers that are being written may take after the last run has ended. */
const ANSWER_GRACE_MS = 1000;

export async function openServer(config: Config, deps: ServerDeps): Promise<CyrnelServer> {
  const { database, logger } = deps;
  await using undo = new AsyncDisposableStack();
  const lifecycle = createLifecycle();
  const registry = new RunRegistry();
  const bindings = createBindings({
    registry,
    tools: deps.tools ?? NO_TOOLS,
    invokeTimeoutMs: config.invokeTimeoutMs,
  });
  const modules = createModules({
    pool: database.pool,
    logger,
    bindings,
    isolation: config.isolation,
    ...(deps.builtins === undefined ? {} : { builtins: deps.builtins }),
  });
  undo.defer(() => modules.close());
  const { environments } = modules;
  const processes = createProcessService({ db: database.pool, environments, registry, log: logger, config });

  const known = await listMigrations();
  const readiness: ReadinessCheck[] = [
    {
      name: "database",
      check: async () => {
        if (!database.reachable) return "the database does not answer";
        await database.pool`select 1`;
        return null;
      },
    },
    {
      name: "migrations",
      check: async () => {
        const applied = await listAppliedMigrations(database.pool);
        if (applied.join() === known.join()) return null;
        return `the schema is at ${applied.at(-1) ?? "nothing"}, this program is at ${known.at(-1) ?? "nothing"}`;
      },
    },
    {
      name: "environment",
      check: () =>
        environments.active() ? null : "no environment is active; enable one: POST /modules/:id/enabled",
    },
    {
      name: "results",
      check: () => {
        const { unstored } = processes.health();
        return unstored === 0
          ? null
          : `${unstored} finished runs wait in memory until the database takes them`;
      },
    },
    { name: "draining", check: () => (lifecycle.draining ? "the server is shutting down" : null) },
  ];
  const app = await buildApp(config, { logger, lifecycle, readiness, database, processes, modules });
  undo.defer(() => closeApp(app));
  await app.ready();

  await modules.start();
  undo.defer(() => processes.drain(config.shutdownTimeoutMs));
  await processes.start();

  const close = undo.move();
  let stopping: Promise<void> | null = null;
  const stop = () => {
    lifecycle.startDraining();
    stopping ??= close.disposeAsync();
    return stopping;
  };
  return {
    app,
    modules,
    listen: () => app.listen({ port: config.port, host: config.host }),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Lets answers that are on their way finish, then cuts what is still open (event streams, idle connections). */
async function closeApp(app: App): Promise<void> {
  const closing = app.close();
  const done = new AbortController();
  const late = sleep(ANSWER_GRACE_MS, undefined, { signal: done.signal }).then(
    () => app.server.closeAllConnections(),
    () => {},
  );
  await closing;
  done.abort();
  await late;
}
