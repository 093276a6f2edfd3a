/** Describes a module before any of its code runs, including how to load it. */
import type { ModuleEntry, ModuleManifest } from "#sdk";

export interface ModuleRegistration {
  manifest: ModuleManifest;
  isBuiltin: boolean;
  /** SHA-256 in hexadecimal: for a built-in module, of its manifest; for a custom module, of its package or files. */
  hash: string;
  source: string;
  folder: string | null;
  /** False if the manifest is a placeholder in which only the id is reliable. */
  isDescribed: boolean;
  loadError: string | null;
  /** Loads the module. For a custom module, this is the first time any of its code runs. */
  open(): Promise<ModuleEntry>;
}

export type ModuleRegistry = ReadonlyMap<string, ModuleRegistration>;

export function readEntry(loaded: unknown): ModuleEntry {
  for (const candidate of [loaded, (loaded as { default?: unknown } | null)?.default]) {
    if (candidate === null || candidate === undefined) continue;
    const entry = candidate as ModuleEntry;
    if (typeof entry.instantiate === "function") return entry;
  }
  throw new Error("It exports no function named instantiate.");
}

export function refuseToOpen(loadError: string): () => Promise<never> {
  return async () => {
    throw new Error(loadError);
  };
}
