import { globSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { OutputFile, Plugin } from "esbuild";

export const ROOT = join(import.meta.dirname, "..");
const SERVER = join(ROOT, "dist/server");
const SOURCES = "{api,kernel,modules,runner}/**/*.ts";
/**
 * Matches a reference to a file beside the source: a thread or program (.ts), or a data file, which keeps its place.
 */
const FILE_URL = /new URL\(\s*"(\.[^"]+)",\s*import\.meta\.url,?\s*\)/g;

/**
 * Returns the sources that are started as threads or programs with `new URL("./x.ts", import.meta.url)`, by their
 * names in dist/server.
 */
export function listThreads(): Record<string, string> {
  const threads: Record<string, string> = {};
  for (const file of globSync(SOURCES, { cwd: ROOT })) {
    for (const [, target = ""] of readFileSync(join(ROOT, file), "utf8").matchAll(FILE_URL)) {
      const path = join(dirname(file), target);
      if (path.endsWith(".ts")) threads[threadName(path)] = path;
    }
  }
  return threads;
}

function threadName(path: string): string {
  return path.slice(0, -".ts".length).replaceAll("/", "-");
}

/**
 * Rewrites `new URL("./x", import.meta.url)` for bundles in the folder `outdir`: a `.ts` file is an entry of the
 * server's bundle.
 */
export function resolveFileUrls(outdir: string): Plugin {
  const folder = join(ROOT, outdir);
  return {
    name: "file-urls",
    setup({ onLoad }) {
      onLoad({ filter: /\/(?:api|kernel|modules|runner)\/[^?]*\.ts$/ }, async ({ path }) => {
        const text = await readFile(path, "utf8");
        if (path.includes("/node_modules/") || !text.includes("import.meta.url")) return null;
        const contents = text.replaceAll(FILE_URL, (_, target: string) => {
          const meant = join(dirname(path), target);
          const file = meant.endsWith(".ts")
            ? join(SERVER, `${threadName(relative(ROOT, meant))}.js`)
            : meant;
          const from = relative(folder, file);
          return `new URL(${JSON.stringify(from.startsWith(".") ? from : `./${from}`)}, import.meta.url)`;
        });
        return { contents, loader: "ts" };
      });
    },
  };
}

/**
 * Writes the files and removes all others from the folder. Renames each file into place, because a server may be
 * starting from it.
 */
export async function writeOutputs(folder: string, files: readonly OutputFile[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const { path, contents } of files) {
    await writeFile(`${path}.${process.pid}`, contents);
    await rename(`${path}.${process.pid}`, path);
  }
  const made = new Set(files.map(({ path }) => path));
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (/\.c?js(?:\.map)?$/.test(name) && !made.has(path)) await rm(path);
  }
}
