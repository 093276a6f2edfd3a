/** Where things are: this package, what it builds, what is installed for it. Found upwards, as a bundle lies in another folder. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** The nearest `path` from this file upwards; null: there is none. */
function findUpwards(path: string): string | null {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const found = join(folder, path);
    if (existsSync(found)) return found;
    if (folder === dirname(folder)) return null;
  }
}

/** Where the build puts what children run. */
export const DIST = join(dirname(findUpwards("package.json") ?? import.meta.dirname), "runner/dist");

/** In the folder of a build of the child: the same for a zygote, whose V8 has other flags, and so another code cache. */
export const ZYGOTE_FOLDER = "zygote";

/** The folder of an installed package, as Node finds it (docs: "Loading from node_modules folders"); null: there is none. */
export function findPackage(name: string): string | null {
  return findUpwards(join("node_modules", name));
}
