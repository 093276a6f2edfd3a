/**
 * Start-up: the modules that are there against the rows that are stored, then activation. One bad module never stops
 * the server: its row gets the reason, the rest starts.
 */
import type { Db } from "#api/db/pool.ts";
import type { Activator, HostLogger } from "./activation/activator.ts";
import { readFailure } from "./activation/failure.ts";
import { DEFAULT_ENVIRONMENT_ID, type ModuleRegistration } from "./builtins.ts";
import {
  listEnabledRows,
  type ModuleRow,
  markMissingRows,
  readSettings,
  registerModuleRow,
  setModuleError,
} from "./store.ts";

export interface StartUp {
  db: Db;
  logger: HostLogger;
  registry: ReadonlyMap<string, ModuleRegistration>;
  activator: Activator;
}

/** Rejects only when the database does. */
export async function startModules(startUp: StartUp): Promise<void> {
  await reconcile(startUp);
  const rows = await listEnabledRows(startUp.db);
  // Adapters first: an environment that is active takes runs at once, and those call tools.
  await Promise.all(rows.filter((row) => row.type === "adapter").map((row) => activate(startUp, row)));
  await Promise.all(rows.filter((row) => row.type === "environment").map((row) => activate(startUp, row)));
}

async function reconcile({ db, logger, registry }: StartUp): Promise<void> {
  for (const registration of registry.values()) {
    const { manifest, loadError } = registration;
    await registerModuleRow(db, {
      id: manifest.id,
      type: manifest.type,
      name: manifest.name,
      description: manifest.description,
      version: manifest.version ?? null,
      isBuiltin: registration.isBuiltin,
      hash: registration.hash,
      source: registration.source,
      error: loadError,
      enabledAtFirst:
        registration.isBuiltin && (manifest.type === "adapter" || manifest.id === DEFAULT_ENVIRONMENT_ID),
    });
    if (loadError !== null)
      logger.error({ module: manifest.id, reason: loadError }, "a module could not be loaded");
  }
  const missing = await markMissingRows(db, [...registry.keys()]);
  if (missing.length > 0)
    logger.warn({ modules: missing }, "modules of earlier starts are missing; their settings are kept");
}

async function activate({ db, logger, registry, activator }: StartUp, row: ModuleRow): Promise<void> {
  const registration = registry.get(row.id);
  if (registration === undefined || registration.entry === null) return;
  const { config } = await readSettings(db, row.id);
  try {
    await activator.install(await activator.start(registration, config));
    await setModuleError(db, row.id, null);
  } catch (error) {
    const reason = readFailure(error);
    logger.error(
      { module: row.id, err: error },
      "a module could not be activated; the server goes on without it",
    );
    await setModuleError(db, row.id, reason);
  }
}
