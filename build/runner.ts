/**
 * Builds dist/runner, one file each: the realm with its V8 code caches, the process child, the isolate slot, the
 * self-test child and the preparer.
 */
import { execFile } from "node:child_process";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { promisify } from "node:util";
import { type BuildOptions, build, type Metafile, type Plugin, type PluginBuild } from "esbuild";
import { CHILD_V8_FLAGS, ZYGOTE_V8_FLAGS } from "#runner/child/flags.ts";
import { DIST, ROOT, ZYGOTE_FOLDER } from "#runner/paths.ts";

const REALM = join(ROOT, "runner/child/realm") + sep;
const inputs = new Set<string>();

const COMMON: BuildOptions = {
  // Aliases are resolved from here, wherever the build is started.
  absWorkingDir: ROOT,
  metafile: true,
  bundle: true,
  write: false,
  target: "node26",
  legalComments: "none",
  charset: "ascii",
  logLevel: "warning",
};

const REALM_OPTIONS: BuildOptions = {
  ...COMMON,
  platform: "neutral",
  mainFields: ["module", "main"],
  conditions: ["require", "default"],
  format: "cjs",
  minify: true,
  alias: { "@exodus/bytes/encoding.js": "@exodus/bytes/encoding-lite.js" },
  plugins: [{ name: "replacements", setup: replaceLibraries }],
  inject: [join(ROOT, "runner/child/realm/globals/absent.ts")],
};

/**
 * Replaces tr46 with our small wrapper, which itself imports the original, and the libraries' `process` with ours.
 */
function replaceLibraries({ onResolve }: PluginBuild): void {
  const front = join(ROOT, "runner/child/realm/globals/tr46-on-demand.ts");
  onResolve({ filter: /^tr46$/ }, ({ importer }) => (importer === front ? null : { path: front }));
  const shim = join(ROOT, "runner/child/realm/modules/process-shim.ts");
  onResolve({ filter: /^process\/?$/ }, () => ({ path: shim }));
}

/**
 * The realm as a small core and libraries loaded on first use, each a script: an isolate compiles the core for every
 * run, a library only for runs that use it. Every `require()` in the realm's own files names a library.
 */
interface SplitRealm {
  /** Expression: a function that takes `require` and returns the realm's install function. */
  core: string;
  /**
   * Keyed by the name passed to `require`. Each is an expression: a function that takes `require` and returns the
   * exports.
   */
  libraries: Record<string, string>;
}

async function buildSplitRealm(): Promise<SplitRealm> {
  const install = join(REALM, "install.ts");
  const names = new Map<string, string>();
  let core = "";
  let libraries: Record<string, string> = {};
  // Libraries may require further ones, which those built earlier must then leave out.
  for (let known = -1; known < names.size; ) {
    known = names.size;
    core = await bundle(install, "install", names);
    libraries = {};
    for (const [path, name] of names) libraries[name] = await bundle(path, null, names);
  }
  return { core, libraries };
}

/** Bundles one part as an expression that returns the export `member`, or all exports if null. */
async function bundle(entry: string, member: string | null, names: Map<string, string>): Promise<string> {
  const { outputFiles, metafile } = await build({
    ...REALM_OPTIONS,
    entryPoints: [entry],
    banner: { js: '((require)=>{"use strict";const module={exports:{}},{exports}=module;' },
    footer: { js: `;return module.exports${member === null ? "" : `.${member}`}})` },
    plugins: [leaveOutLibraries(entry, names), ...(REALM_OPTIONS.plugins ?? [])],
  });
  record(metafile);
  return (outputFiles?.[0]?.text ?? "").trim().replace(/;$/, "");
}

function record(metafile: Metafile | undefined): void {
  for (const input of Object.keys(metafile?.inputs ?? {})) inputs.add(input);
}

