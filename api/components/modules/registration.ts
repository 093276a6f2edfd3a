/** A registered module: what is known before any of its code has run, and how to load the code. */
import type { ModuleEntry, ModuleManifest } from "#sdk";

export interface ModuleRegistration {
  manifest: ModuleManifest;
  isBuiltin: boolean;
  /** SHA-256, hexadecimal: of a built-in's manifest, of the package or the files of a custom one. */
  hash: string;
  /** Registry URL; empty without one. */
  source: string;
  /** Name of its folder below the modules folder; null for a built-in. */
  folder: string | null;
  /** Whether `manifest` is the module's own. If not, only its id is to be relied on. */
  isDescribed: boolean;
  /** Why its code cannot be loaded, as far as that is known without loading it. */
  loadError: string | null;
  /** Loads the code. For a custom module this is the first time any of it runs. Rejects with a sentence. */
  open(): Promise<ModuleEntry>;
}

export type ModuleRegistry = ReadonlyMap<string, ModuleRegistration>;

/** `instantiate` as a named export or on the default export. */
export function readEntry(loaded: unknown): ModuleEntry {
  for (const candidate of [loaded, (loaded as { default?: unknown } | null)?.default]) {
    if (candidate === null || candidate === undefined) continue;
    const entry = candidate as ModuleEntry;
    if (typeof entry.instantiate === "function") return entry;
  }
  throw new Error("It exports no function named instantiate.");
}

/** `open` of a module that cannot be loaded. */
export function refuseToOpen(loadError: string): () => Promise<never> {
  return async () => {
    throw new Error(loadError);
  };
}
