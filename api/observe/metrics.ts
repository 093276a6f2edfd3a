/**
 * What the server counts about itself, for Prometheus: requests, runs and calls as they end, the rest read when it is asked.
 * Every label is bounded: nothing a client or a script can choose becomes one. Knows no feature; server.ts connects it.
 */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { z } from "zod";
import { waitAtMost } from "#api/bounds/deadline.ts";
import type { EnvironmentDescription } from "#api/environment/model.ts";
import type { App } from "#api/http/app-type.ts";
import { requireScope } from "#api/http/auth.ts";
import { errorResponses } from "#api/http/responses.ts";
import type { RunObserver } from "#api/processes/model/records.ts";
import type { ProcessesHealth } from "#api/processes/service.ts";
import type { CallRecord } from "#api/tools/gate.ts";
import { ISOLATION_LEVELS } from "#sdk";

/** What is read at the moment of a scrape. */
export interface MetricsSources {
  /** Rejects or resolves to null while no environment is active. */
  environment(): Promise<EnvironmentDescription | null>;
  processes(): ProcessesHealth;
  /** Of all servers on the database together; null where that is not known. Absent: this one is alone. */
  countSlots?(): number | null;
  /** What waits for people, of all servers on the database together. Absent: it is not told. */
  waiting?(): Promise<{ approvals: number; oldestMs: number; paused: number }>;
  /** What is stored of files, of all servers on the database together. Absent: it is not told. */
  stored?(): Promise<{ contents: number; bytes: number }>;
  /** What is installed of packages, of all servers on the database together. Absent: it is not told. */
  packages?(): Promise<{ packages: number; bytes: number }>;
  database: {
    watch: { readonly reachable: boolean };
    /** A statement that does nothing. Absent: its time is not told. */
    ping?(): Promise<unknown>;
  };
}

export interface Metrics extends Required<Pick<RunObserver, "runEnded">> {
  callEnded(call: CallRecord): void;
  /** `bytes`: that came of it. */
  fileUploaded(outcome: "stored" | "failed", bytes: number): void;
  filesSwept(what: "files" | "contents" | "blobs", count: number): void;
  packageInstalled(outcome: "done" | "failed" | "running", durationMs: number): void;
  /** Counts the requests of all routes and answers `GET /metrics`. */
  register(app: App, sources: MetricsSources): void;
}

/** Reasons that mean that the run was ended from outside. */
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
/** People: from seconds to weeks. */
const LONG_SECONDS = [1, 5, 15, 60, 300, 900, 3600, 14_400, 43_200, 86_400, 604_800];
const MEBIBYTE = 1024 * 1024;
const BYTES = [16, 32, 64, 128, 192, 256, 384, 512, 1024, 2048, 4096].map((size) => size * MEBIBYTE);
const MAX_PING_MS = 1000;
const MS_PER_SECOND = 1000;

