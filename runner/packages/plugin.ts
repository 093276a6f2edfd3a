/**
 * Resolves and reads a package's files while it is bundled: only JavaScript and data from one folder, within limits.
 * Replaces modules that scripts do not have.
 */
import { constants } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { builtinModules } from "node:module";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildOptions, Loader, OnLoadResult, Plugin, PluginBuild } from "esbuild";
import { BUILTINS, reasonForAbsence } from "../source/modules/names.ts";
import { createBrowserMaps } from "./browser-maps.ts";

/** Stops the bundling. Its message is for the operator who installs the package. */
export class Refusal extends Error {}

const SHIM_FOLDER = fileURLToPath(new URL("./shims", import.meta.url));
export const SHIMS = {
  node: join(SHIM_FOLDER, "node.ts"),
  wrap: join(SHIM_FOLDER, "wrap.ts"),
  absent: join(SHIM_FOLDER, "absent.ts"),
} as const;
/** Harmless Node modules, replaced within a bundle. */
const OWN_MODULES: Record<string, string> = {
  process: "process.ts",
  os: "os.ts",
  tty: "tty.ts",
  perf_hooks: "perf-hooks.ts",
  worker_threads: "worker-threads.ts",
  async_hooks: "async-hooks.ts",
  module: "module.ts",
};

/** Opening a pipe must not wait for its other end. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK;
const MAX_FILES = 20_000;
const MAX_FILE_BYTES = 16 * 1024 * 1024;
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;

export interface Found {
  files: number;
  bytes: number;
  missing: Set<string>;
  refused: string | null;
}

interface PluginOptions {
  base: string;
  /** Reasons by unreadable file. Requiring such a file throws. */
  broken: ReadonlyMap<string, string>;
  /** Folder for resolving specifiers that come from no file. */
  resolveDir: string;
  found: Found;
  listEntries(resolveAll: ResolveAll): Promise<string>;
}

/** Returns files by specifier; omits specifiers that cannot be resolved. */
export type ResolveAll = (specifiers: readonly string[]) => Promise<Map<string, string>>;

export const ENTRY = "cyrnel-entries";
const ABSENT = "cyrnel-absent";
const RESOLVING = Symbol("resolving");

const LOADERS: Record<string, Loader> = {
  js: "js",
  mjs: "js",
  cjs: "js",
  jsx: "jsx",
  ts: "ts",
  mts: "ts",
  cts: "ts",
  tsx: "tsx",
  json: "json",
  txt: "text",
  md: "text",
  html: "text",
  svg: "text",
  css: "empty",
};

