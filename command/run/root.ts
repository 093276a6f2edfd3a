/** Finds the root folder for a script's imports. They cannot read anything outside it. */
import { existsSync, readFileSync } from "node:fs";
import { realpath } from "node:fs/promises";
import path from "node:path";
import { usageFailure } from "../failure.ts";

export interface Places {
  folder: string;
  /** Folder that contains all imported files. */
  base: string;
  /** Folder that contains all imported packages. A workspace may install them above the project. */
  packagesBase: string;
}

/** `script` is its path, or `-` for the current folder. `root` is the value of `--root`. */
export async function findPlaces(script: string, root: string | undefined): Promise<Places> {
  const folder = await realpath(script === "-" ? "." : path.dirname(script));
  if (root !== undefined) {
    const base = await readRoot(root);
    return { folder, base, packagesBase: base };
  }
  const has = (name: string) => (at: string) => existsSync(path.join(at, name));
  const [isRepository, isProject] = [has(".git"), has("package.json")];
  const base = findUpwards(folder, (at) => isProject(at) || isRepository(at)) ?? folder;
  return {
    folder,
    base,
    packagesBase: findUpwards(base, isRepository) ?? findUpwards(base, isWorkspace) ?? base,
  };
}

/** Returns the nearest matching folder upwards, or null. */
function findUpwards(folder: string, isIt: (at: string) => boolean): string | null {
  for (let at = folder; ; at = path.dirname(at)) {
    if (isIt(at)) return at;
    if (path.dirname(at) === at) return null;
  }
}

function isWorkspace(at: string): boolean {
  if (existsSync(path.join(at, "pnpm-workspace.yaml"))) return true;
  try {
    return JSON.parse(readFileSync(path.join(at, "package.json"), "utf8")).workspaces !== undefined;
  } catch {
    return false;
  }
}

async function readRoot(root: string): Promise<string> {
  return realpath(root).catch(() => {
    throw usageFailure(`--root ${root} is not a folder.`);
  });
}
