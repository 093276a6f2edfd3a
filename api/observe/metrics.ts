/**
 * Prometheus metrics: counts requests, runs and calls as they end, and reads the rest at each scrape. Label values
 * are limited in number, and clients and scripts cannot choose them freely. Depends on no feature; server.ts connects
 * them.
 */
import { Counter, Histogram, Registry } from "prom-client";
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { requireScope } from "#api/http/auth.ts";
import { errorResponses } from "#api/http/responses.ts";
import type { RunObserver } from "#api/processes/model/records.ts";
import type { CallRecord } from "#api/tools/contract.ts";
import { createFileCounters, type FileCounters } from "./file-counters.ts";
import { createGauges, type MetricsSources } from "./gauges.ts";

export interface Metrics extends Required<Pick<RunObserver, "runEnded">>, FileCounters {
  callEnded(call: CallRecord): void;
  packageInstalled(outcome: "done" | "failed" | "running", durationMs: number): void;
  register(app: App, sources: MetricsSources): void;
}

const KILLS = new Set([
  "timeout",
  "cpu_limit",
  "memory_limit",
  "output_limit",
  "sandbox_violation",
  "crashed",
  "killed",
  "interrupted",
]);
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const LONG_SECONDS = [1, 5, 15, 60, 300, 900, 3600, 14_400, 43_200, 86_400, 604_800];
const MEBIBYTE = 1024 * 1024;
const BYTES = [16, 32, 64, 128, 192, 256, 384, 512, 1024, 2048, 4096].map((size) => size * MEBIBYTE);
const MS_PER_SECOND = 1000;

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = <T extends string>(name: string, help: string, labelNames: readonly T[]) =>
    new Counter({ name: `cyrnel_${name}`, help, labelNames, registers });
  const histogram = <T extends string>(
    name: string,
    help: string,
    labelNames: readonly T[],
    buckets: number[] = SECONDS,
  ) => new Histogram({ name: `cyrnel_${name}`, help, labelNames, buckets, registers });

  const requests = counter("http_requests_total", "Requests answered.", ["method", "route", "status"]);
  const requestSeconds = histogram(
    "http_request_duration_seconds",
    "From a request to the end of its response.",
    ["method", "route"],
  );
  const runs = counter("runs_total", "Runs ended.", ["environment", "exit_state", "reason"]);
  const kills = counter("run_kills_total", "Runs that were ended from outside, or by breaking out.", [
    "reason",
  ]);
  // Starts every series at zero, because Prometheus sees increases only of existing series.
  for (const reason of KILLS) kills.inc({ reason }, 0);
  const queueSeconds = histogram("run_queue_seconds", "Waiting for a slot before a run.", ["environment"]);
  const startSeconds = histogram(
    "run_start_seconds",
    "From a slot to the script's start: its preparation and its child.",
    ["environment"],
  );
  const runSeconds = histogram("run_duration_seconds", "Running time.", ["environment", "exit_state"]);
  const runCpu = histogram("run_cpu_seconds", "CPU time of a run.", ["environment"]);
  const runMemory = histogram("run_peak_memory_bytes", "Peak memory of a run.", ["environment"], BYTES);
  const callSeconds = histogram(
    "tool_call_duration_seconds",
    "Tool calls, including refused ones, without the wait for an approver.",
    ["service", "tool", "status", "http_status"],
  );
  const waitSeconds = histogram(
    "tool_call_wait_seconds",
    "Time that tool calls waited for an approver.",
    ["status"],
    LONG_SECONDS,
  );
  const installations = histogram("package_installation_seconds", "Finished package installations.", [
    "outcome",
  ]);
  const boundEnvironment = createLabelBound(50);
  // Limits the tools used as labels, because each adds a series per bucket and status.
  const boundTool = createLabelBound(300);
  const boundRoute = createLabelBound(500);

  return {
    ...createFileCounters(registry),

    runEnded({ exitState, reason, usage }, id) {
      const environment = boundEnvironment(id);
      runs.inc({ environment, exit_state: exitState, reason });
      if (KILLS.has(reason)) kills.inc({ reason });
      queueSeconds.observe({ environment }, usage.queuedMs / MS_PER_SECOND);
      startSeconds.observe({ environment }, usage.startMs / MS_PER_SECOND);
      runSeconds.observe({ environment, exit_state: exitState }, usage.wallMs / MS_PER_SECOND);
      runCpu.observe({ environment }, usage.cpuMs / MS_PER_SECOND);
      runMemory.observe({ environment }, usage.peakMemoryBytes);
    },

    callEnded({ serviceId, toolId, decision, outcome, httpStatus, durationMs, waitedMs }) {
      // Rejected before policies decided: the tool may not exist, and the script chose its name.
      const path = decision === null ? "unknown" : boundTool(`${serviceId}.${toolId}`);
      const [service = path, tool = path] = path.split(".", 2);
      // Use only the status class, because each value adds a series per bucket and tool.
      const http_status = httpStatus === null ? "" : `${Math.floor(httpStatus / 100)}xx`;
      callSeconds.observe({ service, tool, status: outcome, http_status }, durationMs / MS_PER_SECOND);
      if (waitedMs > 0) waitSeconds.observe({ status: outcome }, waitedMs / MS_PER_SECOND);
    },

    packageInstalled(outcome, durationMs) {
      installations.observe({ outcome }, durationMs / MS_PER_SECOND);
    },

    register(app, sources) {
      app.addHook("onResponse", async (request, reply) => {
        const { method } = request;
        const route = boundRoute(request.routeOptions.url ?? "unknown");
        requests.inc({ method, route, status: String(reply.statusCode) });
        requestSeconds.observe({ method, route }, reply.elapsedTime / MS_PER_SECOND);
      });
      const readGauges = createGauges(registry, sources);
      app.get(
        "/metrics",
        {
          onRequest: requireScope("logs:read"),
          config: { withoutDatabase: true },
          schema: {
            tags: ["health"],
            security: [{ key: [] }],
            operationId: "getMetrics",
            summary: "Read the server's metrics",
            description:
              "The metrics of this replica in the text format of Prometheus. Works without a database.",
            produces: ["text/plain"],
            response: {
              200: z.string().describe("The text format of Prometheus."),
              ...errorResponses(),
            },
          },
        },
        async (_request, reply) => {
          await readGauges();
          const text = await registry.metrics();
          return reply.type(registry.contentType).serializer(String).send(text);
        },
      );
    },
  };
}

const OTHER = "other";

/** Returns a function that passes the first `maxValues` distinct values and replaces later ones with `other`. */
export function createLabelBound(maxValues: number): (value: string) => string {
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) return value;
    if (seen.size >= maxValues) return OTHER;
    seen.add(value);
    return value;
  };
}
