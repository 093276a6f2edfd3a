/** Lets the installation process read its own code and its folder, and write only to that folder. */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** `folder` must be a real path. The flags allow no connections, name resolution or child processes. */
export function permissionFlags(folder: string): string[] {
  return [
    "--permission",
    ...[...codePlaces(), join(folder, "*")].map((place) => `--allow-fs-read=${place}`),
    `--allow-fs-write=${join(folder, "*")}`,
  ];
}

/**
 * Returns the folders of the process's own modules and of the packages they import. Node allows a folder with
 * everything in it.
 */
function codePlaces(): string[] {
  const root = findRoot();
  // Either the bundle or the sources that main.ts imports.
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
