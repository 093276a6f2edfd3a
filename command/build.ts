/**
 * Builds command/dist, the command as one file and its thread, and runner/dist where that is missing, which scripts on this
 * machine need. Run by the launcher `cyrnel` and by `npm run build`.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { build, type PluginBuild } from "esbuild";

const FOLDER = import.meta.dirname;
const ROOT = join(FOLDER, "..");
const DIST = join(FOLDER, "dist");

/** zod must not compile its parsers: each is used once or twice, which costs less than compiling. */
const BANNER = "(globalThis.__zod_globalConfig ??= {}).jitless = true;";

/** A sixth of the bundle would be zod's messages in languages that the command does not speak. */
function keepEnglish({ onLoad }: PluginBuild): void {
  onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, ({ path }) => ({
    contents: 'export { default as en } from "./en.js";',
    resolveDir: dirname(path),
  }));
}

const { outputFiles } = await build({
  absWorkingDir: ROOT,
  entryPoints: {
    // In this order: what the command starts has to be there before it.
    "spawner-thread": join(ROOT, "runner/jail/spawner/spawner-thread.ts"),
    main: join(FOLDER, "main.ts"),
  },
  outdir: DIST,
  bundle: true,
  // One file, in which what is imported on demand is also evaluated on demand: Node loads it in less time than modules.
  format: "cjs",
  outExtension: { ".js": ".cjs" },
  define: {
    "import.meta.dirname": "__dirname",
    "import.meta.filename": "__filename",
    "import.meta.url": "CYRNEL_URL",
  },
  platform: "node",
  target: "node26",
  minify: true,
  plugins: [{ name: "zod-in-english", setup: keepEnglish }],
  legalComments: "none",
  charset: "ascii",
  logLevel: "warning",
  // It looks for its program beside itself.
  external: ["esbuild"],
  banner: { js: `${BANNER} const CYRNEL_URL = require("node:url").pathToFileURL(__filename).href;` },
  write: false,
});
await mkdir(DIST, { recursive: true });
// Renamed: another build may be writing the same file.
for (const { path, text } of outputFiles) {
  await writeFile(`${path}.${process.pid}`, text);
  await rename(`${path}.${process.pid}`, path);
}
const made = new Set(outputFiles.map(({ path }) => path));
for (const name of await readdir(DIST)) {
  if (/\.c?js$/.test(name) && !made.has(join(DIST, name))) await rm(join(DIST, name));
}

// Fails for another user's cache, which may stay: Node checks each of its files.
await rm(join(DIST, "compiled"), { recursive: true, force: true }).catch(() => {});
if (!existsSync(join(ROOT, "runner/dist/realm.bin"))) {
  execFileSync(process.execPath, ["--no-warnings", join(ROOT, "runner/build.ts")], { stdio: "inherit" });
}
// npm links the commands of dependencies there, not of the package itself.
const link = join(ROOT, "node_modules/.bin/cyrnel");
if (existsSync(join(ROOT, "node_modules/.bin"))) {
  await rm(link, { force: true });
  await symlink("../../command/cyrnel", link).catch(() => {});
}
// Fills V8's cache of compiled code: the user who runs the command may not be allowed to write it.
spawnSync(join(FOLDER, "cyrnel"), ["run", "-", "--local"], {
  stdio: ["pipe", "ignore", "ignore"],
  input: "return 1",
});