function leaveOutLibraries(entry: string, names: Map<string, string>): Plugin {
  const isResolving = Symbol("isResolving");
  return {
    name: "leave-out-libraries",
    setup({ onResolve, resolve }) {
      onResolve({ filter: /./ }, async ({ path, importer, resolveDir, kind, pluginData }) => {
        if (pluginData === isResolving || kind === "entry-point") return null;
        const found = await resolve(path, { importer, resolveDir, kind, pluginData: isResolving });
        if (found.errors.length > 0 || found.path === entry) return null;
        if (kind === "require-call" && importer.startsWith(REALM) && !names.has(found.path)) {
          names.set(found.path, `library-${names.size + 1}`);
        }
        const name = names.get(found.path);
        return name === undefined ? null : { path: name, external: true };
      });
    },
  };
}

/**
 * Packs the child's own code and the realm with code caches, created under a child's flags. The core gets the
 * `require` that loads its libraries: `load` belongs to the embedder, so none of its errors may reach the script.
 */
async function writePack(
  { core, libraries }: SplitRealm,
  child: string,
  flags: readonly string[],
  folder: string,
): Promise<void> {
  const main = `((require,CYRNEL_HEAD,CYRNEL_FILE)=>{${child}\n})`;
  const require = `(name)=>{if(name in loaded)return loaded[name];let make;try{make=load(name)}catch{}if(typeof make!=="function")throw new Overflow("Maximum call stack size exceeded");return loaded[name]=make(require)}`;
  const packed = `((load)=>{"use strict";const Overflow=RangeError,loaded={__proto__:null},require=${require};return(${core})(require)})`;
  const sources = join(folder, `realm-sources.${process.pid}.json`);
  await writeFile(sources, JSON.stringify({ main, core: packed, libraries }));
  try {
    const program = join(import.meta.dirname, "code-cache.ts");
    await promisify(execFile)(process.execPath, [...flags, program, sources, join(folder, "realm.bin")]);
  } finally {
    await rm(sources);
  }
}

/** Bundles a process into one file, without external dependencies unless `options` says otherwise. */
async function buildProcess(entry: string, options: BuildOptions): Promise<string> {
  const { outputFiles, metafile } = await build({
    ...COMMON,
    entryPoints: [entry],
    platform: "node",
    format: "cjs",
    minifySyntax: true,
    minifyWhitespace: true,
    ...options,
  });
  record(metafile);
  return outputFiles?.[0]?.text ?? "";
}

/** Replaces the file atomically: a server may be starting children from it. */
async function write(path: string, text: string): Promise<void> {
  await writeFile(`${path}.${process.pid}`, text);
  await rename(`${path}.${process.pid}`, path);
}

export async function buildRunner(): Promise<string[]> {
  const [realm, child, loader] = await Promise.all([
    buildSplitRealm(),
    buildProcess(join(ROOT, "runner/child/main.ts"), {}),
    buildProcess(join(ROOT, "runner/child/load.ts"), {}),
  ]);
  const packs = [
    [DIST, CHILD_V8_FLAGS],
    [join(DIST, ZYGOTE_FOLDER), [...CHILD_V8_FLAGS, ...ZYGOTE_V8_FLAGS]],
  ] as const;
  const writePacks = packs.map(async ([folder, flags]) => {
    await mkdir(folder, { recursive: true });
    await writePack(realm, child, flags, folder);
    await write(join(folder, "child.js"), loader);
  });
  await Promise.all(writePacks);
  // A slot has no permission to read another file, so the realm is included.
  const slot = await buildProcess(join(ROOT, "modules/typescript-ivm/slot/main.ts"), {
    define: {
      CYRNEL_REALM_CORE: JSON.stringify(realm.core),
      CYRNEL_REALM_LIBRARIES: JSON.stringify(realm.libraries),
    },
  });
  await write(join(DIST, "slot.js"), slot);
  await write(
    join(DIST, "self-test.js"),
    await buildProcess(join(ROOT, "runner/isolation/self-test-child.ts"), {}),
  );
  const preparer = await buildProcess(join(ROOT, "runner/preparer/main.ts"), {
    format: "esm",
    packages: "external",
  });
  await write(join(DIST, "preparer.mjs"), preparer);
  return [...inputs, "runner/child/flags.ts", "runner/child/realm-pack.ts"];
}
