/**
 * Bundled modules and how to load them. A module that cannot be loaded is registered with the reason, so that a
 * broken native library does not stop the server.
 */
import { createHash } from "node:crypto";
import { readFailure } from "#api/bounds/failure-text.ts";
import { type ModuleEntry, type ModuleManifest, type ModuleType, moduleManifestSchema } from "#sdk";
import { type ModuleRegistration, readEntry, refuseToOpen } from "./registration.ts";

export const DEFAULT_ENVIRONMENT_ID = "typescript-process";

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
  { id: "openapi", type: "adapter", load: () => import("#modules/openapi/index.ts") },
  { id: "http", type: "adapter", load: () => import("#modules/http/index.ts") },
  { id: "mcp", type: "adapter", load: () => import("#modules/mcp/index.ts") },
  { id: "graphql", type: "adapter", load: () => import("#modules/graphql/index.ts") },
  { id: "demo", type: "adapter", load: () => import("#modules/demo/index.ts") },
];

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
    if (JSON.stringify(manifest).includes("\\u0000"))
      throw new Error("Its manifest contains a NUL character.");
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
  return {
    manifest,
    isBuiltin: true,
    hash: createHash("sha256").update(JSON.stringify(manifest)).digest("hex"),
    source: "",
    folder: null,
    isDescribed: entry !== null,
    loadError,
    open: entry === null ? refuseToOpen(loadError ?? "It was not loaded.") : async () => entry,
  };
}
