/**
 * Builds command/dist, the command as one bundle in chunks that are loaded on demand, and runner/dist where that is missing,
 * which scripts on this machine need. Run by the launcher `cyrnel` and by `npm run build:command`.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

const FOLDER = import.meta.dirname;
const ROOT = join(FOLDER, "..");
const DIST = join(FOLDER, "dist");

/** Libraries that are no modules ask for `require`. */
const REQUIRE = `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`;

await mkdir(DIST, { recursive: true });
const made = await mkdtemp(join(DIST, ".making-"));
try {
  await build({
    absWorkingDir: ROOT,
    entryPoints: {
      main: join(FOLDER, "main.ts"),
      "spawner-thread": join(ROOT, "runner/jail/spawner/spawner-thread.ts"),
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
    logLevel: "warning",
    // It looks for its program beside itself.
    external: ["esbuild"],
    banner: { js: REQUIRE },
  });
  // Names of chunks hold a digest, so the entry comes last.
  const names = (await readdir(made)).sort((a, b) => Number(a === "main.js") - Number(b === "main.js"));
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
if (existsSync(join(ROOT, "node_modules/.bin"))) {
  await rm(link, { force: true });
  await symlink("../../command/cyrnel", link).catch(() => {});
}
// Fills what V8 keeps of compiled code: whoever installed the package need not be the user who runs it.
spawnSync(join(FOLDER, "cyrnel"), ["run", "-", "--local"], {
  stdio: ["pipe", "ignore", "ignore"],
  input: "return 1",
});
