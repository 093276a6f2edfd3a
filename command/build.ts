/**
 * Builds command/dist, the command as one bundle in chunks that are loaded on demand, and runner/dist where that is missing,
 * which scripts on this machine need. Run by the launcher `cyrnel` and by `npm run build`.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

const FOLDER = import.meta.dirname;
const ROOT = join(FOLDER, "..");
const DIST = join(FOLDER, "dist");

/** CommonJS libraries need `require`. zod must not compile its parsers: each is used once or twice, which costs less than compiling. */
const BANNER = `const require = process.getBuiltinModule("module").createRequire(import.meta.url); (globalThis.__zod_globalConfig ??= {}).jitless = true;`;

/**
 * An `import` of a built-in module reads all of its members, and so loads what each is made of: for node:fs alone that takes
 * 6 ms. This reads the members that are used.
 */
function readBuiltins(code: string): string {
  return code.replace(
    /\bimport ?(?:\{([^{}"]*)\}|([\w$]+)) ?from"(node:[\w/]+)";/g,
    (_statement, members: string | undefined, name: string | undefined, module: string) =>
      `const ${name ?? `{${members?.replaceAll(" as ", ":")}}`}=process.getBuiltinModule("${module}");`,
  );
}

const { outputFiles } = await build({
  absWorkingDir: ROOT,
  entryPoints: {
    main: join(FOLDER, "main.ts"),
    "spawner-thread": join(ROOT, "runner/jail/spawner/spawner-thread.ts"),
  },
  outdir: DIST,
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
  banner: { js: BANNER },
  write: false,
});
await mkdir(DIST, { recursive: true });
// Names of chunks hold a digest, so the entry comes last. Renamed: another build may be writing the same file.
for (const { path, text } of outputFiles.sort((a, b) => Number(isEntry(a)) - Number(isEntry(b)))) {
  await writeFile(`${path}.${process.pid}`, readBuiltins(text));
  await rename(`${path}.${process.pid}`, path);
}
const made = new Set(outputFiles.map(({ path }) => path));
for (const name of await readdir(DIST)) {
  if (name.endsWith(".js") && !made.has(join(DIST, name))) await rm(join(DIST, name));
}

function isEntry({ path }: { path: string }): boolean {
  return path.endsWith("/main.js");
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
