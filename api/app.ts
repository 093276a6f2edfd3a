/**
 * The composition root: everything the server exposes, in the order in which a request passes through it. Receives
 * opened dependencies; opens nothing and reads no environment variable.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import Fastify, { type FastifyBaseLogger, type FastifyRequest, LogController } from "fastify";
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import {
  type Lifecycle,
  registerDatabaseGuard,
  registerLifecycle,
  registerLocalGuard,
  registerNulGuard,
} from "#api/http/guards.ts";
import { MAX_BODY_BYTES, registerJsonBody } from "#api/http/json/body.ts";
import { registerDocumentation, registerOpenApi } from "#api/http/openapi/openapi.ts";
import { measureDisks } from "#api/observe/disks.ts";
import { type ReadinessCheck, registerHealthRoutes } from "#api/observe/health.ts";
import { registerLogRoutes } from "#api/observe/logs/routes.ts";
import type { Logs } from "#api/observe/logs/service.ts";
import type { Metrics } from "#api/observe/metrics.ts";
import type { Tracing } from "#api/observe/tracing/telemetry.ts";
import { registerKeyRoutes } from "./access/keys/routes.ts";
import { registerPolicyRoutes } from "./access/policies/routes.ts";
import { registerRoleRoutes } from "./access/roles/routes.ts";
import { registerApprovalRoutes } from "./approvals/routes.ts";
import type { Approvals } from "./approvals/service.ts";
import { carrySecretsFor, registerAudit } from "./audit/http-hook.ts";
import { registerAuditRoutes } from "./audit/routes.ts";
import { moduleParamsSchema } from "./components/modules/model.ts";
import { registerModuleRoutes } from "./components/modules/routes.ts";
import type { Modules } from "./components/modules/service.ts";
import { serviceParamsSchema } from "./components/services/model.ts";
import { registerServiceRoutes } from "./components/services/routes.ts";
import type { Services } from "./components/services/service.ts";
import { registerSettingsRoutes } from "./components/settings/routes.ts";
import type { ComponentSettings } from "./components/settings/service.ts";
import type { Config } from "./config.ts";
import { registerConsole } from "./console/pages.ts";
import { registerEnvironmentRoutes } from "./environment/routes.ts";
import { createEnvironmentService } from "./environment/service.ts";
import { registerFileRoutes } from "./files/routes.ts";
import { registerArtifactRoutes } from "./files/routes-artifacts.ts";
import type { Files } from "./files/service.ts";
import type { AccessDeps } from "./governance.ts";
import type { App } from "./http/app-type.ts";
import { registerAuth, registerAuthRefusal, rightsOf } from "./http/auth.ts";
import { answerBrokenRequest, answerError, registerErrorHandler } from "./http/error-handler.ts";
import { registerConnectionLimits, registerRateLimit } from "./http/guards.ts";
import { registerMcpRoutes } from "./mcp/routes.ts";
import { createMcpPorts } from "./mcp-ports.ts";
import { registerPackageRoutes } from "./packages/routes.ts";
import type { Packages } from "./packages/service.ts";
import { registerProcessRoutes } from "./processes/routes.ts";
import { registerEventRoutes } from "./processes/routes-events.ts";
import type { ProcessService } from "./processes/service.ts";
import { registerRosterRoutes } from "./replicas/roster/routes.ts";
import type { Roster } from "./replicas/roster/service.ts";
import { type ReplicaRoutesDeps, registerReplicaRoutes } from "./replicas/routes.ts";
import type { Redactor } from "./secrets/redactor.ts";
import { registerToolRoutes } from "./tools/routes.ts";
import type { Tools } from "./tools/service.ts";

export interface AppDeps {
  logger: FastifyBaseLogger;
  lifecycle: Lifecycle;
  readiness: ReadinessCheck[];
  metrics: Metrics;
  /**
   * Returns the number of slots of all servers on the database, or null if unknown. Missing if this is the only
   * server.
   */
  countSlots?: () => number | null;
  /** Missing or null if nothing is traced. */
  tracing?: Tracing | null;
  database: { watch: { readonly reachable: boolean }; ping?(): Promise<unknown> };
  logs: Logs;
  processes: ProcessService;
  files: Files;
  packages: Packages;
  modules: Modules;
  /** Knows the secrets that no response may contain. */
  redactor: Redactor;
  services: Services;
  settings: ComponentSettings;
  tools: Tools;
  approvals: Approvals;
  /** Routes for other servers on the same database. */
  replicas?: ReplicaRoutesDeps;
  roster: Roster;
  access: AccessDeps;
}

