/**
 * One server in this process: creates its features on an open database, recovers, and defines the shutdown order.
 * Opens no database, reads no environment variable and handles no signal.
 */
import type { AddressInfo } from "node:net";
import path from "node:path";
import type { FastifyBaseLogger } from "fastify";
import { createLifecycle } from "#api/http/guards.ts";
import { createActivityLog } from "#api/observe/logs/record.ts";
import { createLogRing, type LogRing } from "#api/observe/logs/ring.ts";
import { createLogs } from "#api/observe/logs/service.ts";
import { createMetrics } from "#api/observe/metrics.ts";
import { listReadinessChecks } from "#api/observe/readiness.ts";
import { startSelfCheck } from "#api/observe/self-check.ts";
import { createBindings } from "#api/processes/calls/bindings.ts";
import { RunRegistry } from "#api/processes/live/registry.ts";
import { digestQuestion } from "#api/processes/model/digest.ts";

import type { ToolHost } from "#api/tools/contract.ts";
import { pickSimilar } from "#kernel/tool-search/similarity.ts";

import { STARTER_FOLDER } from "#runner/packages/starter.ts";
import packageFile from "../package.json" with { type: "json" };
import { buildApp, closeApp } from "./app.ts";
import { createApprovalStore } from "./approvals/run-approvals.ts";
import { createApprovals } from "./approvals/service.ts";
import type { BuiltinModule } from "./components/modules/builtins.ts";
import { createModules, type Modules } from "./components/modules/service.ts";
import { createServices, type Services } from "./components/services/service.ts";
import { createSettings } from "./components/settings/service.ts";
import { type Config, isLoopbackHost } from "./config.ts";
import type { Pool } from "./db/pool.ts";
import { createDownload } from "./egress/download.ts";
import { createGuardedFetch } from "./egress/fetch.ts";
import { openFileStorage } from "./files/storage.ts";
import { createGovernance, type Governance } from "./governance.ts";
import type { App } from "./http/app-type.ts";
import { openPackages } from "./packages/setup.ts";
import { createPausing } from "./processes/pausing/pausing.ts";
import { createPauseRoom } from "./processes/pausing/transactions.ts";
import { createProcessService } from "./processes/service.ts";
import { createReplicas, findAddress } from "./replicas/replicas.ts";
import { createKeyring, type Keyring } from "./secrets/keyring.ts";
import { createRedactor, type Redactor } from "./secrets/redactor.ts";
import { createVault, learnStoredSecrets } from "./secrets/vault.ts";
import { createTools, type Tools } from "./tools/service.ts";
import { listKnownTools } from "./tools/store.ts";
import { createStrictChecks } from "./tools/validation/strict-checks.ts";

export interface ServerDeps {
  /**
   * Migrated database, used by this server only and closed by the caller. `priorityPool` defaults to `pool`; see
   * Database.
   */
  database: { pool: Pool; priorityPool?: Pool; watch: { readonly reachable: boolean } };
  logger: FastifyBaseLogger;
  logRing?: LogRing;
  builtins?: readonly BuiltinModule[];
  /** Folder of the packages that ship with the server. Defaults to where the build puts them; null skips them. */
  starterPackages?: string | null;
  /** Tools for scripts, in place of those of installed services. */
  tools?: ToolHost;
  /** Keys for sealing secrets. Defaults to those of the configuration; without any, secrets are rejected. */
  keyring?: Keyring;
  /**
   * Called when this server no longer does its work and must be restarted; `reason` is a sentence. By default it
   * keeps running.
   */
  onStuck?: ((reason: string) => void) | undefined;
  /** Redactor the logger was created with. Defaults to a new one, which the log does not use. */
  redactor?: Redactor;
}

export interface CyrnelServer extends AsyncDisposable {
  readonly app: App;
  readonly modules: Modules;
  readonly services: Services;
  readonly tools: Tools;
  readonly governance: Governance;
  /** Listens as configured and returns the address as a URL. */
  listen(): Promise<string>;
  /**
   * Reports not ready from now on, but still accepts requests. New runs are left to other servers, if there are any.
   */
  leave(): void;
  /**
   * Accepts no new work, lets runs finish for `shutdownTimeoutMs`, interrupts the rest, and closes everything in
   * reverse order. Idempotent. Takes at most `shutdownTimeoutMs` + about 30 s.
   */
  stop(): Promise<void>;
}

/** Minimum idle timeout for requests to other hosts. */
const MIN_IDLE_TIMEOUT_MS = 300_000;
/** Limit per process or key, somewhat above what an environment lets a script do at once. */
const MAX_CALLS_IN_FLIGHT_PER_CALLER = 128;

