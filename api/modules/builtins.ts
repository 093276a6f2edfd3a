/**
 * The bundled modules and how each is loaded. A module that cannot be loaded is registered with the reason, so that
 * one broken native library does not stop the server.
 */
import { createHash } from "node:crypto";
import { type ModuleEntry, type ModuleManifest, type ModuleType, moduleManifestSchema } from "#sdk";
import { readFailure } from "./activation/failure.ts";

export const DEFAULT_ENVIRONMENT_ID = "typescript-process";

/** A bundled module before it is loaded; id and type are known even if loading fails. */
export interface BuiltinModule {
  id: string;
  type: ModuleType;
  load(): Promise<unknown>;
}

export const BUILTIN_MODULES: readonly BuiltinModule[] = [
  {
    id: "typescript-process",
    type: "environment",
    load: () => import("#modules/typescript-process/index.ts"),
  },
  { id: "typescript-ivm", type: "environment", load: () => import("#modules/typescript-ivm/index.ts") },
];

/** A module as the host holds it. */
export interface ModuleRegistration {
  manifest: ModuleManifest;
  isBuiltin: boolean;
  hash: string;
  source: string;
  entry: ModuleEntry | null;
  /** Why there is no entry. */
  loadError: string | null;
}

/** Loads all of them at once. Never rejects. */
export function loadBuiltins(builtins: readonly BuiltinModule[]): Promise<ModuleRegistration[]> {
  return Promise.all(builtins.map(loadBuiltin));
}

async function loadBuiltin(builtin: BuiltinModule): Promise<ModuleRegistration> {
  try {
    const entry = readEntry(await builtin.load());
    const parsed = moduleManifestSchema.safeParse(entry.manifest);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw new Error(`Its manifest is wrong at ${issue?.path.join(".") || "the top"}: ${issue?.message}.`);
    }
    const manifest = parsed.data;
    // Postgres stores no such text.
    if (JSON.stringify(manifest).includes("\\u0000")) throw new Error("Its manifest holds a NUL character.");
    if (manifest.id !== builtin.id || manifest.type !== builtin.type) {
      throw new Error(
        `Its manifest says ${manifest.type} "${manifest.id}" where ${builtin.type} "${builtin.id}" was expected.`,
      );
    }
    return register(manifest, entry, null);
  } catch (error) {
    const manifest = {
      id: builtin.id,
      type: builtin.type,
      name: builtin.id,
      description: "",
      main: "index.ts",
    };
    return register(manifest, null, `The module could not be loaded: ${readFailure(error)}`);
  }
}

function register(
  manifest: ModuleManifest,
  entry: ModuleEntry | null,
  loadError: string | null,
): ModuleRegistration {
  const hash = createHash("sha256").update(JSON.stringify(manifest)).digest("hex");
  return { manifest, isBuiltin: true, hash, source: "", entry, loadError };
}

/** `instantiate` as a named export or on the default export. */
function readEntry(loaded: unknown): ModuleEntry {
  for (const candidate of [loaded, (loaded as { default?: unknown } | null)?.default]) {
    if (candidate === null || candidate === undefined) continue;
    const entry = candidate as ModuleEntry;
    if (typeof entry.instantiate === "function") return entry;
  }
  throw new Error("It exports no function named instantiate.");
}
