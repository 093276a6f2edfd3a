/**
 * Bundles packages in a separate process. Arguments: BundleRequests as JSON. Standard output: one line of JSON per
 * request, a BundledPackage or `{problem}`. Reads files of the packages and their dependencies, and executes none of
 * them.
 */
import { hash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { join, relative, sep } from "node:path";
import type { Metafile } from "esbuild";
import type { BundledPackage, BundleRequest } from "./bundle.ts";
import { joinParts } from "./bundle-text.ts";
import { checkBundle } from "./check.ts";
import { type Compiled, compile } from "./compile.ts";
import { listCandidates, type Manifest, readManifest } from "./entries.ts";
import { compactMappings, type LineMap } from "./mappings.ts";
import { Refusal, SHIMS } from "./plugin.ts";
import { collectTypes } from "./types.ts";

const MAX_CODE_BYTES = 8 * 1024 * 1024;
const MAX_MAPPINGS_CHARS = 4 * 1024 * 1024;
const MODULE = "const module={exports:{}};let exports=module.exports;\n";

interface Part {
  code: string;
  map: LineMap;
}

/** `base` is the root's real path. */
interface Job extends BundleRequest {
  base: string;
  resolveDir: string;
}

async function bundle(request: BundleRequest): Promise<BundledPackage> {
  const { nodeModules, name, root } = request;
  const base = realpathSync(root);
  const job: Job = { ...request, base, resolveDir: join(nodeModules, "..") };
  if (!existsSync(join(nodeModules, name, "package.json"))) throw new Refusal(`${name} is not installed.`);
  const folder = realpathSync(join(nodeModules, name));
  if (!folder.startsWith(base + sep))
    throw new Refusal(`${name} is a link to a path outside of the packages folder.`);
  const manifest = readManifest(folder);
  if (manifest.gypfile === true || existsSync(join(folder, "binding.gyp")))
    throw new Refusal(`${name} is a native addon: a script can use JavaScript only.`);

  const broken = new Map<string, string>();
  const { exports, compiled } = await compileAll(job, manifest, folder, broken);
  const main = exports.get(".");
  const why = main === undefined ? undefined : broken.get(relative(base, main));
  if (why !== undefined) throw new Refusal(`${name} cannot be bundled: ${why}`);
  const common = listCommon(exports, compiled.metafile, base);
  const all = finish(job, compiled, START_ALL, `${END_ALL}(${JSON.stringify(common)})})`);
  // Most scripts import only the main module, so it gets its own scope, without the rest.
  const alone = main === undefined ? null : await compileMain(job, common["."] === 1, broken);
  const parts = alone !== null && exports.size === 1 ? { all: alone, main: null } : { all, main: alone };
  const code = joinParts(parts.main?.code ?? null, parts.all.code);
  const mappings = JSON.stringify({ ...parts.all.map, ...(parts.main && { main: parts.main.map }) });
  const isShown = mappings.length <= MAX_MAPPINGS_CHARS;
  const types = collectTypes(nodeModules, name, Object.keys(compiled.metafile.inputs), base);
  return {
    name,
    version: manifest.version,
    digest: hash("sha256", code),
    code,
    exports: [...exports.keys()],
    builtins: listExternal(compiled.metafile),
    missing: [...compiled.found.missing].sort(),
    mappings: isShown ? mappings : null,
    types,
    sizes: {
      code: Buffer.byteLength(parts.all.code),
      main: parts.main === null ? null : Buffer.byteLength(parts.main.code),
      mappings: isShown ? mappings.length : 0,
      types: Object.values(types).reduce((sum, one) => sum + Buffer.byteLength(one), 0),
      files: compiled.found.files,
    },
  };
}

const START_ALL = `((require)=>{${MODULE}`;
const END_ALL = "\n;return module.exports";

/** Compiles a table of all exports. They share modules, which are evaluated on first use. */
async function compileAll(
  { base, resolveDir, name }: Job,
  manifest: Manifest,
  folder: string,
  broken: Map<string, string>,
): Promise<{ exports: Map<string, string>; compiled: Compiled }> {
  const exports = new Map<string, string>();
  const compiled = await compile({
    base,
    resolveDir,
    broken,
    async listEntries(resolveAll) {
      exports.clear();
      const lines: string[] = [];
      const candidates = listCandidates(manifest, folder);
      const paths = await resolveAll(candidates.map((candidate) => name + candidate.slice(1)));
      for (const candidate of candidates) {
        const path = paths.get(name + candidate.slice(1));
        if (path === undefined || !/\.(?:[cm]?[jt]sx?|json)$|\/[^.]+$/.test(path)) continue;
        exports.set(candidate, path);
        const key = JSON.stringify(candidate);
        lines.push(`${key}:()=>read(${key},require(${JSON.stringify(path)}))`);
      }
      if (exports.size === 0)
        throw new Refusal(
          `${name} exports nothing that a script could import: it may contain only types, styles or a program.`,
        );
      return `const{wrap}=require(${JSON.stringify(SHIMS.wrap)});
module.exports=(common)=>{const read=(name,all)=>common[name]?wrap(all):all;return{__proto__:null,${lines.join(",\n")}}}`;
    },
  });
  return { exports, compiled };
}

/** Returns null if the main module cannot be compiled alone; the table is used then. */
async function compileMain(job: Job, isCommon: boolean, broken: Map<string, string>): Promise<Part | null> {
  const { base, resolveDir } = job;
  const specifier = JSON.stringify(job.name);
  const entry = isCommon
    ? `const{wrap}=require(${JSON.stringify(SHIMS.wrap)});exports.all=wrap(require(${specifier}))`
    : `import*as all from${specifier};export{all}`;
  try {
    const compiled = await compile({
      base,
      resolveDir,
      broken,
      listEntries: async () => entry,
      isFirst: true,
    });
    return finish(
      job,
      compiled,
      `((require)=>{let all;return{__proto__:null,".":()=>all??=(()=>{${MODULE}`,
      "\n;return module.exports.all})()}})",
    );
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

function finish({ base, name }: Job, { text, map }: Compiled, start: string, end: string): Part {
  const { code, shifts } = checkBundle(start + text + end);
  if (code.length > MAX_CODE_BYTES)
    throw new Refusal(`${name} becomes ${code.length} bytes of JavaScript; the limit is ${MAX_CODE_BYTES}.`);
  return { code, map: compactMappings(map, base, shifts) };
}

/** Returns the exports that are not ES modules, as `{".": 1}`. */
function listCommon(
  exports: ReadonlyMap<string, string>,
  { inputs }: Metafile,
  base: string,
): Record<string, 1> {
  const common: Record<string, 1> = Object.create(null);
  for (const [path, file] of exports) {
    const input = inputs[relative(base, file).split(sep).join("/")];
    if (input?.format !== "esm") common[path] = 1;
  }
  return common;
}

function listExternal({ outputs }: Metafile): string[] {
  const names = Object.values(outputs).flatMap(({ imports }) =>
    imports.filter(({ external }) => external === true).map(({ path }) => path),
  );
  return [...new Set(names)].sort();
}

async function answer(request: BundleRequest): Promise<BundledPackage | { problem: string }> {
  try {
    return await bundle(request);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { problem: error.message };
  }
}

const requests = process.argv.slice(2).map((text) => JSON.parse(text) as BundleRequest);
for (const made of await Promise.all(requests.map(answer))) process.stdout.write(`${JSON.stringify(made)}\n`);
