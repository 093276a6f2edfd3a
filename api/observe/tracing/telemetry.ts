/**
 * Creates and links spans. They contain ids, codes and times only, and nothing from a script, a tool or a client
 * except the client's own trace id.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import type { FastifyBaseLogger, FastifyRequest } from "fastify";
import { waitAtMost } from "#api/bounds/deadline.ts";
import type { App } from "#api/http/app-type.ts";
import type { RunObserver } from "#api/processes/model/records.ts";
import type { CallRecord } from "#api/tools/contract.ts";
import type { TracingSettings } from "./exporter.ts";
import { createProvider } from "./exporter.ts";

export interface Tracing extends Required<Omit<RunObserver, "filesLeft">>, AsyncDisposable {
  /** Creates a span for each request except probes and scrapes. Call before registering routes. */
  register(app: App): void;
  /** Returns the current request as W3C `traceparent`, or null outside a request. */
  traceParent(): string | null;
  callEnded(call: CallRecord): void;
}

const CLOSE_MS = 5000;
const SERVER_ERROR_STATUS = 500;
const QUIET_ROUTES = ["/health", "/metrics"];

export function createTelemetry(settings: TracingSettings, log: Pick<FastifyBaseLogger, "warn">): Tracing {
  const provider = createProvider(settings, log);
  const tracer = provider.getTracer("cyrnel");
  const propagator = new W3CTraceContextPropagator();
  const serving = new AsyncLocalStorage<Context>();
  const requests = new WeakMap<FastifyRequest, Context>();
  const runs = new Map<number, Span>();

  function readParent(traceparent: unknown): Context {
    if (typeof traceparent !== "string") return ROOT_CONTEXT;
    return propagator.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter);
  }

  function endRun(id: number, attributes: Record<string, string | number>, isError: boolean): void {
    const span = runs.get(id);
    if (span === undefined) return;
    runs.delete(id);
    span.setAttributes(attributes);
    if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  return {
    register(app) {
      app.addHook("onRequest", (request, reply, done) => {
        const route = request.routeOptions.url ?? "unknown";
        if (QUIET_ROUTES.some((quiet) => route.startsWith(quiet))) return done();
        const parent = readParent(request.headers.traceparent);
        const span = tracer.startSpan(
          `${request.method} ${route}`,
          {
            kind: SpanKind.SERVER,
            attributes: {
              "http.request.method": request.method,
              "http.route": route,
              "cyrnel.request.id": request.id,
            },
          },
          parent,
        );
        const context = trace.setSpan(parent, span);
        requests.set(request, context);
        // End the span even if the client disconnects before the response.
        reply.raw.once("close", () => {
          span.setAttribute("http.response.status_code", reply.statusCode);
          if (reply.statusCode >= SERVER_ERROR_STATUS) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        });
        serving.run(context, done);
      });
      // Restore the request's context, because reading a body continues in the connection's context.
      app.addHook("preHandler", (request, _reply, done) => {
        const context = requests.get(request);
        if (context === undefined) done();
        else serving.run(context, done);
      });
    },

    traceParent() {
      const context = serving.getStore();
      if (context === undefined) return null;
      const carrier: { traceparent?: string } = {};
      propagator.inject(context, carrier, defaultTextMapSetter);
      return carrier.traceparent ?? null;
    },

    runStarted({ id, traceParent }, environment) {
      endRun(id, {}, false);
      const attributes = { "cyrnel.process.id": id, "cyrnel.environment": environment };
      runs.set(id, tracer.startSpan("run", { attributes }, readParent(traceParent)));
    },

    runLeft(id) {
      endRun(id, { "cyrnel.run.exit_state": "left" }, false);
    },

    runEnded({ id, exitState, reason, usage }) {
      endRun(
        id,
        {
          "cyrnel.run.exit_state": exitState,
          "cyrnel.run.reason": reason,
          "cyrnel.run.queued_ms": usage.queuedMs,
          "cyrnel.run.start_ms": usage.startMs,
          "cyrnel.run.wall_ms": usage.wallMs,
          "cyrnel.run.cpu_ms": usage.cpuMs,
          "cyrnel.run.peak_memory_bytes": usage.peakMemoryBytes,
          "cyrnel.run.tool_calls": usage.toolCalls,
        },
        exitState === "failed" || exitState === "timeout",
      );
    },

    callEnded({ caller, serviceId, toolId, decision, outcome, code, httpStatus, durationMs, waitedMs }) {
      const run = caller.processId === undefined ? undefined : runs.get(caller.processId);
      const direct = caller.processId === undefined ? serving.getStore() : undefined;
      const parent = run === undefined ? direct : trace.setSpan(ROOT_CONTEXT, run);
      const endMs = Date.now();
      const span = tracer.startSpan(
        "tool call",
        {
          kind: SpanKind.CLIENT,
          startTime: endMs - durationMs,
          attributes: {
            "cyrnel.service.id": serviceId,
            "cyrnel.tool.id": toolId,
            "cyrnel.call.outcome": outcome,
            ...(decision !== null && { "cyrnel.policy.decision": decision.decision }),
            ...(waitedMs > 0 && { "cyrnel.call.waited_ms": waitedMs }),
            ...(code !== null && { "cyrnel.error.code": code }),
            ...(httpStatus !== null && { "http.response.status_code": httpStatus }),
            ...(caller.processId !== undefined && { "cyrnel.process.id": caller.processId }),
          },
        },
        parent ?? ROOT_CONTEXT,
      );
      if (outcome !== "ok") span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(endMs);
    },

    async [Symbol.asyncDispose]() {
      for (const id of [...runs.keys()]) endRun(id, { "cyrnel.run.exit_state": "unknown" }, false);
      await waitAtMost(provider.shutdown(), CLOSE_MS, "sending the last spans").catch(() => {});
    },
  };
}
