/**
 * Applies row changes made by other servers to the local modules, and rereads the modules folder. Idempotent: modules
 * that match their row are left alone.
 */
import { isDeepStrictEqual } from "node:util";
import { readFailure } from "#api/bounds/failure-text.ts";
import { AppError } from "#api/errors.ts";
import { ownerKey } from "../../ports.ts";
import {
  activateStored,
  installWithDefinitions,
  type ModuleHost,
  readStoredSettings,
  recordFailure,
  startRequested,
} from "../host.ts";
import { scanModules } from "../loader/scan.ts";
import type { ReloadAnswer } from "../model.ts";
import type { ModuleRegistration } from "../registration.ts";
import { reconcileRows } from "../start-up.ts";
import { listAllRows, listEnabledRows, type ModuleRow, setModuleError } from "../store.ts";
import { requireCustom } from "./install.ts";

/** Call from the change queue. Rejects only if the database or the modules folder cannot be read. */
export async function followModules(host: ModuleHost): Promise<void> {
  const { registry, pool, activator, custom } = host;
  // The folder is shared, so another server's installation, replacement or deletion has already changed it.
  if (custom !== null && (await listAllRows(pool)).some((row) => hasOtherFiles(host, row)))
    await reloadModules(host);
  const rows = await listAllRows(pool);
  for (const [id, { isBuiltin }] of [...registry]) {
    const row = rows.find((one) => one.id === id);
    if (row === undefined || !row.enabled) await activator.remove(id);
    if (row !== undefined || isBuiltin) continue;
    registry.delete(id);
    host.watch.dropOwner(ownerKey({ kind: "module", id }));
  }
  const isAdapter = (row: ModuleRow) => row.type === "adapter";
  for (const row of [...rows.filter(isAdapter), ...rows.filter((one) => !isAdapter(one))]) {
    if (row.enabled) await followOne(host, row);
  }
}

function hasOtherFiles({ registry }: ModuleHost, row: ModuleRow): boolean {
  return !row.isBuiltin && !row.missing && registry.get(row.id)?.hash !== row.hash;
}

async function followOne(host: ModuleHost, row: ModuleRow): Promise<void> {
  const { registry, activator } = host;
  const registration = registry.get(row.id);
  if (registration === undefined || registration.loadError !== null) return;
  const isRunning = activator.stateOf(row.id) === "active" && activator.hashOf(row.id) === registration.hash;
  const settings = isRunning ? await readStoredSettings(host, row.id).catch(() => null) : null;
  if (settings !== null && isDeepStrictEqual(activator.settingsOf(row.id), settings)) return;
  const failed = "a module could not follow a change made on another server";
  await activateStored(host, row, registration, failed);
}

/**
 * Rereads the modules folder; call from the change queue. New modules appear disabled, deleted modules are marked
 * missing, and enabled modules restart if their files changed. If the folder cannot be read, rejects and changes
 * nothing.
 */
export async function reloadModules(host: ModuleHost): Promise<ReloadAnswer> {
  const { registry } = host;
  const before = new Map(registry);
  const scan = await scanModules({
    directory: requireCustom(host).place.directory,
    builtinIds: new Set([...before].filter(([, module]) => module.isBuiltin).map(([id]) => id)),
    previous: before,
    maxImportMs: host.limits.maxImportMs,
  });
  const found = new Map(scan.registrations.map((registration) => [registration.manifest.id, registration]));
  const next = new Map([...before].filter(([, registration]) => registration.isBuiltin));
  for (const [id, registration] of found) next.set(id, registration);
  await reconcileRows(host, next);
  registry.clear();
  for (const [id, registration] of next) registry.set(id, registration);

  const removed = [...before.keys()].filter((id) => !next.has(id));
  for (const id of removed) await host.activator.remove(id);
  const changed = [...found].filter(([id, now]) => isChanged(before.get(id), now)).map(([id]) => id);
  await activateAgain(host);
  return {
    added: [...found.keys()].filter((id) => !before.has(id)),
    changed,
    removed,
    problems: [
      ...scan.problems,
      ...scan.registrations.flatMap(({ folder, loadError }) =>
        folder !== null && loadError !== null ? [{ folder, error: loadError }] : [],
      ),
    ],
  };
}

function isChanged(before: ModuleRegistration | undefined, now: ModuleRegistration): boolean {
  return (
    before !== undefined && before !== now && (before.hash !== now.hash || before.loadError !== now.loadError)
  );
}

/**
 * Restarts enabled modules whose files changed. If a new version fails to start, the running version stays active.
 */
async function activateAgain(host: ModuleHost): Promise<void> {
  const rows = await listEnabledRows(host.pool);
  const due = rows.filter((row) => host.activator.hashOf(row.id) !== host.registry.get(row.id)?.hash);
  const order = (row: ModuleRow) => (row.type === "adapter" ? 0 : 1);
  for (const row of due.sort((left, right) => order(left) - order(right))) {
    const registration = host.registry.get(row.id);
    if (registration === undefined) continue;
    try {
      const started = await startRequested(host, registration, await readStoredSettings(host, row.id));
      await installWithDefinitions(host, started, row);
      await setModuleError(host.pool, row.id, null);
    } catch (error) {
      await recordFailure(host, row.id, describe(error, host.activator.stateOf(row.id) === "active"));
    }
  }
}

function describe(error: unknown, isRunning: boolean): string {
  const reason = readFailure(error instanceof AppError && error.cause !== undefined ? error.cause : error);
  return isRunning
    ? `The previous version keeps running, because the one on disk does not start: ${reason}`
    : reason;
}
