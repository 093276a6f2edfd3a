/** Enabling and disabling a module. */
import { AppError } from "#api/errors.ts";
import {
  installWithDefinitions,
  type ModuleHost,
  noteFailure,
  readStoredSettings,
  requireRegistration,
  requireRow,
  startRequested,
} from "../host.ts";
import { disableOtherEnvironments, setModuleEnabled } from "../store.ts";

/** Within the queue of changes. Throws AppError `module_failed` with the module's message; then nothing has changed. */
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
      await noteFailure(host, id, (error.cause as Error).message);
    }
    throw error;
  }
}
