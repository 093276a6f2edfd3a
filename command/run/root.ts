/** Where what a script imports may lie: nothing outside of this folder is read for it. */
import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import path from "node:path";
import { usageFailure } from "../failure.ts";

/** `folder`: of the script; `base`: what it imports has to lie in it. `script`: its path; `-`: in the current folder. `root`: of `--root`. */
export async function findPlaces(
  script: string,
  root: string | undefined,
): Promise<{ folder: string; base: string }> {
  const folder = await realpath(script === "-" ? "." : path.dirname(script));
  return { folder, base: root === undefined ? findProject(folder) : await readRoot(root) };
}

/** The nearest folder upwards that is a project, else `folder` itself. */
function findProject(folder: string): string {
  for (let at = folder; ; at = path.dirname(at)) {
    if (existsSync(path.join(at, "package.json")) || existsSync(path.join(at, ".git"))) return at;
    if (path.dirname(at) === at) return folder;
  }
}

async function readRoot(root: string): Promise<string> {
  return realpath(root).catch(() => {
    throw usageFailure(`--root ${root} is no folder.`);
  });
}
