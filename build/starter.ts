/** Bundles the starter set into dist/runner/packages. Skips packages that are not installed or have not changed. */
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundlePackages } from "#runner/packages/bundle.ts";
import { STARTER_FOLDER, STARTER_SET, starterFile } from "#runner/packages/starter.ts";
import { readStarterTree } from "#runner/packages/starter-tree.ts";
import { typesOf } from "#runner/packages/types.ts";
import { findPackage, ROOT } from "#runner/paths.ts";

/** Input files of each bundle, by name. Not JSON, because every JSON file in the folder is a bundle. */
const KEYS = join(STARTER_FOLDER, "made-of");
const MAX_MS = 600_000;

/** @throws Error if a package cannot be bundled */
export async function buildStarterSet(): Promise<void> {
  await mkdir(STARTER_FOLDER, { recursive: true });
  const keys: Record<string, string> = existsSync(KEYS) ? JSON.parse(readFileSync(KEYS, "utf8")) : {};
  const bundler = readBundlerKey();
  // An installation without development packages lacks most of them and keeps the existing bundles.
  const wanted = STARTER_SET.flatMap((name) => {
    const folder = findPackage(name);
    return folder === null ? [] : [{ name, folder, ...readMembers(name, folder, bundler) }];
  }).filter(({ name, key }) => keys[name] !== key || !existsSync(starterFile(name)));
  if (wanted.length > 0) {
    const requests = wanted.map(({ name, folder }) => {
      const nodeModules = join(folder, name.includes("/") ? "../.." : "..");
      return { nodeModules, name, root: nodeModules };
    });
    const made = await bundlePackages(requests, MAX_MS);
    for (const [index, { name, key, about }] of wanted.entries()) {
      const bundle = made[index];
      if (bundle === undefined || "problem" in bundle)
        throw new Error(`The package ${name} of the starter set: ${bundle?.problem}`);
      await write(starterFile(name), JSON.stringify({ ...bundle, about }));
      keys[name] = key;
    }
    await write(KEYS, JSON.stringify(keys));
  }
  const known = new Set<string>(STARTER_SET.map(starterFile));
  for (const file of globSync(join(STARTER_FOLDER, "*.json"))) if (!known.has(file)) await rm(file);
}

/** Returns the package's record for the bundle, and a key that changes with every input of the bundle. */
function readMembers(name: string, folder: string, bundler: string): { key: string; about: object } {
  const { version, description, homepage } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const tree = readStarterTree(name);
  const members = createHash("sha256").update(JSON.stringify(tree)).digest("hex").slice(0, 16);
  const types = findPackage(typesOf(name));
  const typed = types === null ? "" : JSON.parse(readFileSync(join(types, "package.json"), "utf8")).version;
  return { key: `${version} ${typed} ${members} ${bundler}`, about: { description, homepage, tree } };
}

/** Another build may be writing the same file. */
async function write(file: string, text: string): Promise<void> {
  await writeFile(`${file}.${process.pid}`, text);
  await rename(`${file}.${process.pid}`, file);
}

function readBundlerKey(): string {
  const sum = createHash("sha256");
  const patterns = ["runner/packages/**/*.ts", "runner/source/modules/names.ts"];
  for (const file of patterns.flatMap((pattern) => globSync(join(ROOT, pattern)).sort()))
    sum.update(readFileSync(file));
  const esbuild = findPackage("esbuild");
  if (esbuild !== null) sum.update(readFileSync(join(esbuild, "package.json")));
  return sum.digest("hex").slice(0, 16);
}
