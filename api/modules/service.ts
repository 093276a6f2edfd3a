/**
 * What can be done with modules: list, enable, disable, configure, delete. Changes happen one at a time; a change that
 * fails leaves everything as it was.
 */
import type { Pool } from "#api/db/pool.ts";
import type { EnvironmentBindings, IsolationLevel, JSONSchema, ModuleManifest } from "#sdk";
import { AppError } from "../errors.ts";
import {
  type Activator,
  createActivator,
  type HostLogger,
  readSettingsSchema,
  type StartedModule,
} from "./activation/activator.ts";
import { ModuleFailure } from "./activation/failure.ts";
import type { InstanceLimits } from "./activation/instance.ts";
import { BUILTIN_MODULES, type BuiltinModule, loadBuiltins, type ModuleRegistration } from "./builtins.ts";
import { changedMeanwhile, requireMatch } from "./entity-tag.ts";
import { noEnvironment, readEnvironmentDocs } from "./environment-docs.ts";
import type { ActiveEnvironment, Environments } from "./environments.ts";
import type { ConfigAnswer, ModuleFilter, ModuleRecord, PatchOperation } from "./model.ts";
import { createSerialQueue } from "./serial-queue.ts";
import { type Config, NO_SETTINGS, patchConfig } from "./settings.ts";
import { startModules } from "./start-up.ts";
import {
  deleteModuleRow,
  disableOtherEnvironments,
  findModuleRow,
  listModuleRows,
  type ModuleRow,
  readSettings,
  setModuleEnabled,
  setModuleError,
  writeSettings,
} from "./store.ts";

export interface ModuleLimits extends InstanceLimits {
  /** Replaced environments that still have runs. More are refused: each keeps its children and memory. */
  maxDraining: number;
  /** Changes that wait for the one before them. */
  maxWaitingChanges: number;
}

const DEFAULT_LIMITS: ModuleLimits = {
  maxSetupMs: 60_000,
  maxTeardownMs: 15_000,
  maxDraining: 4,
  maxWaitingChanges: 50,
};

export interface ModulesOptions {
  pool: Pool;
  logger: HostLogger;
  bindings: EnvironmentBindings;
  /** What environments must put round every run. */
  isolation: IsolationLevel;
  /** Default: the bundled modules. */
  builtins?: readonly BuiltinModule[];
  limits?: Partial<ModuleLimits>;
}

export interface ModulePage {
  modules: ModuleRecord[];
  /** Where the next page starts; null at the end. */
  next: number | null;
}

/** A configuration and the version its entity tag is made of. */
export type VersionedConfig = ConfigAnswer & { version: number };

export interface Modules {
  readonly environments: Environments;
  /** Reconciles and activates. Rejects only when the database does. */
  start(): Promise<void>;
  list(filter: ModuleFilter, page: { before: number | null; limit: number }): Promise<ModulePage>;
  get(id: string): Promise<ModuleRecord>;
  setEnabled(id: string, enabled: boolean): Promise<void>;
  readConfig(id: string): Promise<VersionedConfig>;
  readConfigSchema(id: string): Promise<JSONSchema>;
  patchConfig(
    id: string,
    operations: PatchOperation[],
    ifMatch: string | undefined,
  ): Promise<VersionedConfig>;
  remove(id: string): Promise<void>;
  /** The manifest of a module that is there. */
  manifestOf(id: string): ModuleManifest | null;
  /** Throws AppError `no_environment`. */
  requireActive(): ActiveEnvironment;
  /** Documentation of the active environment. Throws AppError `no_environment` or `module_failed`. */
  readDocs(): Promise<string>;
  /** Replaced environments that have not ended yet. */
  draining(): { id: string; runs: number }[];
  /** Runs that hold the active environment. */
  activeRuns(): number;
  /** Tears down every module, each within its time limit. */
  close(): Promise<void>;
}

