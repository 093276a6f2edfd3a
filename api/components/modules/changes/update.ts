/**
 * Replaces the files of a module: swapped in while the old folder is kept, started, the services' tools made anew, and
 * only then for good. Whatever fails in between, the old folder is back and what ran goes on running.
 */
import { AppError } from "#api/errors.ts";
import type { StartedModule } from "../activation/activator.ts";
import {
  forgetAttempts,
  type ModuleHost,
  readStoredSettings,
  regenerateDefinitions,
  startRequested,
} from "../host.ts";
import type { FolderSwap } from "../packages/place.ts";
import type { ModuleRegistration } from "../registration.ts";
import { clearDefinitionsDue, type ModuleRow, registerModuleRow, setDefinitionsDue } from "../store.ts";
import { describePlaced, toRow } from "./install.ts";
import type { PreparedModule } from "./prepared.ts";

/** Within the queue of changes, for a row of a custom module. Throws AppError; then nothing has changed. */
export async function replaceModule(
  host: ModuleHost,
  row: ModuleRow,
  prepared: PreparedModule,
): Promise<void> {
  const { id } = row;
  const before = host.registry.get(id) ?? null;
  requireSame(row, before, prepared);
  const folder = before?.folder ?? id;
  // Before anything is swapped: if the server ends in between, the tools are made anew by what is there then.
  await setDefinitionsDue(host.pool, id);
  let swap: FolderSwap;
  try {
    swap = await prepared.staged.swapIn(prepared.subfolder, folder);
  } catch (error) {
    if (!row.definitionsDue) await clearDefinitionsDue(host.pool, id);
    throw error;
  }
  let started: StartedModule | null = null;
  let isRegenerated = false;
  let next: ModuleRegistration;
  try {
    next = await describePlaced(host, folder, prepared);
    if (row.enabled) {
      started = await startRequested(host, next, await readStoredSettings(host, id));
      isRegenerated = true;
      await regenerateDefinitions(host, started);
    }
    await registerModuleRow(host.pool, toRow(next));
    await swap.commit();
  } catch (error) {
    void started?.instance.teardown();
    await undo(host, row, before, swap, isRegenerated);
    throw error;
  }
  host.registry.set(id, next);
  if (started === null) return;
  await clearDefinitionsDue(host.pool, id);
  await host.activator.install(started);
  await forgetAttempts(host, id);
}

function requireSame(row: ModuleRow, before: ModuleRegistration | null, { manifest }: PreparedModule): void {
  if (manifest.id !== row.id) {
    throw new AppError(
      "invalid_package",
      `The package is the module ${manifest.id}, not ${row.id}. POST /modules installs it as a module of its own.`,
    );
  }
  // The type of a module whose manifest could never be read is a guess.
  if (manifest.type !== row.type && (before === null || before.isDescribed)) {
    throw new AppError(
      "invalid_package",
      `The package is an ${manifest.type}, the module ${row.id} an ${row.type}. DELETE it first to install another kind.`,
    );
  }
}

/** The failure that led here is the one that is told; what fails on the way back goes to the log. */
async function undo(
  host: ModuleHost,
  row: ModuleRow,
  before: ModuleRegistration | null,
  swap: FolderSwap,
  isRegenerated: boolean,
): Promise<void> {
  const { pool, logger, activator } = host;
  const attempt = async (work: () => Promise<unknown>, message: string) => {
    try {
      await work();
    } catch (error) {
      logger.error({ module: row.id, err: error }, message);
    }
  };
  await attempt(
    swap.undo,
    "the folder of before an update could not be put back; the next start tries again",
  );
  if (before !== null) {
    await attempt(
      () => registerModuleRow(pool, { ...toRow(before), error: row.error }),
      "the row of a module could not be put back",
    );
  }
  if (isRegenerated && activator.adapters.get(row.id) !== null) {
    await attempt(async () => {
      await activator.services.regenerateAll(row.id);
      await clearDefinitionsDue(pool, row.id);
    }, "the services of an adapter could not be made anew by the version before");
  } else if (!row.definitionsDue && !isRegenerated) {
    await attempt(() => clearDefinitionsDue(pool, row.id), "a note about an update could not be removed");
  }
}
