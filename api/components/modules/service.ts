/**
 * Lists, installs, updates, enables, configures and deletes modules. Changes happen one at a time; a failed change
 * leaves everything as it was.
 */

import { type PageRequest, readNumberedPage } from "#api/bounds/page.ts";
import { createQueue } from "#api/bounds/queue.ts";
import { AppError } from "#api/errors.ts";
import type { EnvironmentBindings, ModuleManifest, ToolDocsInput } from "#sdk";
import type { Adapters } from "../ports.ts";
import { type Fetched, fetchBytes, fetchDescriptor } from "../registry.ts";
import type { SettingsHost } from "../settings/service.ts";
import type { Activator } from "./activation/activator.ts";
import { BUILTIN_MODULES, loadBuiltins } from "./builtins.ts";
import { changeEnabled, removeModule } from "./changes/enabled.ts";
import { followModules, reloadModules } from "./changes/follow.ts";
import { installPrepared, requireCustom } from "./changes/install.ts";
import { prepareModule } from "./changes/prepared.ts";
import { replaceModule } from "./changes/update.ts";
import {
  type ActiveEnvironment,
  type Environments,
  noEnvironment,
  readEnvironmentDocs,
  writeToolDocs,
} from "./environments.ts";
import {
  createHost,
  type ModuleHost,
  type ModulesOptions,
  refuseBuiltin,
  refuseWaiting,
  requireRow,
} from "./host.ts";
import {
  type ModuleFilter,
  type ModuleRecord,
  type ModuleState,
  moduleDescriptorSchema,
  type ReloadAnswer,
} from "./model.ts";
import { PACKAGE_LIMITS } from "./packages/unpack.ts";
import { hostModuleSettings } from "./settings.ts";
import { startModules } from "./start-up.ts";
import { listModuleRows, type ModuleRow } from "./store.ts";

export interface ModulePage {
  modules: ModuleRecord[];
  next: number | null;
}

export interface ModuleConnections {
  bindings: EnvironmentBindings;
  activations?(id: string): { replica: string; state: ModuleState }[];
}

export interface Modules {
  readonly environments: Environments;
  readonly adapters: Adapters;
  readonly settings: SettingsHost;
  /** Reconciles rows and modules, then activates. Rejects only if the database fails. */
  start(connections: ModuleConnections): Promise<void>;
  list(filter: ModuleFilter, page: PageRequest<number>): Promise<ModulePage>;
  get(id: string): Promise<ModuleRecord>;
  install(url: string): Promise<string>;
  installFrom(source: string): Promise<string>;
  /** Replaces the module with the package at the URL. Returns false if that package is already installed. */
  replace(id: string, url: string): Promise<boolean>;
  /**
   * Replaces the module with the latest package from its registry. Throws AppError `no_source` if it has no registry.
   */
  update(id: string): Promise<boolean>;
  reload(): Promise<ReloadAnswer>;
  setEnabled(id: string, enabled: boolean): Promise<void>;
  remove(id: string): Promise<void>;
  follow(): Promise<void>;
  activations(): Record<string, { state: ModuleState }>;
  manifestOf(id: string): ModuleManifest | null;
  requireActive(): ActiveEnvironment;
  readDocs(): Promise<string>;
  writeToolDocs(input: ToolDocsInput): Promise<string>;
  draining(): { id: string; runs: number }[];
  activeRuns(): number;
  close(): Promise<void>;
}

type PackageChanges = Pick<Modules, "install" | "installFrom" | "replace" | "update">;

