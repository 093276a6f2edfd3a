/** Reads the `browser` field of package.json: files and packages that are an empty module in a browser. */
import { readFileSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";

const MAX_MANIFEST_BYTES = 1024 * 1024;

/**
 * Returns a function that returns whether the package.json around a folder disables an import with `browser:
 * {"./x.js": false}` or `{"name": false}`. Completes names like esbuild.
 */
export function createBrowserMaps(base: string): (from: string, specifier: string) => boolean {
  const maps = new Map<string, BrowserMap | null>();

  function find(folder: string): BrowserMap | null {
    const known = maps.get(folder);
    if (known !== undefined) return known;
    const isInside = folder === base || folder.startsWith(base + sep);
    const found = isInside ? (readBrowserMap(folder) ?? find(dirname(folder))) : null;
    maps.set(folder, found);
    return found;
  }

  return (from, specifier) => {
    const target = /^\.\.?(?:\/|$)/.test(specifier) ? join(from, specifier) : null;
    const map = find(target === null ? from : dirname(target));
    if (map === null) return false;
    const path = target === null ? specifier : `./${relative(map.folder, target).split(sep).join("/")}`;
    for (const end of ENDINGS) {
      for (const key of target === null ? [path + end] : [path + end, path.slice(2) + end])
        if (Object.hasOwn(map.targets, key)) return map.targets[key] === false;
    }
    return false;
  };
}

const EXTENSIONS = [".tsx", ".ts", ".jsx", ".js", ".css", ".json"];
const ENDINGS = ["", ...EXTENSIONS, ...EXTENSIONS.map((extension) => `/index${extension}`)];

interface BrowserMap {
  folder: string;
  targets: Record<string, unknown>;
}

function readBrowserMap(folder: string): BrowserMap | null {
  const file = join(folder, "package.json");
  try {
    const stat = statSync(file);
    if (!stat.isFile() || stat.size > MAX_MANIFEST_BYTES) return null;
    const { browser } = JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
    return typeof browser === "object" && browser !== null ? { folder, targets: browser } : null;
  } catch {
    return null;
  }
}
