/** Builds dist/command, the command as one file, and fills its cache of compiled code. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { build, type PluginBuild } from "esbuild";
import { ROOT, resolveFileUrls, writeOutputs } from "./bundling.ts";

const DIST = join(ROOT, "dist/command");

/** Keeps zod from compiling its parsers: each is used only once or twice, which costs less than compiling it. */
const BANNER = "(globalThis.__zod_globalConfig ??= {}).jitless = true;";

/** zod's messages in other languages would be a sixth of the bundle. */
function keepEnglish({ onLoad }: PluginBuild): void {
  onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, ({ path }) => ({
    contents: 'export { default as en } from "./en.js";',
    resolveDir: dirname(path),
  }));
}

export async function buildCommand(): Promise<string[]> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: { main: "command/main.ts" },
    outdir: DIST,
    bundle: true,
    // One CommonJS file evaluates modules on demand and loads in less time than ES modules.
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
    plugins: [resolveFileUrls("dist/command"), { name: "zod-in-english", setup: keepEnglish }],
    metafile: true,
    legalComments: "none",
    charset: "ascii",
    logLevel: "warning",
    // esbuild looks for its executable beside itself.
    external: ["esbuild"],
    banner: { js: `${BANNER} const CYRNEL_URL = require("node:url").pathToFileURL(__filename).href;` },
    write: false,
  });
  await writeOutputs(DIST, outputFiles);
  // npm links the commands of dependencies there, but not those of the package itself.
  const bin = join(ROOT, "node_modules/.bin");
  if (existsSync(bin)) {
    await rm(join(bin, "cyrnel"), { force: true });
    await symlink("../../command/cyrnel", join(bin, "cyrnel")).catch(() => {});
  }
  return Object.keys(metafile.inputs);
}

/** Runs a script once, so that the command's code is compiled: later users may not be allowed to write the cache. */
export async function warmUpCommand(): Promise<void> {
  // Fails for another user's cache, which may stay: Node validates each of its files.
  await rm(join(ROOT, "dist/compiled"), { recursive: true, force: true }).catch(() => {});
  const command = spawn(join(ROOT, "command/cyrnel"), ["run", "-", "--local"], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  command.stdin.on("error", () => {}).end("return 1");
  await once(command, "close");
}
