/**
 * Locates this package, its build output and its dependencies. Searches upwards, because bundles are in another
 * folder.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** Returns the nearest `path` from this file upwards, or null. */
function findUpwards(path: string): string | null {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const found = join(folder, path);
    if (existsSync(found)) return found;
    if (folder === dirname(folder)) return null;
  }
}

export const ROOT = dirname(findUpwards("package.json") ?? import.meta.dirname);

/** Output folder of the build, from which children run. */
export const DIST = join(ROOT, "dist/runner");

/** Subfolder for the zygote, whose V8 flags differ and therefore need another code cache. */
export const ZYGOTE_FOLDER = "zygote";

/** Returns the folder of an installed package, found as Node does ("Loading from node_modules folders"), or null. */
export function findPackage(name: string): string | null {
  return findUpwards(join("node_modules", name));
}
