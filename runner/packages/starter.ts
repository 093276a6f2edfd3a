/**
 * The packages that every installation has: bundled by `npm run build` into runner/dist/packages, one JSON file each (BundledPackage).
 * All are pinned in package.json, and run without code that is made from strings.
 */
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DIST, findPackage } from "../paths.ts";
import { bundlePackage } from "./bundle.ts";
import { readStarterTree } from "./starter-tree.ts";
import { typesOf } from "./types.ts";

export const STARTER_SET = [
  "@cfworker/json-schema",
  "cheerio",
  "date-fns",
  "decimal.js",
  "fast-xml-parser",
  "jose",
  "jszip",
  "lodash-es",
  "marked",
  "mathjs",
  "mustache",
  "papaparse",
  "pdf-lib",
  "yaml",
  "zod",
] as const;

const FOLDER = join(DIST, "packages");
/** Not JSON, as the bundles are: of what each was made, by name. */
const KEYS = join(FOLDER, "made-of");

/** The file of a bundle. */
export function starterFile(name: string): string {
  return join(FOLDER, `${name.replace("/", "__")}.json`);
}

/** Makes those that are installed and have changed, or whose bundler has. @throws Error where one cannot be bundled. */
export async function buildStarterSet(): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const keys: Record<string, string> = existsSync(KEYS) ? JSON.parse(readFileSync(KEYS, "utf8")) : {};
  const bundler = readBundlerKey();
  const made = STARTER_SET.map(async (name) => {
    const folder = findPackage(name);
    // Of an installation without what is needed to build: it has what was built.
    if (folder === null) return;
    const { version, description, homepage } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const tree = readStarterTree(name);
    const members = createHash("sha256").update(JSON.stringify(tree)).digest("hex").slice(0, 16);
    const types = findPackage(typesOf(name));
    const typed = types === null ? "" : JSON.parse(readFileSync(join(types, "package.json"), "utf8")).version;
    const key = `${version} ${typed} ${members} ${bundler}`;
    const file = starterFile(name);
    if (keys[name] === key && existsSync(file)) return;
    const bundle = await bundlePackage(join(folder, name.includes("/") ? "../.." : ".."), name);
    if ("problem" in bundle) throw new Error(`The package ${name} of the starter set: ${bundle.problem}`);
    await write(file, JSON.stringify({ ...bundle, about: { description, homepage, tree } }));
    keys[name] = key;
  });
  await Promise.all(made);
  await write(KEYS, JSON.stringify(keys));
  const known = new Set<string>(STARTER_SET.map(starterFile));
  for (const file of globSync(join(FOLDER, "*.json"))) if (!known.has(file)) await rm(file);
}

/** Another build may be writing the same file. */
async function write(file: string, text: string): Promise<void> {
  await writeFile(`${file}.${process.pid}`, text);
  await rename(`${file}.${process.pid}`, file);
}

/** Of everything that decides what a bundle is like. */
function readBundlerKey(): string {
  const sum = createHash("sha256");
  const files = ["packages/**/*.ts", "source/modules/names.ts"].flatMap((pattern) =>
    globSync(join(import.meta.dirname, "..", pattern)).sort(),
  );
  for (const file of files) sum.update(readFileSync(file));
  const esbuild = findPackage("esbuild");
  if (esbuild !== null) sum.update(readFileSync(join(esbuild, "package.json")));
  return sum.digest("hex").slice(0, 16);
}
