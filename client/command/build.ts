/**
 * Builds client/command/dist: the command and what it loads on demand, bundled, with their code compiled ahead; and
 * runner/dist where that is missing, which scripts on this machine need. Run by cyrnel.cjs and by `npm run build:command`.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BuildOptions, build, type Plugin, version } from "esbuild";

const FOLDER = import.meta.dirname;
const ROOT = join(FOLDER, "../..");
const DIST = join(FOLDER, "dist");

/** Files that say where they are, and are elsewhere in the bundle. */
const PLACES: Plugin = {
  name: "places",
  setup({ onLoad }) {
    onLoad({ filter: /runner\/dist-folder\.ts$/ }, () => ({
      contents: `import { join } from "node:path"; export const DIST = join(import.meta.dirname, "../../../runner/dist");`,
      loader: "js",
    }));
  },
};

/** What is compiled ahead: the filters of the jail. */
const COMPILED: Plugin = {
  name: "compiled",
  setup({ onLoad }) {
    onLoad({ filter: /jail\/seccomp\/filters\.ts$/ }, async () => {
      const precompiled = await import(join(ROOT, "runner/jail/seccomp/precompiled.ts"));
      return { contents: (precompiled as { writeFilters(): string }).writeFilters(), loader: "js" };
    });
  },
};

/** Messages of zod in forty languages, of which nothing here asks for one. */
const NO_LOCALES: Plugin = {
  name: "no-locales",
  setup({ onLoad }) {
    onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({ contents: "export {};", loader: "js" }));
  },
};

/**
 * Importing `node:process` reads each of its members, some of which are made at that moment; and child_process, which commander
 * has for programs it is never asked to start, brings half of Node along.
 */
const CHEAP_BUILTINS: Plugin = {
  name: "cheap-builtins",
  setup({ onResolve, onLoad }) {
    const namespace = "cheap-builtins";
    onResolve({ filter: /^(node:)?process$/ }, () => ({ path: "process", namespace }));
    onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      importer.includes("/node_modules/commander/") ? { path: "child_process", namespace } : null,
    );
    onLoad({ filter: /.*/, namespace }, ({ path }) => ({
      contents: path === "process" ? "module.exports = globalThis.process;" : "module.exports = {};",
      loader: "js",
    }));
  },
};

/** Files of their own: what begins ahead, whose state is shared, and a library that is hardly ever needed. */
const APART: Plugin = {
  name: "apart",
  setup({ onResolve }) {
    onResolve({ filter: /\/ahead\.ts$/ }, ({ importer }) =>
      importer.endsWith("/start.ts") ? null : { path: "./start.cjs", external: true },
    );
    onResolve({ filter: /\/prepare\.ts$/ }, ({ kind, importer }) =>
      kind === "entry-point" || /\/(prepare-)?ahead\.ts$/.test(importer)
        ? null
        : { path: "./start.cjs", external: true },
    );
    onResolve({ filter: /\/schema-check\.ts$/ }, () => ({ path: "./schema-check.js", external: true }));
    onResolve({ filter: /^\.\/any\.js$/ }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: /^\.\/here\.js$/ }, () => ({ path: "./here.cjs", external: true }));
  },
};

/**
 * Files that are loaded when something of theirs is used for the first time: most runs need nothing of them but constants, which
 * stand in their place. Each is a bundle of its own.
 */