export async function openServer(config: Config, deps: ServerDeps): Promise<CyrnelServer> {
  const { database, logger, onStuck } = deps;
  await using undo = new AsyncDisposableStack();
  const lifecycle = createLifecycle();
  const redactor = deps.redactor ?? createRedactor();
  const { secretsKey, secretsPreviousKeys } = config;
  const keyring =
    deps.keyring ?? (secretsKey === null ? null : createKeyring(secretsKey, secretsPreviousKeys));
  const vault = createVault(keyring, redactor);
  const fetch = undo.use(
    createGuardedFetch(config.egress, {
      // A call may be silent for its complete time limit.
      idleTimeoutMs: Math.max(MIN_IDLE_TIMEOUT_MS, config.invokeTimeoutMs),
    }),
  );
  const download = createDownload(fetch);
  const governance = undo.use(
    createGovernance({
      pool: database.pool,
      config,
      log: logger,
      listTools: () => listKnownTools(database.pool),
      redact: (json) => redactor.value(json),
    }),
  );
  const registry = new RunRegistry();
  const metrics = createMetrics();
  // Tracing libraries are loaded only if an endpoint is configured.
  const tracing =
    config.tracing === null
      ? null
      : undo.use((await import("./observe/tracing/telemetry.ts")).createTelemetry(config.tracing, logger));
  const observers = [metrics, createActivityLog(logger), ...(tracing === null ? [] : [tracing])];
  const component = { pool: database.pool, logger, secrets: vault, watch: redactor };
  const modules = createModules({
    ...component,
    isolation: config.isolation,
    zygote: config.zygote === "on",
    isExposed: config.host !== null && !isLoopbackHost(config.host),
    fetch,
    allowStdio: config.allowStdioMcp,
    custom: { directory: path.join(config.dataDirectory, "modules"), download },
    ...(deps.builtins === undefined ? {} : { builtins: deps.builtins }),
  });
  undo.defer(() => modules.close());
  const { environments, adapters } = modules;
  const services = createServices({ ...component, adapters, download });
  adapters.attach(services.link);
  const tools = undo.use(
    createTools({
      pool: database.pool,
      findAdapter: (id) => modules.adapters.get(id),
      failureOf: (id) => services.failureOf(id),
      writeDocs: (input) => modules.writeToolDocs(input),
      gate: governance.gate,
      redactor,
      limits: {
        invokeTimeoutMs: config.invokeTimeoutMs,
        maxResultBytes: config.maxCallResultBytes,
        maxInFlight: config.maxCallsInFlight,
        maxInFlightPerCaller: MAX_CALLS_IN_FLIGHT_PER_CALLER,
      },
      admit: () => governance.audit.admit(),
      onCall(record) {
        for (const observer of observers) observer.callEnded(record);
        governance.recordCall(record);
      },
      log: logger,
    }),
  );
  const storage = undo.use(
    await openFileStorage({
      pool: database.pool,
      config,
      redactor,
      onUpload: metrics.fileUploaded,
      onRefused: metrics.fileRefused,
      onSwept: metrics.filesSwept,
      log: logger,
    }),
  );
  const pausing = createPausing({
    pool: database.pool,
    sealer: vault,
    approvalStore: createApprovalStore(vault, config.approvalTtlMs),
    holdMs: config.approvalHoldMs,
    maxApprovals: config.maxApprovalsPerProcess,
    room: createPauseRoom(database.pool, config.maxPausedProcesses),
    files: storage.workspaces,
    redactor,
    async checkSchema(schema) {
      const key = `ask ${digestQuestion({ message: "", schema }).toString("hex")}`;
      const outcome = await tools.validator.check("schemas", key, async () => schema, {}, "answer");
      return outcome.kind === "valid" || outcome.kind === "invalid" ? null : outcome.message;
    },
    countSlots: () => modules.environments.active()?.status()?.slots ?? null,
    log: logger,
  });
  const settings = createSettings({
    ...component,
    hosts: { module: modules.settings, service: services.settings },
  });
  undo.defer(services.onChange((id) => tools.forget(id)));
  const priorityPool = database.priorityPool ?? database.pool;
  const replicas = createReplicas({
    pool: database.pool,
    priorityPool,
    version: packageFile.version,
    secretsKeys: keyring && { current: keyring.current.kid, all: keyring.kids },
    countSlots: () => environments.active()?.status()?.slots ?? null,
    listModules: () => modules.activations(),
    isDraining: () => lifecycle.leaving,
    timings: config.timings,
    follow: {
      followModules: () => modules.follow(),
      followService: (id) => services.follow(id),
      listServices: () => services.listIds(),
    },
    log: logger,
  });
  const packages = undo.use(
    openPackages({
      pool: database.pool,
      watch: governance.watch,
      contents: storage.contents,
      environments,
      fetch,
      config,
      mayImport: governance.mayImport,
      pickSimilar,
      starterFolder: deps.starterPackages === undefined ? STARTER_FOLDER : deps.starterPackages,
      onEnd(installation, durationMs) {
        metrics.packageInstalled(installation.state, durationMs);
        governance.recordInstallation(installation);
      },
      log: logger,
    }),
  );
  const bindings = createBindings({
    registry,
    tools: deps.tools ?? tools.host,
    pausing,
    packages: packages.host,
  });
  const processes = createProcessService({
    db: database.pool,
    environments,
    registry,
    log: logger,
    config,
    checks: undo.use(createStrictChecks()),
    redactor,
    files: storage.workspaces,
    pausing,
    peers: replicas.peers,
    countSlots: replicas.countSlots,
    traceParent: () => tracing?.traceParent() ?? null,
    observers: [...observers, { filesLeft: governance.recordArtifacts }],
  });
  const approvals = createApprovals({
    pool: database.pool,
    vault,
    redactor,
    gate: governance.gate,
    processes,
    remember: (rule) => governance.policies.remember(rule),
    keys: governance.verifier,
    audit: governance.audit,
    checkAnswer: (decider, hash, schema, data) =>
      tools.validator.check(decider, hash, async () => schema, data as Record<string, unknown>, "answer"),
    allowSelfApproval: config.allowSelfApproval,
    ttlMs: config.approvalTtlMs,
    log: logger,
  });
  undo.defer(services.onChange((id) => approvals.forgetTools(id)));
  const selfCheck = undo.use(
    startSelfCheck({
      pool: database.pool,
      priorityPool,
      database: database.watch,
      processes,
      timings: config.timings,
      onStuck,
    }),
  );
  const observed = {
    database: { pool: priorityPool, watch: database.watch },
    environments,
    replicas,
    selfCheck,
    processes,
    lifecycle,
  };
  const readiness = await listReadinessChecks(observed);
  const logs = createLogs({ ring: deps.logRing ?? createLogRing(), redactor });
  const app = await buildApp(config, {
    logger,
    lifecycle,
    readiness,
    metrics,
    tracing,
    countSlots: replicas.countSlots,
    database: { watch: database.watch, ping: () => priorityPool`select 1` },
    logs,
    processes,
    files: storage.files,
    packages: packages.packages,
    modules,
    services,
    settings,
    tools,
    approvals,
    replicas: { token: replicas.token, held: processes.held },
    roster: replicas.roster,
    redactor,
    access: governance,
  });
  undo.defer(() => app.close());
  await app.ready();
  await learnStoredSecrets({ db: database.pool, vault, redactor, log: logger });
  await governance.start();
  await modules.start({ bindings, activations: (id) => replicas.listActivations(id) });
  await replicas.start();
  undo.use(replicas);
  // Closes the app as soon as runs have ended: responses in progress are sent, and later requests are not accepted.
  const callsMs = () => config.shutdownTimeoutMs - lifecycle.drainingForMs;
  undo.defer(() => closeApp(app, () => tools.inFlight, callsMs()));
  // Comes after the last run: uploads and downloads do not wait for a storage that does not respond.
  undo.defer(() => storage.giveUp());
  // Ends approval streams before connections are closed.
  undo.use(approvals);
  undo.use(logs);
  undo.defer(() => processes.drain(config.shutdownTimeoutMs));
  await processes.start();
  await approvals.start();
  storage.start();
  packages.start();

  const close = undo.move();
  let stopping: Promise<void> | null = null;
  const stop = () => {
    lifecycle.startDraining();
    if (stopping === null) replicas.publishDraining();
    stopping ??= close.disposeAsync();
    return stopping;
  };
  return {
    app,
    modules,
    services,
    tools,
    governance,
    async listen() {
      const url = await app.listen({ port: config.port, host: config.host });
      const { port } = app.server.address() as AddressInfo;
      replicas.setAddress(config.replicaAddress ?? findAddress(config.host, port));
      return url;
    },
    leave() {
      lifecycle.startLeaving();
      processes.leave();
      replicas.publishDraining();
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
