/** Lets the installing process read its own code and its folder, and write only the folder. */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** `folder` is a real path. The process opens no connection, resolves no name and starts nothing. */
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
  // The bundle, or the sources that main.ts imports.
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
