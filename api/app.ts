/**
 * The composition root: everything the server exposes, in the order in which a request meets it. Takes ready things,
 * opens nothing, reads no environment variable.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import helmet from "@fastify/helmet";
import Fastify, { type FastifyBaseLogger, LogController } from "fastify";
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import type { Config } from "./config.ts";
import { registerEnvironmentRoutes } from "./environment/routes.ts";
import { createEnvironmentService } from "./environment/service.ts";
import type { App } from "./http/app-type.ts";
import { registerAuth, registerAuthRefusal } from "./http/auth.ts";
import { registerDatabaseGuard } from "./http/database-guard.ts";
import { answerBrokenRequest, answerError, registerErrorHandler } from "./http/error-handler.ts";
import { type ReadinessCheck, registerHealthRoutes } from "./http/health.ts";
import { MAX_BODY_BYTES, registerJsonBody } from "./http/json-body.ts";
import { type Lifecycle, registerLifecycle } from "./http/lifecycle.ts";
import { registerLocalGuard } from "./http/local-guard.ts";
import { registerDocumentation, registerOpenApi } from "./http/openapi.ts";
import { registerRateLimit } from "./http/rate-limit.ts";
import { registerModuleRoutes } from "./modules/routes.ts";
import type { Modules } from "./modules/service.ts";
import { registerProcessRoutes } from "./processes/routes.ts";
import type { ProcessService } from "./processes/service.ts";

export interface AppDeps {
  logger: FastifyBaseLogger;
  lifecycle: Lifecycle;
  readiness: ReadinessCheck[];
  database: { readonly reachable: boolean };
  processes: ProcessService;
  modules: Modules;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** How long a client may take, and how much it may send. Answers may take as long as a run does. */
const HTTP_LIMITS = {
  bodyLimit: MAX_BODY_BYTES,
  requestTimeout: 30_000,
  connectionTimeout: 0,
  keepAliveTimeout: 72_000,
  maxRequestsPerSocket: 0,
  maxConnections: 10_000,
  maxParamCharacters: 200,
  http: { maxHeaderSize: 16 * 1024, headersTimeout: 15_000, connectionsCheckingInterval: 5000 },
};

/** Builds the server with all its routes; call `ready()` before `listen()`. */
export async function buildApp(config: Config, deps: AppDeps): Promise<App> {
  const { logger, processes, modules } = deps;
  const app: App = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: "requestId" }),
    bodyLimit: HTTP_LIMITS.bodyLimit,
    requestTimeout: HTTP_LIMITS.requestTimeout,
    connectionTimeout: HTTP_LIMITS.connectionTimeout,
    keepAliveTimeout: HTTP_LIMITS.keepAliveTimeout,
    maxRequestsPerSocket: HTTP_LIMITS.maxRequestsPerSocket,
    http: HTTP_LIMITS.http,
    routerOptions: { maxParamLength: HTTP_LIMITS.maxParamCharacters },
    forceCloseConnections: "idle",
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: chooseRequestId,
    frameworkErrors: (error, request, reply) => void answerError(error, request, reply),
    clientErrorHandler: answerBrokenRequest,
  }).withTypeProvider<ZodTypeProvider>();
  app.server.maxConnections = HTTP_LIMITS.maxConnections;
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);

  registerRequestTrace(app);
  await registerSecurityHeaders(app);
  registerErrorHandler(app);
  if (config.apiKey === null) registerLocalGuard(app);
  registerLifecycle(app, deps.lifecycle);
  registerJsonBody(app);
  await registerOpenApi(app);
  // Before the check that routes declare their access: the routes of the page are its library's.
  await registerDocumentation(app);

  registerAuth(app, config);
  await registerRateLimit(app, config.rateLimit);
  registerAuthRefusal(app);

  registerHealthRoutes(app, deps.readiness);
  registerDatabaseGuard(app, deps.database);
  registerProcessRoutes(app, processes, config);
  registerModuleRoutes(app, modules);
  const countQueued = () => processes.health().queued;
  registerEnvironmentRoutes(app, createEnvironmentService({ modules, countQueued, logger }));
  return app;
}

/** A client's own request id is kept if it is harmless in a log line. */
function chooseRequestId(request: IncomingMessage): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
}

/** The id on every answer, and one log line per request: health checks only at level debug. */
function registerRequestTrace(app: App): void {
  app.addHook("onRequest", async (request, reply) => {
    reply.header("x-request-id", request.id);
  });
  app.addHook("onResponse", async (request, reply) => {
    const level = request.routeOptions.url?.startsWith("/health") ? "debug" : "info";
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

/** Answers are data, never pages of this origin: nothing in them may run, be framed or be kept by a proxy. */
async function registerSecurityHeaders(app: App): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    crossOriginResourcePolicy: { policy: "same-origin" },
    // Transport security belongs to whoever terminates TLS; this server speaks plain HTTP.
    strictTransportSecurity: false,
  });
  app.addHook("onRequest", async (_request, reply) => {
    reply.header("cache-control", "no-store");
  });
}
