/** What the installing process may touch of the file system: it reads its own code and its folder, and writes the folder. */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** Flags of Node for a process that works in `folder`, a real path. It opens no connection, resolves no name and starts nothing. */
export function permissionFlags(folder: string): string[] {
  return [
    "--permission",
    ...[...codePlaces(), join(folder, "*")].map((place) => `--allow-fs-read=${place}`),
    `--allow-fs-write=${join(folder, "*")}`,
  ];
}

/** Returns its own modules and the packages it finds from there. Node allows a folder with everything in it. */
function codePlaces(): string[] {
  const root = findRoot();
  // The bundle, or sources: what main.ts imports.
  const places = [import.meta.dirname, join(root, "package.json"), join(root, "api/bounds")];
  for (let folder = root; ; folder = dirname(folder)) {
    const modules = join(folder, "node_modules");
    if (existsSync(modules)) places.push(modules, realpathSync(modules));
    if (folder === dirname(folder)) return [...new Set(places)];
  }
}

function findRoot(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return folder;
}
