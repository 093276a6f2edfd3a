import { readFailure } from "#api/bounds/failure-text.ts";
import type { Pool } from "#api/db/pool.ts";
import { AppError } from "#api/errors.ts";
import type { Download, SecretStore } from "../ports.ts";
import { readConfig } from "../settings/store.ts";
import {
  type Activator,
  type ActivatorOptions,
  createActivator,
  type StartedModule,
  type StoredSettings,
} from "./activation/activator.ts";
import type { InstanceLimits } from "./activation/instance.ts";
import { ModuleFailure } from "./activation/instance.ts";
import type { BuiltinModule } from "./builtins.ts";
import { type Attempts, createAttempts } from "./loader/attempts.ts";
import { createModulePlace, type ModulePlace } from "./packages/place.ts";
import type { ModuleRegistration } from "./registration.ts";
import { clearDefinitionsDue, findModuleRow, type ModuleRow, setModuleError } from "./store.ts";

export interface ModulesOptions extends ActivatorOptions {
  pool: Pool;
  builtins?: readonly BuiltinModule[];
  custom?: { directory: string; download: Download };
  secrets: SecretStore;
  limits?: Partial<ModuleLimits>;
}

export interface ModuleLimits extends InstanceLimits {
  maxImportMs: number;
  /** Number of replaced environments that may still have runs. Each keeps its children and memory. */
  maxDraining: number;
  maxWaitingChanges: number;
  maxWaitingPackages: number;
}

const DEFAULT_LIMITS: ModuleLimits = {
  maxSetupMs: 60_000,
  maxTeardownMs: 15_000,
  maxImportMs: 30_000,
  maxDraining: 4,
  maxWaitingChanges: 50,
  maxWaitingPackages: 20,
};

const MAX_REASON_CHARACTERS = 2000;

export interface CustomModules {
  place: ModulePlace;
  attempts: Attempts;
  download: Download;
}

export interface ModuleHost extends Pick<ModulesOptions, "pool" | "logger" | "secrets" | "watch"> {
  readonly limits: ModuleLimits;
  readonly activator: Activator;
  /** All known modules by id. Change it only from the change queue. */
  readonly registry: Map<string, ModuleRegistration>;
  readonly custom: CustomModules | null;
}

export async function requireRow(host: ModuleHost, id: string): Promise<ModuleRow> {
  const row = await findModuleRow(host.pool, id);
  if (row === null) throw new AppError("not_found", `There is no module ${id}. GET /modules lists them.`);
  return row;
}

export function requireRegistration(host: ModuleHost, id: string): ModuleRegistration {
  const registration = host.registry.get(id);
  if (registration !== undefined) return registration;
  throw new AppError(
    "module_missing",
    `The files of the module ${id} were not found. Put them back and POST /modules/reload, then try again.`,
  );
}

/** Throws AppError `builtin_module` if the module is bundled. `what` completes the message "cannot be …". */
export function refuseBuiltin(row: Pick<ModuleRow, "id" | "isBuiltin">, what: string): void {
  if (!row.isBuiltin) return;
  throw new AppError("builtin_module", `${row.id} comes with the server and cannot be ${what}.`);
}

export async function readStoredSettings(host: ModuleHost, id: string): Promise<StoredSettings> {
  const { config } = await readConfig(host.pool, { kind: "module", id });
  const { values } = await host.secrets.read(host.pool, { kind: "module", id });
  return { config, secrets: values };
}

export async function startRequested(
  host: ModuleHost,
  registration: ModuleRegistration,
  settings: StoredSettings,
): Promise<StartedModule> {
  const { activator, limits, logger } = host;
  const { id, type } = registration.manifest;
  if (type === "environment" && activator.environments.draining().length >= limits.maxDraining) {
    throw refuseDraining(limits);
  }
  try {
    return await activator.start(registration, settings);
  } catch (error) {
    logger.error({ module: id, err: error }, "a module could not be activated");
    throw toModuleFailed(host, id, error);
  }
}

/** Stores the change, then activates the module. If the change cannot be stored, the started module is torn down. */
export async function commitStarted<T>(
  host: ModuleHost,
  started: StartedModule,
  store: () => Promise<T>,
): Promise<T> {
  let stored: T;
  try {
    stored = await store();
  } catch (error) {
    void started.instance.teardown();
    throw error;
  }
  await host.activator.install(started);
  await forgetAttempts(host, started.instance.id);
  return stored;
}

export async function regenerateDefinitions(host: ModuleHost, started: StartedModule): Promise<void> {
  if (started.type !== "adapter") return;
  const { id, module } = started.instance;
  const { stale } = await host.activator.services.regenerateAll(id, module);
  if (stale.length > 0) {
    host.logger.warn(
      { module: id, services: stale },
      "services are stale: the changed adapter could not regenerate their tools",
    );
  }
}

/** Activates a started module, regenerating its service definitions first if needed. Ends the instance on failure. */
export async function installWithDefinitions(
  host: ModuleHost,
  started: StartedModule,
  row: Pick<ModuleRow, "id" | "definitionsDue">,
): Promise<void> {
  if (row.definitionsDue) {
    try {
      await regenerateDefinitions(host, started);
      await clearDefinitionsDue(host.pool, row.id);
    } catch (error) {
      void started.instance.teardown();
      throw error;
    }
  }
  await host.activator.install(started);
  await forgetAttempts(host, row.id);
}

/**
 * Starts and activates an enabled module with its stored settings. A failure is logged with `message` and stored on
 * the row; it never stops other modules.
 */
export async function activateStored(
  host: ModuleHost,
  row: ModuleRow,
  registration: ModuleRegistration,
  message: string,
): Promise<void> {
  try {
    const settings = await readStoredSettings(host, row.id);
    await installWithDefinitions(host, await host.activator.start(registration, settings), row);
    await setModuleError(host.pool, row.id, null);
  } catch (error) {
    host.logger.error({ module: row.id, err: error }, message);
    await recordFailure(host, row.id, readFailure(error));
  }
}

export async function forgetAttempts({ custom, registry }: ModuleHost, id: string): Promise<void> {
  const folder = registry.get(id)?.folder ?? null;
  if (folder !== null) await custom?.attempts.clear(folder);
}

export async function recordFailure(host: ModuleHost, id: string, reason: string): Promise<void> {
  await setModuleError(host.pool, id, host.watch.cut(reason, MAX_REASON_CHARACTERS));
}

export function toModuleFailed(host: ModuleHost, id: string, error: unknown): AppError {
  const failure = error instanceof ModuleFailure ? error : new ModuleFailure(error);
  return new AppError(
    "module_failed",
    `The module ${id} could not be activated: ${host.watch.cut(failure.message, MAX_REASON_CHARACTERS)}`,
    { cause: failure },
  );
}

function refuseDraining(limits: ModuleLimits): AppError {
  return new AppError(
    "environments_draining",
    `${limits.maxDraining} replaced environments still have runs. Wait for those runs to end, or kill them, then try again.`,
    { retryAfterSeconds: 10 },
  );
}

export function refuseWaiting(): AppError {
  return new AppError("rate_limited", "Too many changes of modules are waiting already. Try again shortly.", {
    retryAfterSeconds: 5,
  });
}

export function createHost(options: ModulesOptions): ModuleHost {
  const { pool, logger, secrets, watch, custom } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  return {
    pool,
    logger,
    secrets,
    watch,
    limits,
    activator: createActivator(options, limits),
    registry: new Map(),
    custom: custom
      ? {
          place: createModulePlace(custom.directory),
          attempts: createAttempts(custom.directory),
          download: custom.download,
        }
      : null,
  };
}
