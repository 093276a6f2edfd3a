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

/** Its own modules, and the packages that it may find from there. Node takes a folder with all that it holds. */
function codePlaces(): string[] {
  const root = findRoot();
  const places = ["package.json", "api/packages/install", "api/bounds"].map((place) => join(root, place));
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
