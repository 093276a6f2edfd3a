/**
 * Builds client/command/dist: the command and what it loads on demand, bundled, with their code compiled ahead; and
 * runner/dist where that is missing, which scripts on this machine need. Run by cyrnel.cjs and by `npm run build:command`.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";

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

/** Libraries that are no modules ask for `require`. */
const REQUIRE = `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`;

await mkdir(DIST, { recursive: true });
const made = await mkdtemp(join(FOLDER, "dist/.making-"));
try {
  await build({
    entryPoints: {
      start: join(FOLDER, "start.ts"),
      "spawner-thread": join(ROOT, "runner/jail/spawner-thread.ts"),
    },
    outdir: made,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node26",
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    charset: "ascii",
    // It looks for its program beside itself.
    external: ["esbuild"],
    banner: { js: REQUIRE },
    plugins: [PLACES, NO_LOCALES, CHEAP_BUILTINS],
    logLevel: "warning",
  });
  // Names of chunks hold a digest, so the entries come last.
  const names = (await readdir(made)).sort(
    (a, b) => Number(a.startsWith("start")) - Number(b.startsWith("start")),
  );
  for (const name of names) await rename(join(made, name), join(DIST, name));
  const stale = (await readdir(DIST)).filter((name) => name.endsWith(".js") && !names.includes(name));
  for (const name of stale) await rm(join(DIST, name));
} finally {
  await rm(made, { recursive: true, force: true });
}
await rm(join(DIST, "compiled"), { recursive: true, force: true });
if (!existsSync(join(ROOT, "runner/dist/realm.bin"))) {
  execFileSync(process.execPath, ["--no-warnings", join(ROOT, "runner/build.ts")], { stdio: "inherit" });
}
// npm links the commands of dependencies there, not of the package itself.
const link = join(ROOT, "node_modules/.bin/cyrnel");
if (existsSync(join(ROOT, "node_modules/.bin")) && !existsSync(link)) {
  await symlink("../../client/command/cyrnel.cjs", link).catch(() => {});
}
// Fills what V8 keeps: whoever installed the package need not be who runs it.
const start = ["--disable-sigusr1", "--no-warnings", join(DIST, "start.js")];
execFileSync(process.execPath, [...start, "--version"], { stdio: "ignore" });
// The way through the jail first, because what is kept of a file is what was compiled in the first program that loaded it.
for (const level of [[], ["--isolation", "development"]]) {
  spawnSync(process.execPath, [...start, "run", "-", "--local", ...level], {
    input: "console.log(1); return 1",
    stdio: ["pipe", "ignore", "ignore"],
  });
}