/** Nothing is loaded or activated before `start`; `environments` may be handed on at once. */
export function createModules(options: ModulesOptions): Modules {
  const { pool, logger, bindings, isolation } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const registry = new Map<string, ModuleRegistration>();
  const activator = createActivator({ logger, bindings, isolation, limits });
  const changes = createSerialQueue(limits.maxWaitingChanges, refuseWaiting);
  const { environments } = activator;

  async function requireRow(id: string): Promise<ModuleRow> {
    const row = await findModuleRow(pool, id);
    if (row === null) throw new AppError("not_found", `There is no module ${id}. GET /modules lists them.`);
    return row;
  }

  function requireRegistration(id: string): ModuleRegistration {
    const registration = registry.get(id);
    if (registration !== undefined) return registration;
    throw new AppError(
      "module_missing",
      `The module ${id} was not found when the server started. Put it back and restart, then try again.`,
    );
  }

  /** Starts a module that shall be put in place; 502 with its own message when it cannot. */
  async function startRequested(registration: ModuleRegistration, config: Config): Promise<StartedModule> {
    const { id, type } = registration.manifest;
    if (type === "environment" && environments.draining().length >= limits.maxDraining)
      throw refuseDraining(limits);
    try {
      return await activator.start(registration, config);
    } catch (error) {
      logger.error({ module: id, err: error }, "a module could not be activated");
      throw toModuleFailed(id, error);
    }
  }

  async function enable(row: ModuleRow): Promise<void> {
    const registration = requireRegistration(row.id);
    if (row.enabled && activator.stateOf(row.id) === "active") return;
    const { config } = await readSettings(pool, row.id);
    let started: StartedModule;
    try {
      started = await startRequested(registration, config);
    } catch (error) {
      if (error instanceof AppError && error.code === "module_failed") {
        await setModuleError(pool, row.id, (error.cause as Error).message);
      }
      throw error;
    }
    await commit(started, () =>
      pool.begin(async (transaction) => {
        if (row.type === "environment") await disableOtherEnvironments(transaction, row.id);
        await setModuleEnabled(transaction, row.id, true);
      }),
    );
  }

  /** Stores, then puts in place; what was started is ended when it cannot be stored. */
  async function commit<T>(started: StartedModule, store: () => Promise<T>): Promise<T> {
    let stored: T;
    try {
      stored = await store();
    } catch (error) {
      void started.instance.teardown();
      throw error;
    }
    await activator.install(started);
    return stored;
  }

  async function changeConfig(
    id: string,
    operations: PatchOperation[],
    ifMatch: string | undefined,
  ): Promise<VersionedConfig> {
    const row = await requireRow(id);
    const registration = requireRegistration(id);
    const current = await readSettings(pool, id);
    requireMatch(ifMatch, current.version);
    const config = patchConfig(current.config, operations);
    requireFit(registration, config);
    if (JSON.stringify(config) === JSON.stringify(current.config)) {
      return { config, outdated: [], version: current.version };
    }
    const store = async () => {
      const version = await writeSettings(pool, id, config, current.version);
      if (version === null) throw changedMeanwhile((await readSettings(pool, id)).version);
      return version;
    };
    if (!row.enabled) return { config, outdated: [], version: await store() };
    const version = await commit(await startRequested(registration, config), store);
    await setModuleError(pool, id, null);
    return { config, outdated: [], version };
  }

  return {
    environments,
    async start() {
      for (const registration of await loadBuiltins(options.builtins ?? BUILTIN_MODULES)) {
        registry.set(registration.manifest.id, registration);
      }
      await startModules({ db: pool, logger, registry, activator });
    },
    async list(filter, page) {
      const rows = await listModuleRows(pool, filter, { before: page.before, limit: page.limit + 1 });
      const shown = rows.slice(0, page.limit);
      const next = rows.length > page.limit ? (shown.at(-1)?.position ?? null) : null;
      return { modules: shown.map((row) => toRecord(row, activator)), next };
    },
    get: async (id) => toRecord(await requireRow(id), activator),
    setEnabled: (id, enabled) =>
      changes.run(async () => {
        const row = await requireRow(id);
        if (enabled) return enable(row);
        await setModuleEnabled(pool, id, false);
        await activator.remove(id);
      }),
    async readConfig(id) {
      await requireRow(id);
      const { config, version } = await readSettings(pool, id);
      const registration = registry.get(id);
      const outdated = registration === undefined ? [] : compiled(registration).findOutdated(config);
      return { config, outdated, version };
    },
    async readConfigSchema(id) {
      await requireRow(id);
      return requireRegistration(id).manifest.configSchema ?? NO_SETTINGS;
    },
    patchConfig: (id, operations, ifMatch) => changes.run(() => changeConfig(id, operations, ifMatch)),
    remove: (id) =>
      changes.run(async () => {
        const row = await requireRow(id);
        if (row.isBuiltin) {
          throw new AppError(
            "builtin_module",
            `${id} comes with the server and cannot be deleted. Disable it instead.`,
          );
        }
        await deleteModuleRow(pool, id);
        await activator.remove(id);
        registry.delete(id);
      }),
    manifestOf: (id) => registry.get(id)?.manifest ?? null,
    requireActive() {
      const active = environments.active();
      if (active === null) throw noEnvironment();
      return active;
    },
    readDocs: () => readEnvironmentDocs(environments),
    draining: environments.draining,
    activeRuns: environments.activeRuns,
    close: activator.close,
  };
}

function compiled(registration: ModuleRegistration) {
  try {
    return readSettingsSchema(registration);
  } catch (error) {
    throw toModuleFailed(registration.manifest.id, error);
  }
}

function requireFit(registration: ModuleRegistration, config: Config): void {
  const settings = compiled(registration);
  const issues = settings.findIssues(settings.applyDefaults(config));
  const [first] = issues;
  if (first === undefined) return;
  const rest = issues.length > 1 ? ` (and ${issues.length - 1} more)` : "";
  throw new AppError(
    "invalid_request",
    `The configuration would not fit its schema: ${first.path} ${first.message}${rest}.`,
    {
      issues,
    },
  );
}

function toRecord(row: ModuleRow, activator: Activator): ModuleRecord {
  const { position: _, createdAt, ...rest } = row;
  return { ...rest, state: activator.stateOf(row.id), createdAt: createdAt.toISOString() };
}

function toModuleFailed(id: string, error: unknown): AppError {
  const failure = error instanceof ModuleFailure ? error : new ModuleFailure(error);
  return new AppError("module_failed", `The module ${id} could not be activated: ${failure.message}`, {
    cause: failure,
  });
}

function refuseDraining(limits: ModuleLimits): AppError {
  return new AppError(
    "environments_draining",
    `${limits.maxDraining} replaced environments still have runs. Wait for those runs to end, or kill them, then try again.`,
    { retryAfterSeconds: 10 },
  );
}

function refuseWaiting(): AppError {
  return new AppError("rate_limited", "Too many changes of modules are waiting already. Try again shortly.", {
    retryAfterSeconds: 5,
  });
}
