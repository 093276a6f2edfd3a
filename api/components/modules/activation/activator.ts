/**
 * Starts modules with their stored settings and activates them. A new environment takes over from the active one, and
 * a new adapter replaces its predecessor. Writes no rows; callers decide what a failure means.
 */

import type {
  AdapterModule,
  AdapterSetupContext,
  EnvironmentBindings,
  EnvironmentModule,
  EnvironmentSetupContext,
  IsolationLevel,
  ModuleLogger,
} from "#sdk";
import { type AdapterServices, type Adapters, NO_SERVICES, type SecretWatch } from "../../ports.ts";
import type { Config } from "../../settings/schema.ts";
import type { ModuleState } from "../model.ts";
import type { ModuleRegistration } from "../registration.ts";
import { createEnvironmentHost, type EnvironmentHost } from "./environment-host.ts";
import {
  copyError,
  type InstanceLimits,
  ModuleFailure,
  type ModuleInstance,
  requireIsolation,
  startInstance,
} from "./instance.ts";
import { fitSettings } from "./settings.ts";

export interface HostLogger extends ModuleLogger {
  child(fields: object): ModuleLogger;
}

export type StartedModule =
  | { type: "environment"; instance: ModuleInstance<EnvironmentModule> }
  | { type: "adapter"; instance: ModuleInstance<AdapterModule> };

export interface Activator {
  readonly environments: EnvironmentHost;
  readonly adapters: Adapters;
  readonly services: AdapterServices;
  start(registration: ModuleRegistration, stored: StoredSettings): Promise<StartedModule>;
  /** Activates a started module and tears down the one it replaces. An adapter receives its services first. */
  install(started: StartedModule): Promise<void>;
  /** Deactivates a module and tears it down; an environment drains first. Does nothing if the module is inactive. */
  remove(id: string): Promise<void>;
  stateOf(id: string): ModuleState;
  settingsOf(id: string): StoredSettings | null;
  hashOf(id: string): string | null;
  /** Connects environments to the rest of the server. Call once, before the first environment starts. */
  connect(bindings: EnvironmentBindings): void;
  close(): Promise<void>;
}

export interface StoredSettings {
  config: Config;
  secrets: Config;
}

export interface ActivatorOptions {
  logger: HostLogger;
  isolation: IsolationLevel;
  zygote?: boolean;
  isExposed?: boolean;
  fetch: typeof globalThis.fetch;
  allowStdio?: boolean;
  watch: SecretWatch;
}

/**
 * True if the requested isolation is unavailable. The message comes from the runner and contains no settings or
 * secrets.
 */
function isRefusal(error: unknown): error is ModuleFailure {
  return error instanceof ModuleFailure && (error.cause as Error).name === "JailUnavailableError";
}