const CONSOLE_DIRECTORY = fileURLToPath(new URL("../dist/console", import.meta.url));

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Limits for requests. Responses may take as long as a run does. */
const HTTP_LIMITS = {
  bodyLimit: MAX_BODY_BYTES,
  connectionTimeout: 0,
  keepAliveTimeout: 72_000,
  maxRequestsPerSocket: 0,
  maxParamCharacters: 200,
  maxHeaderBytes: 16 * 1024,
  /** Time limit for the headers, shorter than that for the complete request. Both are checked every `lookMs`. */
  headersTimeoutMs: 15_000,
  lookMs: 5000,
};

/** Builds the server with all its routes. Call `ready()` before `listen()`. */
export async function buildApp(config: Config, deps: AppDeps): Promise<App> {
  const { logger, processes, modules, access } = deps;
  const app: App = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: "requestId" }),
    bodyLimit: HTTP_LIMITS.bodyLimit,
    requestTimeout: config.requestTimeoutMs,
    connectionTimeout: HTTP_LIMITS.connectionTimeout,
    keepAliveTimeout: HTTP_LIMITS.keepAliveTimeout,
    maxRequestsPerSocket: HTTP_LIMITS.maxRequestsPerSocket,
    http: {
      maxHeaderSize: HTTP_LIMITS.maxHeaderBytes,
      headersTimeout: Math.min(HTTP_LIMITS.headersTimeoutMs, config.requestTimeoutMs / 2),
      connectionsCheckingInterval: Math.min(HTTP_LIMITS.lookMs, config.requestTimeoutMs / 2),
    },
    routerOptions: { maxParamLength: HTTP_LIMITS.maxParamCharacters },
    forceCloseConnections: "idle",
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: chooseRequestId,
    frameworkErrors: (error, request, reply) => void answerError(error, request, reply, deps.redactor),
    clientErrorHandler: answerBrokenRequest,
  }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);

  registerRequestTrace(app);
  deps.tracing?.register(app);
  registerErrorHandler(app, deps.redactor);
  if (config.apiKey === null) registerLocalGuard(app);
  registerLifecycle(app, deps.lifecycle, () => processes.isHandingOver());
  registerJsonBody(app, config.maxPendingBodyBytes);
  await registerOpenApi(app);
  // Must come before the check that every route declares its access, because these routes belong to a library.
  await registerDocumentation(app);
  await registerConsole(app, { directory: CONSOLE_DIRECTORY, needsKey: config.apiKey !== null });

  registerAuth(app, { apiKey: config.apiKey, keys: access.verifier });
  await registerRateLimit(app, config.rateLimit);
  registerAuthRefusal(app);
  registerNulGuard(app);
  registerConnectionLimits(app);

  const countQueued = () => processes.health().queued;
  const environment = createEnvironmentService({
    modules,
    countQueued,
    listPackages: (viewer) => deps.packages.listNames(viewer),
    logger,
  });

  registerHealthRoutes(app, deps.readiness);
  deps.metrics.register(app, {
    environment: () => environment.describe(),
    processes: () => processes.health(),
    ...(deps.countSlots && { countSlots: deps.countSlots }),
    waiting: async () => deps.approvals.measureWaiting(),
    stored: async () => deps.files.measure(),
    objectStore: async () => deps.files.isStoreReachable(),
    disks: () => measureDisks(config),
    packages: async () => deps.packages.measure(),
    database: deps.database,
  });
  registerDatabaseGuard(app, deps.database.watch);
  if (deps.replicas) registerReplicaRoutes(app, deps.replicas);
  registerAudit(app, access.audit);
  registerProcessRoutes(app, processes, config);
  registerEventRoutes(app, processes);
  registerArtifactRoutes(app, deps.files);
  await registerFileRoutes(app, deps.files);
  registerPackageRoutes(app, deps.packages);
  registerModuleRoutes(app, modules);
  registerSettingsRoutes(app, "module", moduleParamsSchema, deps.settings);
  const sightOf = (request: FastifyRequest) => {
    const caller = rightsOf(request.caller);
    return {
      visible: (ids: readonly string[]) => deps.tools.visibleServices(ids, caller),
      wouldShow: (id: string, toolIds: readonly string[]) => deps.tools.wouldShow(id, toolIds, caller),
    };
  };
  const carryFor = carrySecretsFor(access.audit);
  registerServiceRoutes(app, deps.services, sightOf, carryFor);
  registerSettingsRoutes(app, "service", serviceParamsSchema, deps.settings, carryFor);
  registerToolRoutes(app, deps.tools, deps.packages);
  registerApprovalRoutes(app, deps.approvals);
  registerKeyRoutes(app, access.keys);
  registerRoleRoutes(app, access.roles);
  registerPolicyRoutes(app, access.policies, access.gate);
  registerAuditRoutes(app, access.trail);
  registerLogRoutes(app, deps.logs);
  registerRosterRoutes(app, deps.roster);
  registerEnvironmentRoutes(app, environment);
  registerMcpRoutes(
    app,
    createMcpPorts({
      config,
      processes,
      files: deps.files,
      tools: deps.tools,
      packages: deps.packages,
      approvals: deps.approvals,
      readDocs: (caller) => environment.readDocs(rightsOf(caller)),
      keys: access.verifier,
      audit: access.audit,
      redactor: deps.redactor,
      log: logger,
    }),
  );
  return app;
}