const LATE: Record<string, string> = {
  sdk: "sdk/index.ts",
  "protocol-schemas": "runner/protocol-schemas.ts",
  checkpoint: "runner/checkpoint.ts",
  config: "modules/typescript-process/config.ts",
  ground: "modules/typescript-process/ground.ts",
  "environment-docs": "runner/docs/environment-docs.ts",
  "tool-docs": "runner/docs/tool-docs.ts",
  "remote-runtime": "client/kernel/remote.ts",
  client: "client/client.ts",
  acorn: "node_modules/acorn/dist/acorn.mjs",
  "trace-mapping": "node_modules/@jridgewell/trace-mapping/dist/trace-mapping.mjs",
};
const LATE_FILES: Plugin = {
  name: "late-files",
  setup({ onResolve, onLoad, resolve, initialOptions }) {
    const namespace = "late-files";
    const own = Object.values(initialOptions.entryPoints as Record<string, string>);
    const names = new Map(
      Object.entries(LATE)
        .map(([name, path]) => [realpathSync(join(ROOT, path)), name] as const)
        .filter(([path]) => !own.includes(path)),
    );
    onResolve(
      { filter: /^\.{1,2}\/.*\.ts$|^#|^acorn$|trace-mapping$/ },
      async ({ path, kind, importer, resolveDir, pluginData }) => {
        // What begins ahead has it in its own file.
        if (pluginData === namespace || importer.endsWith("/ahead.ts")) return null;
        const found = await resolve(path, { kind, importer, resolveDir, pluginData: namespace });
        const name = names.get(found.path);
        return name === undefined ? null : { path: `${name}.cjs`, namespace, pluginData: found.path };
      },
    );
    onLoad({ filter: /.*/, namespace }, async ({ path, pluginData: file }) => {
      const members = Object.entries((await import(file)) as object).map(([member, value]) =>
        isPlain(value)
          ? `${member}: ${JSON.stringify(value)}`
          : `get ${member}() { return require("./${path}").${member}; }`,
      );
      return { contents: `module.exports = { ${members.join(", ")} };`, loader: "js" };
    });
    initialOptions.external = [
      ...(initialOptions.external ?? []),
      ...Object.keys(LATE).map((name) => `./${name}.cjs`),
    ];
  },
};

/** A constant that JSON can say. */
function isPlain(value: unknown): boolean {
  try {
    assert.deepStrictEqual(JSON.parse(JSON.stringify(value)), value);
    return true;
  } catch {
    return false;
  }
}

/**
 * Modules of Node that are loaded when something of theirs is used for the first time. Only what a file names stands in for them:
 * esbuild copies the members of such a module one by one for each file that imports it, and crypto has over seventy.
 */
const LATE_BUILTINS: Plugin = {
  name: "late-builtins",
  setup({ onResolve, onLoad }) {
    const namespace = "late-builtins";
    onResolve(
      { filter: /^node:(net|child_process|crypto|util|worker_threads|(fs|timers|readline)\/promises)$/ },
      async ({ path, namespace: from, importer }) => {
        if (from === namespace) return { path, external: true };
        const members = findNamedImports(await readFile(importer, "utf8"), path);
        return { path: `${path} ${(members ?? Object.keys(await import(path))).sort().join()}`, namespace };
      },
    );
    onLoad({ filter: /.*/, namespace }, ({ path: request }) => {
      const [path, names = ""] = request.split(" ");
      const members = names.split(",").map((name) => `get ${name}() { return require("${path}").${name}; }`);
      return { contents: `module.exports = { ${members.join(", ")} };`, loader: "js" };
    });
  },
};

/** What a source imports of a module by name; null if it takes it as a whole. */
function findNamedImports(source: string, module: string): string[] | null {
  const imports = source.matchAll(/\bimport\s+(?!type\b)([^;"']*?)\s+from\s+["']([^"']+)["']/g);
  const lists = Array.from(imports).flatMap(([, list = "", from]) => (from === module ? [list] : []));
  if (lists.length === 0 || !lists.every((list) => /^\{[^}]*\}$/.test(list))) return null;
  const names = lists.flatMap((list) => list.slice(1, -1).split(",")).map((name) => name.trim());
  const values = names.filter((name) => name !== "" && !name.startsWith("type "));
  return [...new Set(values.map((name) => name.split(/\s+as\s+/)[0] as string))];
}

/** Libraries that are no modules ask for `require`. */
const REQUIRE = `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`;

/** Bundles of the quick way that are no modules: each module of Node costs one more to be imported than to be required. */
const REQUIRED: BuildOptions = {
  format: "cjs",
  outExtension: { ".js": ".cjs" },
  define: {
    "import.meta.dirname": "__dirname",
    "import.meta.filename": "__filename",
    "import.meta.url": "__here.url",
  },
  banner: {
    js: `const __here = { get url() { return require("node:url").pathToFileURL(__filename).href; } };`,
  },
};

const COMMON: BuildOptions = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: "node",
  target: "node26",
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  charset: "ascii",
  logLevel: "warning",
};

/** A name for what turns scripts into what is run, the transpiler included: another release may do it in another way. */
async function digestCompiler(): Promise<string> {
  const entry = join(ROOT, "runner/source/prepare.ts");
  const { outputFiles } = await build({
    ...COMMON,
    entryPoints: [entry],
    write: false,
    format: "esm",
    external: ["esbuild"],
  });
  const code = outputFiles?.[0]?.text ?? "";
  return createHash("sha256").update(`${version}\0${code}`).digest("base64url");
}

await mkdir(DIST, { recursive: true });
const compiler = await digestCompiler();
const made = await mkdtemp(join(FOLDER, "dist/.making-"));
try {
  const spawner = join(ROOT, "runner/jail/spawner-thread.ts");
  await build({
    ...COMMON,
    entryPoints: {
      any: join(FOLDER, "any.ts"),
      "schema-check": join(ROOT, "client/local/schema-check.ts"),
      "spawner-thread": spawner,
    },
    outdir: made,
    splitting: true,
    format: "esm",
    // It looks for its program beside itself.
    external: ["esbuild"],
    banner: { js: REQUIRE },
    plugins: [PLACES, COMPILED, NO_LOCALES, CHEAP_BUILTINS],
  });
  const late = Object.entries(LATE).map(([name, path]) => ({ [name]: join(ROOT, path) }));
  for (const entryPoints of [
    {
      start: join(FOLDER, "start.ts"),
      here: join(FOLDER, "here.ts"),
      "spawner-thread": spawner,
    },
    ...late,
  ]) {
    await build({
      ...COMMON,
      ...REQUIRED,
      entryPoints,
      outdir: made,
      external: ["esbuild", "execa"],
      define: { ...REQUIRED.define, CYRNEL_BUILD: JSON.stringify(compiler) },
      plugins: [APART, LATE_FILES, PLACES, COMPILED, NO_LOCALES, CHEAP_BUILTINS, LATE_BUILTINS],
      minify: true,
    });
  }
  // Names of chunks hold a digest, so the entry comes last.
  const names = (await readdir(made)).sort(
    (a, b) => Number(a.startsWith("start")) - Number(b.startsWith("start")),
  );
  for (const name of names) await rename(join(made, name), join(DIST, name));
  const stale = (await readdir(DIST)).filter((name) => /\.c?js$/.test(name) && !names.includes(name));
  for (const name of stale) await rm(join(DIST, name));
} finally {
  await rm(made, { recursive: true, force: true });
}
// Another user's stays: Node looks at each file of it before it believes it.
await rm(join(DIST, "compiled"), { recursive: true, force: true }).catch(() => {});
if (!existsSync(join(ROOT, "runner/dist/realm.bin"))) {
  execFileSync(process.execPath, ["--no-warnings", join(ROOT, "runner/build.ts")], { stdio: "inherit" });
}
// npm links the commands of dependencies there, not of the package itself.
const link = join(ROOT, "node_modules/.bin/cyrnel");
if (existsSync(join(ROOT, "node_modules/.bin")) && !existsSync(link)) {
  await symlink("../../client/command/cyrnel.cjs", link).catch(() => {});
}
// Fills what V8 keeps: whoever installed the package need not be who runs it. What is kept of a file is what was compiled in the
// first program that loaded it, so the way that has to be quick comes first.
const trial = await mkdtemp(join(tmpdir(), "cyrnel-build-"));
try {
  const script = join(trial, "script.ts");
  await writeFile(script, "console.log(1); return 1");
  const runLocal = ["run", script, "--local"];
  // biome-ignore lint/style/noProcessEnv: the command's own, but for where it keeps scripts.
  const env = { ...process.env, XDG_CACHE_HOME: trial };
  for (const args of [runLocal, [...runLocal, "--isolation", "development"], ["--version"]]) {
    spawnSync(process.execPath, [join(FOLDER, "cyrnel.cjs"), ...args], { stdio: "ignore", env });
  }
} finally {
  await rm(trial, { recursive: true });
}
