/** Prometheus gauges, updated at each scrape. metrics.ts counts events as they happen. */
import { Gauge, type Registry } from "prom-client";
import { waitAtMost } from "#api/bounds/deadline.ts";
import type { EnvironmentDescription } from "#api/environment/model.ts";
import type { ProcessesHealth } from "#api/processes/service.ts";
import { ISOLATION_LEVELS } from "#sdk";
import type { DiskSpace } from "./disks.ts";

const MAX_PING_MS = 1000;
const MS_PER_SECOND = 1000;

/** Sources of the gauges. Absent sources are not reported. */
export interface MetricsSources {
  /** Describes the environment. Rejects or resolves with null while none is active. */
  environment(): Promise<EnvironmentDescription | null>;
  processes(): ProcessesHealth;
  /** Returns the slots of all replicas together, or null if unknown. Absent on a single server. */
  countSlots?(): number | null;
  waiting?(): Promise<{ approvals: number; oldestMs: number; paused: number }>;
  stored?(): Promise<{ contents: number; bytes: number }>;
  packages?(): Promise<{ packages: number; bytes: number }>;
  /** Resolves with whether the object store responds, or null if none is configured. */
  objectStore?(): Promise<boolean | null>;
  disks?(): Promise<readonly DiskSpace[]>;
  database: {
    watch: { readonly reachable: boolean };
    ping?(): Promise<unknown>;
  };
}

/** Returns a function that updates the gauges. Call it before each read of the registry. */
export function createGauges(registry: Registry, sources: MetricsSources): () => Promise<void> {
  const registers = [registry];
  const gauge = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
    new Gauge({ name: `cyrnel_${name}`, help, labelNames, registers });
  const slots = gauge("slots", "Maximum concurrent runs of the active environment.");
  const busy = gauge("slots_busy", "Current runs of the active environment.");
  const warm = gauge("warm_children", "Children started ahead, waiting for a run.");
  const memory = gauge("children_memory_bytes", "Memory of all children together, idle ones included.");
  const level = gauge("isolation_level", "1 for the strongest level whose layers are all active.", ["level"]);
  const layer = gauge("isolation_layer", "Whether an isolation layer of each run is active.", [
    "layer",
    "name",
    "required",
  ]);
  const zygoteAge = gauge(
    "zygote_age_seconds",
    "Age of the prepared process that those of runs are forked from.",
  );
  const zygoteForks = gauge("zygote_forks", "Processes forked from the current zygote.");
  const zygoteRenewals = gauge(
    "zygote_renewals",
    "Zygotes that were replaced since the environment was activated.",
  );
  const zygoteFailures = gauge("zygote_failures", "Replaced zygotes that hung, ended or failed to fork.");
  const queued = gauge("queue_depth", "Processes waiting for a slot.");
  const active = gauge("processes_active", "Queued, running and terminating.");
  const load = gauge(
    "load_ratio",
    "Runs of this server and its share of the queue, per slot. Above 1 there is more work than slots: for autoscalers.",
  );
  const approvals = gauge("approvals_pending", "Pending approvals, of all servers.");
  const oldest = gauge(
    "approval_oldest_seconds",
    "How long the oldest pending approval has waited; 0 without any.",
  );
  const paused = gauge("processes_paused", "Runs that are paused for an approval, of all servers.");
  const contents = gauge("file_contents", "Stored file contents, of all servers.");
  const storedBytes = gauge("file_stored_bytes", "Bytes of these contents.");
  const packages = gauge("packages_installed", "Installed versions of packages, of all servers.");
  const bundleBytes = gauge("package_bundle_bytes", "Bytes of their code for scripts.");
  const storeUp = gauge("object_store_up", "Whether the object store answers. Absent without one.");
  const diskFree = gauge("disk_free_bytes", "Free bytes of the disk that a folder of the server is on.", [
    "folder",
  ]);
  const diskSize = gauge("disk_size_bytes", "Bytes of that disk.", ["folder"]);
  const unstored = gauge("endings_unstored", "Finished runs that wait for the database.");
  const listeners = gauge("listeners", "Long-polls, blocking requests and event streams.");
  const up = gauge("database_up", "Whether the database answers.");
  const pool = gauge(
    "database_pool_seconds",
    "Duration of an empty statement, including the wait for a pool connection.",
  );
  const resident = gauge("resident_memory_bytes", "Memory of the server itself.");
  const cpu = gauge("cpu_seconds", "CPU time of the server itself since its start.");

  function showEnvironment(environment: EnvironmentDescription | null): void {
    for (const one of [
      slots,
      busy,
      warm,
      memory,
      level,
      layer,
      zygoteAge,
      zygoteForks,
      zygoteRenewals,
      zygoteFailures,
    ])
      one.reset();
    if (environment === null) return;
    const { capacity, isolation, zygote } = environment;
    if (zygote !== null) {
      zygoteAge.set(zygote.ageMs / 1000);
      zygoteForks.set(zygote.forks);
      zygoteRenewals.set(zygote.renewals);
      if (zygote.failures !== undefined) zygoteFailures.set(zygote.failures);
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

  /** Reports this replica's share of the queue in proportion to its slots, because replicas share one queue. */
  function showLoad(environment: EnvironmentDescription | null, queuedProcesses: number): void {
    load.remove();
    const { slots: own = null, busy: running = 0 } = environment?.capacity ?? {};
    if (own === null || own === 0) return;
    const all = Math.max(own, sources.countSlots?.() ?? own);
    load.set(running / own + queuedProcesses / all);
  }

  return async () => {
    const { database } = sources;
    const [environment, seconds, waiting, stored, installed, isStoreUp, disks] = await Promise.all([
      sources.environment().catch(() => null),
      database.watch.reachable && database.ping ? measurePing(database.ping) : null,
      database.watch.reachable && sources.waiting ? answerSoon(sources.waiting) : null,
      database.watch.reachable && sources.stored ? answerSoon(sources.stored) : null,
      database.watch.reachable && sources.packages ? answerSoon(sources.packages) : null,
      sources.objectStore ? answerSoon(sources.objectStore, false) : null,
      sources.disks ? answerSoon(sources.disks) : null,
    ]);
    if (isStoreUp === null) storeUp.remove();
    else storeUp.set(isStoreUp ? 1 : 0);
    for (const { folder, freeBytes, sizeBytes } of disks ?? []) {
      diskFree.set({ folder }, freeBytes);
      diskSize.set({ folder }, sizeBytes);
    }
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

/** Returns the ping time, or null if the ping failed or took too long. */
async function measurePing(ping: () => Promise<unknown>): Promise<number | null> {
  const before = performance.now();
  const answered = await answerSoon(() => ping().then(() => true));
  return answered ? (performance.now() - before) / MS_PER_SECOND : null;
}

/** Returns `otherwise` if the request failed or took too long. */
function answerSoon<T, O = null>(ask: () => Promise<T>, otherwise: O = null as O): Promise<T | O> {
  return waitAtMost(ask(), MAX_PING_MS, "a figure of the database").catch(() => otherwise);
}
