/** Deletes a custom module: its services, its folder, its row with settings and secrets, and what runs of it. */
import { ownerKey } from "../../ports.ts";
import { forgetAttempts, type ModuleHost, refuseBuiltin, requireRow } from "../host.ts";
import { deleteModuleRow } from "../store.ts";

/** Within the queue of changes. Also for a module whose files are missing. */
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
