/**
 * The process that makes one package into one text: argument is JSON `{nodeModules, name, root}`, standard output a
 * BundledPackage or `{problem}`. Reads files of the package and of its tree, executes nothing of them.
 */
import { hash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { type BuildResult, build, type Message, type Metafile } from "esbuild";
import { TRANSFORM_OPTIONS } from "../source/transpile-alone.ts";
import type { BundledPackage } from "./bundle.ts";
import { checkBundle } from "./check.ts";
import { listCandidates, type Manifest, readManifest } from "./entries.ts";
import { compactMappings } from "./mappings.ts";
import { createPlugin, ENTRY, type Found, Refusal, SHIMS } from "./plugin.ts";
import { collectTypes } from "./types.ts";

const MAX_CODE_BYTES = 8 * 1024 * 1024;
/** Builds without the files that a build before could not read. */
const MAX_ATTEMPTS = 6;

const CONDITIONS = ["worker", "browser", "module", "production"];
const DEFINES = {
  "process.env.NODE_ENV": '"production"',
  process: "cyrnelNode.process",
  Buffer: "cyrnelNode.Buffer",
  global: "globalThis",
  __dirname: '"/"',
  __filename: '"/index.js"',
  "import.meta.url": '"file:///index.js"',
};
/** In front of the bundle, on a line of its own. */
const START = "((require)=>{const module={exports:{}};let exports=module.exports;\n";
const END = "\n;return module.exports";

const { nodeModules, name, root } = JSON.parse(process.argv[2] ?? "{}") as {
  nodeModules: string;
  name: string;
  root: string;
};

async function bundle(): Promise<BundledPackage | { problem: string }> {
  const base = realpathSync(root);
  if (!existsSync(join(nodeModules, name, "package.json"))) throw new Refusal(`${name} is not installed.`);
  const folder = realpathSync(join(nodeModules, name));
  if (!folder.startsWith(base + sep))
    throw new Refusal(`${name} is a link that leads out of the folder of packages.`);
  const manifest = readManifest(folder);
  if (manifest.gypfile === true || existsSync(join(folder, "binding.gyp")))
    throw new Refusal(`${name} is a native addon: a script can use JavaScript only.`);
  const broken = new Map<string, string>();
  for (let attempt = 1; ; attempt++) {
    const found: Found = { files: 0, bytes: 0, missing: new Set(), refused: null };
    const made = await buildOnce(manifest, folder, base, broken, found);
    if (found.refused !== null) throw new Refusal(found.refused);
    if ("result" in made) {
      const why = broken.get(relative(base, made.exports.get(".") ?? ""));
      if (why !== undefined) throw new Refusal(`${name} cannot be made into one file: ${why}`);
      return finish(made, manifest, base, found);
    }
    const added = made.errors.filter(({ location }) => location && !broken.has(location.file));
    if (added.length === 0 || attempt === MAX_ATTEMPTS) throw new Refusal(describeErrors(made.errors));
    for (const { location, text } of added) broken.set(location?.file ?? "", text);
  }
}

async function buildOnce(
  manifest: Manifest,
  folder: string,
  base: string,
  broken: Map<string, string>,
  found: Found,
): Promise<Made | { errors: Message[] }> {
  /** Paths by sub-path. */
  const exports = new Map<string, string>();
  const resolveDir = join(nodeModules, "..");
  try {
    const result = await build({
      stdin: { contents: `module.exports=require("${ENTRY}")`, resolveDir },
      absWorkingDir: base,
      bundle: true,
      write: false,
      metafile: true,
      format: "cjs",
      platform: "browser",
      conditions: CONDITIONS,
      mainFields: ["browser", "module", "main"],
      target: TRANSFORM_OPTIONS.target,
      // `import()` of the engine would be answered by the host: what is left of it becomes a call of `require`.
      supported: { "dynamic-import": false },
      charset: "ascii",
      minifyWhitespace: true,
      minifySyntax: true,
      legalComments: "none",
      define: DEFINES,
      inject: [SHIMS.node],
      sourcemap: "external",
      sourcesContent: false,
      tsconfigRaw: "{}",
      outfile: join(base, "cyrnel-bundle.js"),
      logLevel: "silent",
      plugins: [createPlugin({ base, broken, resolveDir, found, listEntries })],
    });
    return { result, exports };
  } catch (error) {
    const { errors } = error as { errors?: Message[] };
    if (errors === undefined) throw error;
    return { errors };
  }

  /** The first module: a table of what can be imported, by name. */
  async function listEntries(resolves: (specifier: string) => Promise<string | null>): Promise<string> {
    const lines: string[] = [];
    for (const candidate of listCandidates(manifest, folder)) {
      const path = await resolves(name + candidate.slice(1));
      if (path === null || !/\.(?:[cm]?[jt]sx?|json)$|\/[^.]+$/.test(path)) continue;
      exports.set(candidate, path);
      const [key, specifier] = [candidate, name + candidate.slice(1)].map((text) => JSON.stringify(text));
      lines.push(`${key}:()=>read(${key},require(${specifier}))`);
    }
    if (exports.size === 0)
      throw new Refusal(
        `${name} exports nothing that a script could import: it may hold types, styles or a program.`,
      );
    return `const{wrap}=require(${JSON.stringify(SHIMS.wrap)});
module.exports=(common)=>{const read=(name,all)=>common[name]?wrap(all):all;return{__proto__:null,${lines.join(",\n")}}}`;
  }
}

interface Made {
  result: BuildResult<{ write: false; metafile: true }>;
  exports: Map<string, string>;
}

function finish(
  { result: { outputFiles, metafile }, exports }: Made,
  manifest: Manifest,
  base: string,
  found: Found,
): BundledPackage {
  const text = outputFiles?.find(({ path }) => path.endsWith(".js"))?.text ?? "";
  const map = outputFiles?.find(({ path }) => path.endsWith(".map"))?.text ?? "";
  const whole = `${START}${text}${END}(${JSON.stringify(listCommon(exports, metafile, base))})})`;
  const { code, shifts } = checkBundle(whole);
  if (code.length > MAX_CODE_BYTES)
    throw new Refusal(
      `${name} becomes ${code.length} bytes of JavaScript; at most ${MAX_CODE_BYTES} are taken.`,
    );
  const mappings = compactMappings(map, base, shifts);
  const types = collectTypes(nodeModules, name, Object.keys(metafile.inputs), base);
  return {
    name,
    version: manifest.version,
    digest: hash("sha256", code),
    code,
    exports: [...exports.keys()],
    builtins: listExternal(metafile),
    missing: [...found.missing].sort(),
    mappings,
    types,
    sizes: {
      code: Buffer.byteLength(code),
      mappings: mappings?.length ?? 0,
      types: Object.values(types).reduce((sum, one) => sum + Buffer.byteLength(one), 0),
      files: found.files,
    },
  };
}

/** Those that are no ES modules: as `{".": 1}`. */
function listCommon(
  exports: ReadonlyMap<string, string>,
  { inputs }: Metafile,
  base: string,
): Record<string, 1> {
  const common: Record<string, 1> = Object.create(null);
  for (const [name, path] of exports) {
    const input = inputs[relative(base, path).split(sep).join("/")];
    if (input?.format !== "esm") common[name] = 1;
  }
  return common;
}

function listExternal({ outputs }: Metafile): string[] {
  const names = Object.values(outputs).flatMap(({ imports }) =>
    imports.filter(({ external }) => external === true).map(({ path }) => path),
  );
  return [...new Set(names)].sort();
}

function describeErrors([first]: readonly Message[]): string {
  if (first === undefined) return `${name} cannot be made into one file.`;
  const { text, location } = first;
  const place = location ? ` (${location.file}:${location.line})` : "";
  return `${name} cannot be made into one file: ${text}${place}.`;
}

let answer: BundledPackage | { problem: string };
try {
  answer = await bundle();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  answer = { problem: error.message };
}
process.stdout.write(JSON.stringify(answer));