export function createPlugin({ base, broken, resolveDir, found, listEntries }: PluginOptions): Plugin {
  const ownFiles = new Set<string>([...Object.values(SHIMS), ...Object.values(OWN_MODULES).map(toShim)]);
  /** Keyed by import kind, folder and specifier. */
  const resolved = new Map<string, boolean>();
  const isSwitchedOff = createBrowserMaps(base);
  const read = createFileReader({ base, broken, found });
  return {
    name: "packages",
    setup({ onResolve, onLoad, resolve, esbuild, initialOptions }) {
      onResolve({ filter: /./ }, async (args) => {
        const { path, importer, kind, pluginData, namespace } = args;
        if (pluginData === RESOLVING || kind === "entry-point") return null;
        if (path === ENTRY) return { path: ENTRY, namespace: ENTRY };
        if (ownFiles.has(path)) return { path };
        if (namespace === "file" && importer !== "<stdin>" && isSwitchedOff(args.resolveDir, path)) {
          const place = /^\./.test(path) ? relative(base, join(args.resolveDir, path)) : path;
          return { path: place, namespace: ABSENT, pluginData: "off" };
        }
        // The bundler reports a missing file, unless the package handles its absence.
        if (/^\.\.?\//.test(path) && namespace === "file" && importer !== "<stdin>") return null;
        const from = {
          importer,
          namespace: "file",
          resolveDir: args.resolveDir || resolveDir,
          pluginData: RESOLVING,
        };
        if (namespace === ENTRY && isAbsolute(path)) return { path };
        if (namespace === ENTRY || importer === "<stdin>") {
          const { path: meant } = await resolve(path, { ...from, importer: "", kind: "import-statement" });
          return { path: meant };
        }
        const bare = path.replace(/^node:/, "");
        const isNodes =
          builtinModules.includes(bare) || builtinModules.includes(bare.split("/")[0] as string);
        if (isNodes && (path !== bare || !(await isReplaced(path)))) return toBuiltin(bare);
        const key = `${kind} ${from.resolveDir} ${path}`;
        let isThere = resolved.get(key);
        if (isThere === undefined) {
          isThere = (await resolve(path, { ...from, kind })).errors.length === 0;
          resolved.set(key, isThere);
        }
        if (isThere) return null;
        if (!/^[./]/.test(path)) found.missing.add(path.slice(0, 200));
        return { path: `${kind === "import-statement" ? "import" : "require"} ${path}`, namespace: ABSENT };

        /** A package may replace a module with the `browser` field in its package.json. */
        async function isReplaced(name: string): Promise<boolean> {
          const other = await resolve(name, { ...from, kind });
          if (other.errors.length > 0) return false;
          return !other.path.includes(`${sep}node_modules${sep}${name}${sep}`);
        }
      });

      function toBuiltin(name: string) {
        if (BUILTINS.includes(name)) return { path: name, external: true };
        const own = OWN_MODULES[name];
        if (own !== undefined) return { path: toShim(own), namespace: ABSENT, pluginData: "own" };
        found.missing.add(name);
        return { path: name, namespace: ABSENT, pluginData: "builtin" };
      }

      onLoad({ filter: /./, namespace: ENTRY }, async () => ({
        contents: await listEntries(async (specifiers) => {
          const paths = await resolveAll(esbuild, initialOptions, { base, resolveDir }, specifiers);
          // The browser field may also disable one of the package's own entries.
          for (const [specifier, path] of paths)
            if (isSwitchedOff(dirname(path), `./${basename(path)}`)) paths.delete(specifier);
          return paths;
        }).catch((error: unknown) => {
          if (!(error instanceof Refusal)) throw error;
          found.refused ??= error.message;
          return "";
        }),
        loader: "js",
        resolveDir,
      }));

      onLoad({ filter: /./, namespace: ABSENT }, ({ path, pluginData }) => ({
        contents: standIn(path, pluginData),
        loader: "js",
        resolveDir,
      }));

      onLoad({ filter: /./, namespace: "file" }, async ({ path }) => {
        if (ownFiles.has(path)) return null;
        return read(path);
      });
    },
  };
}

function standIn(path: string, kind: string | undefined): string {
  if (kind === "off") return "module.exports={}";
  // CommonJS, so that the default export is the complete module.
  if (kind === "own") {
    const member = path.endsWith("process.ts") ? ".process" : "";
    return `module.exports=require(${JSON.stringify(path)})${member}`;
  }
  const load = `require(${JSON.stringify(SHIMS.absent)})`;
  return kind === "builtin"
    ? `module.exports=${load}.absentModule(${JSON.stringify(path)},${JSON.stringify(reasonForAbsence(path))})`
    : `throw ${load}.notInstalled(${JSON.stringify(path.slice(path.indexOf(" ") + 1))})`;
}

function createFileReader({ base, broken, found }: Pick<PluginOptions, "base" | "broken" | "found">) {
  return read;

  async function read(path: string): Promise<OnLoadResult> {
    const shown = relative(base, path);
    const why = broken.get(shown);
    if (why !== undefined) return fails(`${shown} cannot be read: ${why}`);
    const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "js";
    if (extension === "node" || extension === "wasm") {
      const what = extension === "node" ? "a native addon" : "WebAssembly";
      found.refused ??= `It needs ${what} (${shown}): a script can use JavaScript only.`;
      return { contents: "", loader: "empty" };
    }
    const loader = LOADERS[extension];
    if (loader === undefined) return fails(`${shown} is not JavaScript`);
    const contents = await readInside(path);
    // The engine uses the last such comment: the package's source maps are ignored, and lines are those of its own
    // files.
    return { contents: loader === "js" || loader === "ts" ? contents + NO_MAP : contents, loader };
  }

  function fails(message: string): OnLoadResult {
    return { contents: `throw new Error(${JSON.stringify(message)})`, loader: "js" };
  }

  async function readInside(path: string): Promise<string> {
    const real = await realpath(path);
    if (!real.startsWith(base + sep)) {
      found.refused ??= `${relative(base, path)} is outside of the packages folder.`;
      return "";
    }
    await using handle: FileHandle = await open(real, READ);
    const stat = await handle.stat();
    if (!stat.isFile()) {
      found.refused ??= `${relative(base, path)} is not a file.`;
      return "";
    }
    found.files++;
    found.bytes += stat.size;
    if (stat.size > MAX_FILE_BYTES || found.bytes > MAX_TOTAL_BYTES || found.files > MAX_FILES) {
      found.refused ??= `It is too large: the limit is ${MAX_FILES} files with ${MAX_TOTAL_BYTES / 1024 / 1024} MiB together.`;
      return "";
    }
    return handle.readFile("utf8");
  }
}
const NO_MAP = "\n//# sourceMappingURL=none";

/**
 * Resolves all specifiers in one build that reads no file. esbuild's `resolve` starts with empty caches each time,
 * which takes seconds of CPU for a package with hundreds of entries.
 */
async function resolveAll(
  { build }: PluginBuild["esbuild"],
  options: BuildOptions,
  { base, resolveDir }: Pick<PluginOptions, "base" | "resolveDir">,
  specifiers: readonly string[],
): Promise<Map<string, string>> {
  const { metafile } = await build({
    ...options,
    inject: [],
    stdin: {
      contents: specifiers.map((one) => `import(${JSON.stringify(one)}).catch(()=>{})`).join("\n"),
      resolveDir,
    },
    plugins: [
      {
        name: "empty",
        setup: ({ onLoad }) => onLoad({ filter: /./ }, () => ({ contents: "", loader: "js" })),
      },
    ],
  });
  const paths = new Map<string, string>();
  for (const { path, original, external } of metafile?.inputs["<stdin>"]?.imports ?? [])
    if (original !== undefined && external !== true)
      paths.set(original, join(base, path.replace(/^\(disabled\):/, "")));
  return paths;
}

function toShim(file: string): string {
  return join(SHIM_FOLDER, file);
}
