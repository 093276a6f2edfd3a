/**
 * Builds runner/dist: the realm's bundle with its V8 code cache, the process child and the slot of isolates, one file
 * each. Run by `npm run build`; takes no arguments.
 */
import { execFileSync } from "node:child_process";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BuildOptions, build, type PluginBuild } from "esbuild";
import { buildSplitRealm } from "./build-split-realm.ts";
import { V8_FLAGS } from "./child/flags.ts";

const ROOT = import.meta.dirname;
const DIST = join(ROOT, "dist");
const REALM = join(DIST, "realm.js");
const REALM_CACHE = join(DIST, "realm.cache");

const COMMON: BuildOptions = {
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
  plugins: [{ name: "tr46-on-demand", setup: loadOnDemand }],
  inject: [join(ROOT, "child/realm/globals/absent.ts")],
};

/** One expression whose value is the realm's install function; libraries in it are evaluated on first use. */
async function buildRealm(): Promise<string> {
  const { outputFiles } = await build({
    ...REALM_OPTIONS,
    entryPoints: [join(ROOT, "child/realm/install.ts")],
    banner: { js: '((module)=>{"use strict";' },
    footer: { js: ";return module.exports.install})({exports:{}})" },
  });
  return (outputFiles?.[0]?.text ?? "").trim();
}

/** Puts our small front before tr46 for everyone but that front itself. */
function loadOnDemand({ onResolve }: PluginBuild): void {
  const front = join(ROOT, "child/realm/globals/tr46-on-demand.ts");
  onResolve({ filter: /^tr46$/ }, ({ importer }) => (importer === front ? null : { path: front }));
}

/** Runs the realm once under the flags of a child, so that the cache holds what most runs need. */
function buildCodeCache(): void {
  execFileSync(process.execPath, [...V8_FLAGS, join(ROOT, "build-cache.ts"), REALM, REALM_CACHE], {
    stdio: "inherit",
  });
}

/** A process as one file without dependencies. */
async function buildProcess(entry: string, define: Record<string, string>): Promise<string> {
  const { outputFiles } = await build({
    ...COMMON,
    entryPoints: [entry],
    platform: "node",
    format: "cjs",
    minifySyntax: true,
    minifyWhitespace: true,
    define,
  });
  return outputFiles?.[0]?.text ?? "";
}

/** Replaces the file in one step: a server may be starting children from it. */
async function write(path: string, text: string): Promise<void> {
  await writeFile(`${path}.${process.pid}`, text);
  await rename(`${path}.${process.pid}`, path);
}

await mkdir(DIST, { recursive: true });
const realm = await buildRealm();
await write(REALM, realm);
buildCodeCache();
await write(join(DIST, "child.js"), await buildProcess(join(ROOT, "child/main.ts"), {}));
// A slot has no right to read another file: the realm is inside.
const slotEntry = join(ROOT, "../modules/typescript-ivm/slot/main.ts");
const { core, libraries } = await buildSplitRealm(REALM_OPTIONS, ROOT);
const slot = await buildProcess(slotEntry, {
  CYRNEL_REALM_CORE: JSON.stringify(core),
  CYRNEL_REALM_LIBRARIES: JSON.stringify(libraries),
});
await write(join(DIST, "slot.js"), slot);
