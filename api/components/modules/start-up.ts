/**
 * Reconciles the modules on disk with the stored rows, then activates the enabled ones. A module that fails never
 * stops the server: its row gets the reason and the others start.
 */
import { DEFAULT_ENVIRONMENT_ID } from "./builtins.ts";
import { toRow } from "./changes/install.ts";
import { activateStored, forgetAttempts, type ModuleHost, recordFailure } from "./host.ts";
import { MAX_UNFINISHED } from "./loader/attempts.ts";
import { scanModules } from "./loader/scan.ts";
import type { ModuleRegistration, ModuleRegistry } from "./registration.ts";
import { listEnabledRows, type ModuleRow, markMissingRows, registerModuleRow } from "./store.ts";

export async function startModules(host: ModuleHost, builtins: readonly ModuleRegistration[]): Promise<void> {
  const { registry } = host;
  for (const registration of builtins) registry.set(registration.manifest.id, registration);
  for (const registration of await findCustomModules(host))
    registry.set(registration.manifest.id, registration);
  await reconcileRows(host, registry);
  const rows = await listEnabledRows(host.pool);
  // Start adapters first: an active environment accepts runs at once, and runs call tools.
  for (const type of ["adapter", "environment"]) {
    const ofType = rows.filter((row) => row.type === type);
    const earlier = await Promise.all(ofType.map((row) => countUnfinished(host, row.id)));
    await Promise.all(ofType.filter((_, index) => earlier[index] === 0).map((row) => activate(host, row)));
    // Start them one at a time, so that a server crash can be attributed to a module.
    for (const row of ofType.filter((_, index) => earlier[index] !== 0)) await activate(host, row);
  }
}

/** Returns how many earlier starts crashed while activating the module. */
async function countUnfinished({ registry, custom }: ModuleHost, id: string): Promise<number> {
  const folder = registry.get(id)?.folder ?? null;
  return folder === null || custom === null ? 0 : custom.attempts.count(folder);
}

/** Finds custom modules after undoing interrupted updates. Treats an unreadable modules folder as empty. */
async function findCustomModules({
  custom,
  registry,
  logger,
  limits,
}: ModuleHost): Promise<ModuleRegistration[]> {
  if (custom === null) return [];
  const { place } = custom;
  try {
    const restored = await place.recover();
    if (restored.length > 0) {
      logger.warn(
        { folders: restored },
        "updates of modules were interrupted; the previous versions were restored",
      );
    }
    const { registrations, problems } = await scanModules({
      directory: place.directory,
      builtinIds: new Set(registry.keys()),
      previous: registry,
      maxImportMs: limits.maxImportMs,
    });
    for (const { folder, error } of problems) {
      logger.error({ folder, reason: error }, "a folder among the modules is unusable");
    }
    return registrations;
  } catch (error) {
    logger.error({ err: error, directory: place.directory }, "the folder of the modules cannot be read");
    return [];
  }
}

export async function reconcileRows({ pool, logger }: ModuleHost, registry: ModuleRegistry): Promise<void> {
  for (const registration of registry.values()) {
    const { manifest, isBuiltin, loadError } = registration;
    const enabledAtFirst =
      isBuiltin && (manifest.type === "adapter" || manifest.id === DEFAULT_ENVIRONMENT_ID);
    await registerModuleRow(pool, { ...toRow(registration), enabledAtFirst });
    if (loadError !== null)
      logger.error({ module: manifest.id, reason: loadError }, "a module could not be loaded");
  }
  const missing = await markMissingRows(pool, [...registry.keys()]);
  if (missing.length > 0)
    logger.warn({ modules: missing }, "modules of earlier starts are missing; their settings are kept");
}

async function activate(host: ModuleHost, row: ModuleRow): Promise<void> {
  const registration = host.registry.get(row.id);
  if (registration === undefined || registration.loadError !== null) return;
  if (!(await mayBeTried(host, registration))) return;
  await activateStored(
    host,
    row,
    registration,
    "a module could not be activated; the server continues without it",
  );
  await forgetAttempts(host, row.id);
}

/** Returns false if the server's last starts crashed while activating the module. */
async function mayBeTried(host: ModuleHost, { manifest, folder }: ModuleRegistration): Promise<boolean> {
  if (folder === null || host.custom === null) return true;
  const unfinished = await host.custom.attempts.count(folder);
  if (unfinished < MAX_UNFINISHED) {
    await host.custom.attempts.begin(folder);
    return true;
  }
  const reason = `The last ${unfinished} starts of the server ended while this module was being activated, so it was left out. Repair it, then enable it again.`;
  host.logger.error({ module: manifest.id, reason }, "a module was left out");
  await recordFailure(host, manifest.id, reason);
  return false;
}