/** Makes them for one server. Nothing is measured until it is told or asked. */
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
  const requestSeconds = histogram("http_request_duration_seconds", "From a request to its whole answer.", [
    "method",
    "route",
  ]);
  const runs = counter("runs_total", "Runs ended.", ["environment", "exit_state", "reason"]);
  const kills = counter("run_kills_total", "Runs that were ended from outside, or by breaking out.", [
    "reason",
  ]);
  // From the start: Prometheus sees an increase only of a series that was there before.
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
    "Tool calls, refused ones included, without waiting for a person.",
    ["service", "tool", "status"],
  );
  const waitSeconds = histogram(
    "tool_call_wait_seconds",
    "How long tool calls that a person was asked about stood still for it.",
    ["status"],
    LONG_SECONDS,
  );
  const uploads = counter("file_uploads_total", "Uploads that are over.", ["outcome"]);
  const uploadedBytes = counter("file_upload_bytes_total", "Bytes of uploads that came.", ["outcome"]);
  const swept = counter(
    "files_swept_total",
    "What sweeps removed: files past their time, contents that nothing refers to, and their blobs.",
    ["what"],
  );
  const installations = histogram(
    "package_installation_seconds",
    "Installations of packages that are over.",
    ["outcome"],
  );
  const boundEnvironment = createLabelBound(50);
  // Each takes a series per bucket and status.
  const boundTool = createLabelBound(300);
  const boundRoute = createLabelBound(500);

  return {
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

    callEnded({ serviceId, toolId, decision, outcome, durationMs, waitedMs }) {
      // Refused before the policies were asked: the tool may not exist, and its name is then the script's own.
      const path = decision === null ? "unknown" : boundTool(`${serviceId}.${toolId}`);
      const [service = path, tool = path] = path.split(".", 2);
      callSeconds.observe({ service, tool, status: outcome }, durationMs / MS_PER_SECOND);
      if (waitedMs > 0) waitSeconds.observe({ status: outcome }, waitedMs / MS_PER_SECOND);
    },

    fileUploaded(outcome, bytes) {
      uploads.inc({ outcome });
      uploadedBytes.inc({ outcome }, bytes);
    },

    filesSwept(what, count) {
      swept.inc({ what }, count);
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
          // What a server without its database counts is worth knowing.
          config: { withoutDatabase: true },
          schema: {
            tags: ["health"],
            security: [{ key: [] }],
            summary: "What the server counts about itself, for Prometheus",
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

/** Answers what brings them up to date; to be called before each look at the registry. */
function createGauges(registry: Registry, sources: MetricsSources): () => Promise<void> {
  const registers = [registry];
  const gauge = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
    new Gauge({ name: `cyrnel_${name}`, help, labelNames, registers });
  const slots = gauge("slots", "Runs at once, of the active environment.");
  const busy = gauge("slots_busy", "Runs at the moment, of the active environment.");
  const warm = gauge("warm_children", "Children started ahead, waiting for a run.");
  const memory = gauge("children_memory_bytes", "Memory of all children together, idle ones included.");
  const level = gauge("isolation_level", "1 for the strongest level whose layers all stand.", ["level"]);
  const layer = gauge("isolation_layer", "Whether a layer round each run stands.", [
    "layer",
    "name",
    "required",
  ]);
  const zygoteAge = gauge(
    "zygote_age_seconds",
    "Age of the prepared process that those of runs are forked from.",
  );
  const zygoteForks = gauge("zygote_forks", "Processes forked from the present zygote.");
  const zygoteRenewals = gauge(
    "zygote_renewals",
    "Zygotes that were replaced since the environment was activated.",
  );
  const queued = gauge("queue_depth", "Processes waiting for a slot.");
  const active = gauge("processes_active", "Queued, running and terminating.");
  const load = gauge(
    "load_ratio",
    "Runs of this server and its part of the queue, per slot of it. Beyond 1 there is more than can run: for autoscalers.",
  );
  const approvals = gauge("approvals_pending", "Approvals that wait for a person, of all servers.");
  const oldest = gauge(
    "approval_oldest_seconds",
    "How long the oldest pending approval has waited; 0 without any.",
  );
  const paused = gauge("processes_paused", "Runs that stand still for a person, of all servers.");
  const contents = gauge("file_contents", "Contents of files that are stored, of all servers.");
  const storedBytes = gauge("file_stored_bytes", "Bytes of these contents.");
  const packages = gauge("packages_installed", "Installed versions of packages, of all servers.");
  const bundleBytes = gauge("package_bundle_bytes", "Bytes of the code that scripts get of them.");
  const unstored = gauge("endings_unstored", "Finished runs that wait for the database.");
  const listeners = gauge("listeners", "Long-polls, blocking requests and event streams.");
  const up = gauge("database_up", "Whether the database answers.");
  const pool = gauge(
    "database_pool_seconds",
    "How long a statement that does nothing took, the wait for a connection of the pool included.",
  );
  const resident = gauge("resident_memory_bytes", "Memory of the server itself.");
  const cpu = gauge("cpu_seconds", "CPU time of the server itself since its start.");

  function showEnvironment(environment: EnvironmentDescription | null): void {
    for (const one of [slots, busy, warm, memory, level, layer, zygoteAge, zygoteForks, zygoteRenewals])
      one.reset();
    if (environment === null) return;
    const { capacity, isolation, zygote } = environment;
    if (zygote !== null) {
      zygoteAge.set(zygote.ageMs / 1000);
      zygoteForks.set(zygote.forks);
      zygoteRenewals.set(zygote.renewals);
    }
    if (capacity.slots !== null) slots.set(capacity.slots);
    busy.set(capacity.busy);
    warm.set(capacity.warm);
    if (capacity.memoryBytes !== null) memory.set(capacity.memoryBytes);
    if (isolation === null) return;
    for (const name of ISOLATION_LEVELS) level.set({ level: name }, isolation.level === name ? 1 : 0);
    for (const { layer: number, name, required, obtained } of isolation.layers) {
      layer.set({ layer: String(number), name, required: String(required) }, obtained ? 1 : 0);
    }
  }

  /** All servers share the queue: the part of each is its part of all slots. */
  function showLoad(environment: EnvironmentDescription | null, queuedProcesses: number): void {
    load.remove();
    const { slots: own = null, busy: running = 0 } = environment?.capacity ?? {};
    if (own === null || own === 0) return;
    const all = Math.max(own, sources.countSlots?.() ?? own);
    load.set(running / own + queuedProcesses / all);
  }

  return async () => {
    const { database } = sources;
    const [environment, seconds, waiting, stored, installed] = await Promise.all([
      sources.environment().catch(() => null),
      database.watch.reachable && database.ping ? measurePing(database.ping) : null,
      database.watch.reachable && sources.waiting ? answerSoon(sources.waiting) : null,
      database.watch.reachable && sources.stored ? answerSoon(sources.stored) : null,
      database.watch.reachable && sources.packages ? answerSoon(sources.packages) : null,
    ]);
    for (const one of [approvals, oldest, paused, contents, storedBytes, packages, bundleBytes]) one.remove();
    if (installed !== null) {
      packages.set(installed.packages);
      bundleBytes.set(installed.bytes);
    }
    if (stored !== null) {
      contents.set(stored.contents);
      storedBytes.set(stored.bytes);
    }
    if (waiting !== null) {
      approvals.set(waiting.approvals);
      oldest.set(waiting.oldestMs / MS_PER_SECOND);
      paused.set(waiting.paused);
    }
    showEnvironment(environment);
    const health = sources.processes();
    queued.set(health.queued);
    active.set(health.active);
    showLoad(environment, health.queued);
    unstored.set(health.unstored);
    listeners.set(health.listeners);
    up.set(database.watch.reachable ? 1 : 0);
    if (seconds === null) pool.remove();
    else pool.set(seconds);
    resident.set(process.memoryUsage.rss());
    const { user, system } = process.cpuUsage();
    cpu.set((user + system) / 1e6);
  };
}

/** Null: it failed, or took too long. */
async function measurePing(ping: () => Promise<unknown>): Promise<number | null> {
  const before = performance.now();
  const answered = await answerSoon(() => ping().then(() => true));
  return answered ? (performance.now() - before) / MS_PER_SECOND : null;
}

/** Null: it failed, or took too long. */
function answerSoon<T>(ask: () => Promise<T>): Promise<T | null> {
  return waitAtMost(ask(), MAX_PING_MS, "a figure of the database").catch(() => null);
}

const OTHER = "other";

/** Passes the first `maxValues` distinct values on; all that come after them are `other`. */
export function createLabelBound(maxValues: number): (value: string) => string {
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) return value;
    if (seen.size >= maxValues) return OTHER;
    seen.add(value);
    return value;
  };
}
