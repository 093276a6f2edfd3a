/** Collects a package's type declarations for editors. Evaluates nothing. */
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";

const MAX_BYTES = 4 * 1024 * 1024;
const MAX_FILES = 5_000;
const MAX_MANIFEST_BYTES = 256 * 1024;

/** Keys are paths below node_modules; the result is empty if there are too many. */
export function collectTypes(
  nodeModules: string,
  name: string,
  inputs: readonly string[],
  base: string,
): Record<string, string> {
  const names = new Set([name, typesOf(name)]);
  for (const input of inputs) {
    const found = /(?:^|.*[/\\])node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\]+)/.exec(input)?.[1];
    if (found !== undefined) names.add(found.replace("\\", "/")).add(typesOf(found.replace("\\", "/")));
  }
  const types: Record<string, string> = {};
  let bytes = 0;
  let files = 0;
  for (const one of names) {
    const folder = join(nodeModules, one);
    if (!existsSync(join(folder, "package.json")) || !realpathSync(folder).startsWith(base + sep)) continue;
    const own: Record<string, string> = {};
    for (const file of walk(folder, "")) {
      files++;
      const size = statSync(join(folder, file)).size;
      bytes += size;
      if (bytes > MAX_BYTES || files > MAX_FILES) return {};
      own[`${one}/${file}`] = readFileSync(join(folder, file), "utf8");
    }
    if (Object.keys(own).length === 0) continue;
    const manifest = readManifest(join(folder, "package.json"));
    if (manifest !== null) {
      types[`${one}/package.json`] = JSON.stringify(manifest.shown);
      for (const needed of manifest.needs) names.add(needed);
    }
    Object.assign(types, own);
  }
  return types;
}

/** Excludes Node's types, which are large and which editors have. */
const TYPES = /^@types\/(?!node$)[a-z0-9][\w.-]*$/;

export function typesOf(name: string): string {
  return `@types/${name.replace(/^@/, "").replace("/", "__")}`;
}

function* walk(folder: string, below: string): Generator<string> {
  for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
    if (entry.isDirectory() && entry.name !== "node_modules") yield* walk(folder, `${below}${entry.name}/`);
    else if (entry.isFile() && /\.d\.[cm]?ts$/.test(entry.name)) yield below + entry.name;
  }
}

/**
 * The manifest names the folder of the declarations and the packages they need: lodash-es, for example, has all of
 * its declarations in @types/lodash.
 */
function readManifest(file: string): { shown: object; needs: string[] } | null {
  const stat = statSync(file);
  if (!stat.isFile() || stat.size > MAX_MANIFEST_BYTES) return null;
  try {
    const { name, version, type, types, typings, main, module, exports, dependencies } = JSON.parse(
      readFileSync(file, "utf8"),
    );
    const shown = { name, version, type, types, typings, main, module, exports };
    return { shown, needs: Object.keys(dependencies ?? {}).filter((other) => TYPES.test(other)) };
  } catch {
    return null;
  }
}
