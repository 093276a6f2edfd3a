/** Lists what can be imported from a package: the sub-paths in its package.json, or the files beside it. */
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { Refusal } from "./plugin.ts";

export interface Manifest {
  version: string;
  exports?: unknown;
  gypfile?: unknown;
}

const MAX_MANIFEST_BYTES = 1024 * 1024;
const MAX_ENTRIES = 800;
const MAX_FOLDERS = 2_000;

/** @throws Refusal */
export function readManifest(folder: string): Manifest {
  const file = join(folder, "package.json");
  try {
    const stat = statSync(file);
    if (!stat.isFile()) throw new Error("it is not a file");
    if (stat.size > MAX_MANIFEST_BYTES) throw new Error("it is too large");
    const value = JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, "")) as Record<string, unknown>;
    const { version, exports, gypfile } = value;
    return { version: typeof version === "string" ? version.slice(0, 100) : "0.0.0", exports, gypfile };
  } catch (error) {
    throw new Refusal(`Its package.json cannot be read: ${(error as Error).message.slice(0, 200)}.`);
  }
}

/** Lists candidates, `.` first; the bundler decides which ones are code. */
export function listCandidates({ exports }: Manifest, folder: string): string[] {
  const named = exports === undefined || exports === null ? listBeside(folder) : listNamed(exports, folder);
  return [...new Set([".", ...named])].slice(0, MAX_ENTRIES);
}

function listNamed(exports: unknown, folder: string): string[] {
  if (typeof exports !== "object" || exports === null || Array.isArray(exports)) return [];
  const found: string[] = [];
  for (const [key, target] of Object.entries(exports)) {
    if (!key.startsWith("./") || isNoCode(key)) continue;
    if (key.includes("*")) found.push(...expand(key, target, folder));
    else if (!key.endsWith("/")) found.push(key);
  }
  return found;
}

function isNoCode(path: string): boolean {
  return /\.d\.[cm]?ts$|\.(?:css|s[ac]ss|less|map|md|flow|html|svg|png)$|\/package(?:\.json)?$|^\.\/bin\//.test(
    path,
  );
}

/** Expands a pattern such as `./locale/*` to the existing files. */
function expand(key: string, target: unknown, folder: string): string[] {
  const found = new Set<string>();
  const [before, after] = split(key);
  for (const pattern of new Set(listPatterns(target))) {
    const [start, end] = split(pattern);
    const at = start.lastIndexOf("/");
    for (const file of walk(folder, start.slice(0, at))) {
      const path = `${start.slice(0, at)}/${file}`;
      if (!path.startsWith(start) || !path.endsWith(end) || isNoCode(path)) continue;
      const star = path.slice(start.length, path.length - end.length);
      // A pattern without extension also matches files that are not code.
      if (star === "" || (!/\.\w+$/.test(end) && !/\.(?:[cm]?js|json)$/.test(star))) continue;
      found.add(before + star + after);
    }
  }
  // Prefers the ES module if a module exists in both forms.
  return [...found].filter((path) => !/\.cjs$/.test(path) || !found.has(path.replace(/cjs$/, "js"))).sort();
}

function split(pattern: string): [before: string, after: string] {
  const at = pattern.indexOf("*");
  return [pattern.slice(0, at), pattern.slice(at + 1).replaceAll("*", "")];
}

function listPatterns(target: unknown, depth = 0): string[] {
  if (typeof target === "string") return target.startsWith("./") && target.includes("*") ? [target] : [];
  if (typeof target !== "object" || target === null || depth > 10) return [];
  return Object.entries(target).flatMap(([condition, value]) =>
    condition === "types" || condition === "node" ? [] : listPatterns(value, depth + 1),
  );
}

function walk(folder: string, start: string): string[] {
  const found: string[] = [];
  if (!isWithin(folder, start)) return found;
  const pending = [""];
  for (let count = 0; pending.length > 0 && count < MAX_FOLDERS && found.length < 20_000; count++) {
    const below = pending.pop() as string;
    let entries: ReturnType<typeof readFolder>;
    try {
      entries = readFolder(join(folder, start, below));
    } catch {
      continue;
    }
    for (const entry of entries) {
      if (entry.name === "node_modules") continue;
      if (entry.isDirectory()) pending.push(`${below}${entry.name}/`);
      else if (entry.isFile()) found.push(below + entry.name);
    }
  }
  return found;
}

function isWithin(folder: string, start: string): boolean {
  if (start.split("/").includes("..")) return false;
  try {
    return `${realpathSync(join(folder, start))}${sep}`.startsWith(realpathSync(folder) + sep);
  } catch {
    return false;
  }
}

function readFolder(path: string) {
  return readdirSync(path, { withFileTypes: true });
}

/** Lists the files beside a package.json without `exports`, and folders with an index or a package.json. */
function listBeside(folder: string): string[] {
  const found: string[] = [];
  for (const entry of readFolder(folder)) {
    const code = /^(.+)\.(?:[cm]?js|json)$/.exec(entry.name);
    if (entry.isFile() && code !== null) {
      const isTool = /^(?:package|bower|component|tsconfig|\.)|(?:file|\.config|\.min|\.umd|\.test|rc)$/.test(
        code[1] as string,
      );
      if (!isTool && code[1] !== "index") found.push(`./${entry.name.replace(/\.[cm]?js$/, "")}`);
    } else if (
      entry.isDirectory() &&
      !/^(?:node_modules|test|tests|__tests__|examples?|docs?|bin|scripts)$/.test(entry.name)
    ) {
      const inside = readFolder(join(folder, entry.name)).map(({ name }) => name);
      if (inside.includes("package.json") || inside.includes("index.js")) found.push(`./${entry.name}`);
    }
  }
  return found.sort();
}