/** Keeps a client's own request id if it is safe in a log line. */
function chooseRequestId(request: IncomingMessage): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
}

/**
 * Headers for responses, which are data and never pages of this origin: browsers must not run or frame them, and
 * proxies must not cache them. Transport security is left to the proxy that terminates TLS, because this server
 * speaks plain HTTP.
 */
const ANSWER_HEADERS = {
  "content-security-policy": "default-src 'none';frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "origin-agent-cluster": "?1",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-dns-prefetch-control": "off",
  "x-download-options": "noopen",
  "x-frame-options": "SAMEORIGIN",
  "x-permitted-cross-domain-policies": "none",
  "x-xss-protection": "0",
  "cache-control": "no-store",
};

/**
 * Adds common headers to every response and logs one line per request; health checks and console files only at level
 * debug.
 */
function registerRequestTrace(app: App): void {
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id).headers(ANSWER_HEADERS);
    done();
  });
  app.addHook("onResponse", async (request, reply) => {
    const isQuiet = /^\/(health|console\/)/.test(request.routeOptions.url ?? "");
    const level = isQuiet ? "debug" : "info";
    request.log[level](
      {
        type: "request",
        method: request.method,
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime * 10) / 10,
        caller: request.caller?.id ?? null,
      },
      "request",
    );
  });
}

/** Time for responses in progress to complete at shutdown. */
const ANSWER_GRACE_MS = 1000;
const LOOK_MS = 20;

/**
 * Lets tool calls finish for up to `maxCallsMs`, then responses in progress, and finally closes event streams and
 * idle connections.
 */
export async function closeApp(app: App, countCalls: () => number, maxCallsMs: number): Promise<void> {
  const untilMs = performance.now() + maxCallsMs;
  while (countCalls() > 0 && performance.now() < untilMs) await sleep(LOOK_MS);

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
