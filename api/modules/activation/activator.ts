/**
 * Starts modules with their stored configuration and puts them in place: an environment behind the one that is active,
 * an adapter over its predecessor. Writes no rows; callers decide what a failure means.
 */
import type {
  AdapterModule,
  EnvironmentBindings,
  EnvironmentModule,
  EnvironmentSetupContext,
  IsolationLevel,
  ModuleLogger,
} from "#sdk";
import type { ModuleRegistration } from "../builtins.ts";
import type { ModuleState } from "../model.ts";
import { type Config, compileSettings, NO_SETTINGS, type Settings } from "../settings.ts";
import { createEnvironmentHost, type EnvironmentHost } from "./environment-host.ts";
import { ModuleFailure } from "./failure.ts";
import { type InstanceLimits, type ModuleInstance, startInstance } from "./instance.ts";

/** What a logger of the host can do besides what modules are given. */
export interface HostLogger extends ModuleLogger {
  child(fields: object): ModuleLogger;
}

/** Set up, and not yet in place. */
export type StartedModule =
  | { type: "environment"; instance: ModuleInstance<EnvironmentModule> }
  | { type: "adapter"; instance: ModuleInstance<AdapterModule> };

export interface Activator {
  readonly environments: EnvironmentHost;
  /** Throws ModuleFailure with the module's message; then nothing is left running. */
  start(registration: ModuleRegistration, config: Config): Promise<StartedModule>;
  /** Puts a started module in place and lets its predecessor go. */
  install(started: StartedModule): Promise<void>;
  /** Ends a module: an environment drains first. Does nothing for one that is not active. */
  remove(id: string): Promise<void>;
  stateOf(id: string): ModuleState;
  close(): Promise<void>;
}

export interface ActivatorOptions {
  logger: HostLogger;
  bindings: EnvironmentBindings;
  /** What environments must put round every run. */
  isolation: IsolationLevel;
  limits: InstanceLimits;
}

export function createActivator(options: ActivatorOptions): Activator {
  const { logger, limits } = options;
  const environments = createEnvironmentHost((error, message) => logger.error({ err: error }, message));
  const adapters = new Map<string, ModuleInstance<AdapterModule>>();
  let closed = false;

  async function start(registration: ModuleRegistration, stored: Config): Promise<StartedModule> {
    const { id, type } = registration.manifest;
    const context: EnvironmentSetupContext = {
      config: fitConfig(registration, stored),
      secrets: {},
      logger: logger.child({ module: id }),
      bindings: options.bindings,
      isolation: options.isolation,
    };
    if (type === "environment") {
      return { type, instance: await startInstance<EnvironmentModule>(registration, context, limits) };
    }
    const { bindings: _, isolation: _level, ...adapterContext } = context;
    return { type, instance: await startInstance<AdapterModule>(registration, adapterContext, limits) };
  }

  return {
    environments,
    start,
    async install(started) {
      if (closed) return started.instance.teardown();
      if (started.type === "environment") return environments.replace(started.instance);
      const { instance } = started;
      const previous = adapters.get(instance.id);
      adapters.set(instance.id, instance);
      await previous?.teardown();
    },
    async remove(id) {
      if (environments.active()?.id === id) environments.replace(null);
      const adapter = adapters.get(id);
      adapters.delete(id);
      await adapter?.teardown();
    },
    stateOf: (id) => (adapters.has(id) ? "active" : environments.stateOf(id)),
    async close() {
      closed = true;
      const instances = [...adapters.values()];
      adapters.clear();
      await Promise.all([environments.close(), ...instances.map((instance) => instance.teardown())]);
    },
  };
}

/** The schema of a registered module, compiled. Throws ModuleFailure when it is none. */
export function readSettingsSchema(registration: ModuleRegistration): Settings {
  try {
    return compileSettings(registration.manifest.configSchema ?? NO_SETTINGS);
  } catch (error) {
    throw new ModuleFailure(`Its configSchema is not a valid JSON Schema: ${(error as Error).message}`);
  }
}

function fitConfig(registration: ModuleRegistration, stored: Config): Config {
  const settings = readSettingsSchema(registration);
  const config = settings.applyDefaults(stored);
  const [issue] = settings.findIssues(config);
  if (issue !== undefined) {
    throw new ModuleFailure(
      `Its configuration does not fit its schema: ${issue.path} ${issue.message}. Change it with PATCH /modules/${registration.manifest.id}/config.`,
    );
  }
  return config;
}