export function createActivator(options: ActivatorOptions, limits: InstanceLimits): Activator {
  const { logger } = options;
  const environments = createEnvironmentHost((error, message) =>
    logger.error({ err: copyError(error) }, message),
  );
  const adapters = new Map<string, ModuleInstance<AdapterModule>>();
  const keepSecretOf = createObtainedSecrets(options.watch);
  const startedWith = new WeakMap<object, StoredSettings>();
  let services = NO_SERVICES;
  let bindings: EnvironmentBindings | null = null;
  let closed = false;

  async function start(registration: ModuleRegistration, stored: StoredSettings): Promise<StartedModule> {
    if (bindings === null) throw new Error("modules are started before they are connected to the host");
    const given = { ...options, limits, bindings, keepSecretOf };
    const started = await startModule(registration, stored, given).catch((error: unknown) => {
      const { id } = registration.manifest;
      if (registration.isBuiltin && isRefusal(error)) environments.recordRefusal(id, error.message);
      throw error;
    });
    startedWith.set(started.instance.module, structuredClone(stored));
    return started;
  }

  async function installAdapter(instance: ModuleInstance<AdapterModule>): Promise<void> {
    const { id } = instance;
    // Prepare services first: a call must find its service in both the old and the new instance.
    try {
      await services.prepareAdapter(id, instance.module);
    } catch (error) {
      await instance.teardown();
      throw error;
    }
    if (closed) return instance.teardown();
    const previous = adapters.get(id);
    adapters.set(id, instance);
    try {
      await services.onAdapterActive(id);
    } finally {
      await previous?.teardown();
    }
  }

  return {
    environments,
    adapters: {
      get: (id) => adapters.get(id)?.module ?? null,
      attach(attached) {
        services = attached;
      },
    },
    get services() {
      return services;
    },
    connect(given) {
      bindings = given;
    },
    start,
    async install(started) {
      if (closed) return started.instance.teardown();
      if (started.type === "environment") return environments.replace(started.instance);
      return installAdapter(started.instance);
    },
    async remove(id) {
      environments.recordRefusal(id, null);
      if (environments.active()?.id === id) environments.replace(null);
      const adapter = adapters.get(id);
      if (adapter === undefined) return;
      adapters.delete(id);
      try {
        await services.onAdapterGone(id, adapter.module);
      } finally {
        await adapter.teardown();
      }
    },
    settingsOf(id) {
      const active = environments.active();
      const module = adapters.get(id)?.module ?? (active?.id === id ? active.module : undefined);
      return module === undefined ? null : (startedWith.get(module) ?? null);
    },
    hashOf: (id) => adapters.get(id)?.hash ?? environments.hashOf(id),
    stateOf: (id) => (adapters.has(id) ? "active" : environments.stateOf(id)),
    async close() {
      closed = true;
      const instances = [...adapters.values()];
      adapters.clear();
      await Promise.all([environments.close(), ...instances.map((instance) => instance.teardown())]);
    },
  };
}

interface StartOptions extends ActivatorOptions {
  limits: InstanceLimits;
  bindings: EnvironmentBindings;
  keepSecretOf: ReturnType<typeof createObtainedSecrets>;
}

async function startModule(
  registration: ModuleRegistration,
  stored: StoredSettings,
  { bindings, isolation, isExposed, zygote, limits, ...options }: StartOptions,
): Promise<StartedModule> {
  const { id, type } = registration.manifest;
  const context = {
    config: fitSettings(registration, "config", stored.config),
    secrets: fitSettings(registration, "secrets", stored.secrets),
    logger: options.logger.child({ module: id }),
    fetch: options.fetch,
  };
  if (type === "environment") {
    const environmentContext: EnvironmentSetupContext = {
      ...context,
      bindings,
      isolation,
      ...(isExposed === true && { isExposed }),
      ...(zygote === false && { zygote }),
    };
    const instance = await startInstance<EnvironmentModule>(registration, environmentContext, limits);
    if (!registration.isBuiltin) await requireIsolation(instance, isolation);
    return { type, instance };
  }
  const adapterContext: AdapterSetupContext = {
    ...context,
    allowStdio: options.allowStdio ?? false,
    keepSecret: options.keepSecretOf(id),
  };
  return { type, instance: await startInstance<AdapterModule>(registration, adapterContext, limits) };
}

/** The redactor's rebuild time grows with the total number of characters in all values. */
const OBTAINED_LIMITS = { maxValuesPerModule: 16, maxCharacters: 256 } as const;

/**
 * Creates an adapter's `keepSecret`, which tells the redactor about secrets obtained at run time, such as access
 * tokens. Only the latest values are remembered. Throws TypeError if the value is not a string.
 */
function createObtainedSecrets(watch: SecretWatch): (moduleId: string) => (value: string) => void {
  const byModule = new Map<string, Set<string>>();
  return (moduleId) => (value) => {
    if (typeof value !== "string") throw new TypeError("keepSecret takes a text.");
    // Keep the end of a long value: a signed token is useless without the signature at its end.
    const sought = value.slice(-OBTAINED_LIMITS.maxCharacters);
    const values = byModule.get(moduleId) ?? new Set();
    byModule.set(moduleId, values);
    values.delete(sought);
    values.add(sought);
    const [oldest] = values;
    if (values.size > OBTAINED_LIMITS.maxValuesPerModule && oldest !== undefined) values.delete(oldest);
    watch.setOwner(`obtained:${moduleId}`, Object.fromEntries([...values].entries()));
  };
}
