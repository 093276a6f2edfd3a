/**
 * Builds runner/dist: the realm's bundle with its V8 code cache, and the process child as one file with both inside.
 * Run by `npm run build`; takes no arguments.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BuildOptions, build, type PluginBuild } from "esbuild";
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

/** One expression whose value is the realm's install function; libraries in it are evaluated on first use. */
async function buildRealm(): Promise<string> {
  const { outputFiles } = await build({
    ...COMMON,
    entryPoints: [join(ROOT, "child/realm/install.ts")],
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["require", "default"],
    format: "cjs",
    minify: true,
    // Templates are the only thing that keeps line breaks; the child wants the bundle on one line.
    supported: { "template-literal": false },
    alias: { "@exodus/bytes/encoding.js": "@exodus/bytes/encoding-lite.js" },
    plugins: [{ name: "tr46-on-demand", setup: loadOnDemand }],
    inject: [join(ROOT, "child/realm/globals/absent.ts")],
    banner: { js: '((module)=>{"use strict";' },
    footer: { js: ";return module.exports.install})({exports:{}})" },
  });
  return (outputFiles?.[0]?.text ?? "").trim().replaceAll("\n", "");
}

/** Puts our small front before tr46 for everyone but that front itself. */
function loadOnDemand({ onResolve }: PluginBuild): void {
  const front = join(ROOT, "child/realm/globals/tr46-on-demand.ts");
  onResolve({ filter: /^tr46$/ }, ({ importer }) => (importer === front ? null : { path: front }));
}

/** Compiles and installs the realm once under the flags of a child, so that the cache holds what every start runs. */
function buildCodeCache(): void {
  execFileSync(process.execPath, [...V8_FLAGS, join(ROOT, "build-cache.ts"), REALM, REALM_CACHE], {
    stdio: "inherit",
  });
}

async function buildChild(): Promise<string> {
  const [source, cache] = await Promise.all([readFile(REALM, "utf8"), readFile(REALM_CACHE, "base64")]);
  const { outputFiles } = await build({
    ...COMMON,
    entryPoints: [join(ROOT, "child/main.ts")],
    platform: "node",
    format: "cjs",
    minifySyntax: true,
    minifyWhitespace: true,
    define: { CYRNEL_REALM_SOURCE: JSON.stringify(source), CYRNEL_REALM_CACHE: JSON.stringify(cache) },
  });
  return outputFiles?.[0]?.text ?? "";
}

/** The slot process of modules/typescript-ivm, with the realm inside: it has no right to read another file. */
async function buildSlot(entry: string): Promise<string> {
  const { outputFiles } = await build({
    ...COMMON,
    entryPoints: [entry],
    platform: "node",
    format: "cjs",
    minifySyntax: true,
    minifyWhitespace: true,
    define: { CYRNEL_REALM_SOURCE: JSON.stringify(await readFile(REALM, "utf8")) },
  });
  return outputFiles?.[0]?.text ?? "";
}

/** Replaces the file in one step: a server may be starting children from it. */
async function write(path: string, text: string): Promise<void> {
  await writeFile(`${path}.${process.pid}`, text);
  await rename(`${path}.${process.pid}`, path);
}

await mkdir(DIST, { recursive: true });
await write(REALM, await buildRealm());
buildCodeCache();
if (existsSync(join(ROOT, "child/main.ts"))) await write(join(DIST, "child.js"), await buildChild());
const slotEntry = join(ROOT, "../modules/typescript-ivm/slot/main.ts");
if (existsSync(slotEntry)) await write(join(DIST, "slot.js"), await buildSlot(slotEntry));
