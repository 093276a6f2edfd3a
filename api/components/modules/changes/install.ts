import { readFailure } from "#api/bounds/failure-text.ts";
import { AppError } from "#api/errors.ts";
import type { CustomModules, ModuleHost } from "../host.ts";
import { describeModule } from "../loader/scan.ts";
import type { ModuleRegistration } from "../registration.ts";
import { findModuleRow, registerModuleRow } from "../store.ts";
import type { PreparedModule } from "./prepared.ts";

/**
 * Installs a prepared module. Call from the change queue. Throws AppError `module_taken` and leaves no files behind.
 */
export async function installPrepared(host: ModuleHost, prepared: PreparedModule): Promise<string> {
  const { id } = prepared.manifest;
  const { place } = requireCustom(host);
  if (host.registry.get(id)?.isBuiltin) {
    throw new AppError("module_taken", `${id} is a module that comes with the server. Choose another id.`);
  }
  if ((await findModuleRow(host.pool, id)) !== null) {
    throw new AppError(
      "module_taken",
      `There is a module ${id} already. PATCH /modules/${id} replaces it; DELETE it first for a new one.`,
    );
  }
  try {
    await prepared.staged.putInPlace(prepared.subfolder, id);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new AppError(
      "module_taken",
      `There is a folder ${id} among the modules already. POST /modules/reload finds it; move it away for a new one.`,
    );
  }
  try {
    const registration = await describePlaced(host, id, prepared);
    await registerModuleRow(host.pool, toRow(registration));
    host.registry.set(id, registration);
  } catch (error) {
    const taken = await place.takeAway(id);
    await taken.discard();
    throw error;
  }
  return id;
}

export function describePlaced(
  host: ModuleHost,
  folder: string,
  prepared: PreparedModule,
): Promise<ModuleRegistration> {
  const { directory } = requireCustom(host).place;
  const { registry: previous, limits } = host;
  return describeModule(folder, prepared.manifest, { directory, previous, maxImportMs: limits.maxImportMs });
}

export function toRow(registration: ModuleRegistration) {
  const { manifest, isBuiltin, hash, source, isDescribed, loadError } = registration;
  return {
    id: manifest.id,
    type: manifest.type,
    name: manifest.name,
    description: manifest.description,
    version: manifest.version ?? null,
    isBuiltin,
    hash,
    source,
    isDescribed,
    error: loadError === null ? null : readFailure(loadError),
    enabledAtFirst: false,
  };
}

export function requireCustom(host: ModuleHost): CustomModules {
  if (host.custom !== null) return host.custom;
  throw new AppError("not_found", "Custom modules are disabled on this server.");
}
