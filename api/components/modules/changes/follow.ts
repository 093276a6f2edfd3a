/**
 * Brings the modules of this server in line with the rows, after another server has changed them. What is as it should be
 * is left alone, so it does not matter how often, or by whom, it is called.
 */
import { isDeepStrictEqual } from "node:util";
import { readFailure } from "#api/bounds/failure-text.ts";
import { ownerKey } from "../../ports.ts";
import { installWithDefinitions, type ModuleHost, noteFailure, readStoredSettings } from "../host.ts";
import { listAllRows, type ModuleRow, setModuleError } from "../store.ts";
import { reloadModules } from "./reload.ts";

/** Within the queue of changes. Rejects only when the database, or the folder of all modules, cannot be read. */
export async function followModules(host: ModuleHost): Promise<void> {
  const { registry, pool, activator, custom } = host;
  // Installed, replaced or deleted: the folder is shared, so the files are there already.
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
  const { registry, activator, logger, pool } = host;
  const registration = registry.get(row.id);
  if (registration === undefined || registration.loadError !== null) return;
  try {
    const settings = await readStoredSettings(host, row.id);
    const isAsStored =
      activator.stateOf(row.id) === "active" &&
      activator.hashOf(row.id) === registration.hash &&
      isDeepStrictEqual(activator.settingsOf(row.id), settings);
    if (isAsStored) return;
    await installWithDefinitions(host, await activator.start(registration, settings), row);
    await setModuleError(pool, row.id, null);
  } catch (error) {
    logger.error({ module: row.id, err: error }, "a module could not follow a change made on another server");
    await noteFailure(host, row.id, readFailure(error));
  }
}