function createPackageChanges(host: ModuleHost, changes: ReturnType<typeof createQueue>): PackageChanges {
  const { limits, registry } = host;
  // Prepare one package at a time, because each may use memory and disk up to the limits.
  const packages = createQueue({ maxHeld: limits.maxWaitingPackages, refuse: refuseWaiting });

  /** Unpacks outside the change queue, so that a slow or large package delays only other packages. */
  function take<T>(
    fetch: () => Promise<Fetched | null>,
    source: string,
    use: (prepared: Awaited<ReturnType<typeof prepareModule>>) => Promise<T>,
  ): Promise<T | null> {
    const { place } = requireCustom(host);
    return packages.run(async () => {
      const fetched = await fetch();
      if (fetched === null) return null;
      await using prepared = await prepareModule(place, fetched, source);
      return await changes.run(() => use(prepared));
    });
  }

  const readRegistry = (source: string) =>
    fetchDescriptor(requireCustom(host).download, source, moduleDescriptorSchema);
  const fetchPackage = (from: { downloadUrl: string; hash?: string | undefined }) =>
    fetchBytes(requireCustom(host).download, from, PACKAGE_LIMITS.maxPackedBytes);

  async function requireOwn(id: string): Promise<ModuleRow> {
    const row = await requireRow(host, id);
    refuseBuiltin(row, "replaced. It changes with the server");
    return row;
  }

  const isInstalled = (id: string, hash: string) => registry.get(id)?.hash === hash;

  async function replaceBy(id: string, fetch: () => Promise<Fetched | null>): Promise<boolean> {
    const { source } = await requireOwn(id);
    const unlessInstalled = async () => {
      const fetched = await fetch();
      return fetched === null || isInstalled(id, fetched.hash) ? null : fetched;
    };
    const done = await take(unlessInstalled, source, async (prepared) => {
      await replaceModule(host, await requireOwn(id), prepared);
      return true;
    });
    return done ?? false;
  }

  return {
    async install(url) {
      const id = await take(
        () => fetchPackage({ downloadUrl: url }),
        "",
        (prepared) => installPrepared(host, prepared),
      );
      return id as string;
    },
    async installFrom(source) {
      const descriptor = await readRegistry(source);
      const fetch = () => fetchPackage(descriptor);
      const id = await take(fetch, source, (prepared) => {
        requireDescribed(descriptor.id, prepared.manifest.id);
        return installPrepared(host, prepared);
      });
      return id as string;
    },
    replace: (id, url) => replaceBy(id, () => fetchPackage({ downloadUrl: url })),
    async update(id) {
      const { source } = await requireOwn(id);
      if (source === "") {
        throw new AppError(
          "no_source",
          `The module ${id} was not installed from a registry. Use PATCH /modules/${id} with a url.`,
        );
      }
      return replaceBy(id, async () => {
        const descriptor = await readRegistry(source);
        requireDescribed(descriptor.id, id);
        if (descriptor.hash !== undefined && isInstalled(id, descriptor.hash)) return null;
        return fetchPackage(descriptor);
      });
    },
  };
}

/** Loads and activates no module before `start`, although `environments` already works. */
export function createModules(options: ModulesOptions): Modules {
  const host = createHost(options);
  const { pool, limits, activator, registry } = host;
  const changes = createQueue({ maxHeld: limits.maxWaitingChanges, refuse: refuseWaiting });
  const { environments, adapters } = activator;
  let connections: ModuleConnections | null = null;

  return {
    environments,
    adapters,
    settings: hostModuleSettings(host, changes.run),
    ...createPackageChanges(host, changes),
    async start(given) {
      connections = given;
      activator.connect(given.bindings);
      await startModules(host, await loadBuiltins(options.builtins ?? BUILTIN_MODULES));
    },
    async list(filter, page) {
      const { rows, next } = await readNumberedPage(page, (at) => listModuleRows(pool, filter, at));
      return { modules: rows.map((row) => toRecord(row, activator)), next };
    },
    async get(id) {
      const record = toRecord(await requireRow(host, id), activator);
      const replicas = connections?.activations?.(id) ?? [];
      return replicas.some(({ state }) => state !== record.state) ? { ...record, replicas } : record;
    },
    reload: () => changes.run(() => reloadModules(host)),
    setEnabled: (id, enabled) => changes.run(() => changeEnabled(host, id, enabled)),
    remove: (id) => changes.run(() => removeModule(host, id)),
    follow: () => changes.run(() => followModules(host)),
    activations: () =>
      Object.fromEntries([...registry.keys()].map((id) => [id, { state: activator.stateOf(id) }])),
    manifestOf: (id) => registry.get(id)?.manifest ?? null,
    requireActive() {
      const active = environments.active();
      if (active === null) throw noEnvironment(environments);
      return active;
    },
    readDocs: () => readEnvironmentDocs(environments),
    writeToolDocs: (input) => writeToolDocs(environments, input),
    draining: environments.draining,
    activeRuns: environments.activeRuns,
    close: activator.close,
  };
}

/** Throws AppError `invalid_descriptor` if the package contains another module than the registry named. */
function requireDescribed(promised: string | undefined, found: string): void {
  if (promised === undefined || promised === found) return;
  throw new AppError(
    "invalid_descriptor",
    `The registry says the module is ${promised}; it is ${found}. Nothing was changed.`,
  );
}

function toRecord(row: ModuleRow, activator: Activator): ModuleRecord {
  const { position: _, definitionsDue: __, createdAt, ...rest } = row;
  return { ...rest, state: activator.stateOf(row.id), createdAt: createdAt.toISOString() };
}
