import { AppError } from "#api/errors.ts";
import { ownerKey } from "../../ports.ts";
import {
  forgetAttempts,
  installWithDefinitions,
  type ModuleHost,
  readStoredSettings,
  recordFailure,
  refuseBuiltin,
  requireRegistration,
  requireRow,
  startRequested,
} from "../host.ts";
import { deleteModuleRow, disableOtherEnvironments, setModuleEnabled } from "../store.ts";

/**
 * Enables or disables a module. Call from the change queue. Throws AppError `module_failed` with the module's message
 * and changes nothing.
 */
export async function changeEnabled(host: ModuleHost, id: string, enabled: boolean): Promise<void> {
  const { pool, activator } = host;
  const row = await requireRow(host, id);
  if (!enabled) {
    await setModuleEnabled(pool, id, false);
    await activator.remove(id);
    return;
  }
  const registration = requireRegistration(host, id);
  if (row.enabled && activator.stateOf(id) === "active") return;
  try {
    const started = await startRequested(host, registration, await readStoredSettings(host, id));
    try {
      await pool.begin(async (transaction) => {
        if (row.type === "environment") await disableOtherEnvironments(transaction, id);
        await setModuleEnabled(transaction, id, true);
      });
    } catch (error) {
      void started.instance.teardown();
      throw error;
    }
    await installWithDefinitions(host, started, row);
  } catch (error) {
    if (error instanceof AppError && error.code === "module_failed") {
      await recordFailure(host, id, (error.cause as Error).message);
    }
    throw error;
  }
}

export async function removeModule(host: ModuleHost, id: string): Promise<void> {
  const { pool, activator, custom } = host;
  const row = await requireRow(host, id);
  refuseBuiltin(row, "deleted. Disable it instead");
  if (row.type === "adapter") await activator.services.removeAll(id);
  await forgetAttempts(host, id);
  const folder = host.registry.get(id)?.folder ?? null;
  const taken = folder === null || custom === null ? null : await custom.place.takeAway(folder);
  try {
    await pool.begin(async (transaction) => {
      await host.secrets.remove(transaction, { kind: "module", id });
      await deleteModuleRow(transaction, id);
    });
  } catch (error) {
    await taken?.restore();
    throw error;
  }
  host.registry.delete(id);
  await activator.remove(id);
  await taken?.discard();
  host.watch.dropOwner(ownerKey({ kind: "module", id }));
}
