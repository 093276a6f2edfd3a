/**
 * Installs npm packages in exact versions, without their install scripts, into a cache in the system's temp folder.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const CACHE = join(tmpdir(), `cyrnel-peers-${process.getuid?.() ?? "user"}`);
const INSTALL = "install --ignore-scripts --no-audit --no-fund --save-exact".split(" ");
const MAX_FETCH_MS = 10 * 60_000;

/** Returns the folder above `node_modules`, or "" for no packages. */
export async function installPackages(names: readonly string[]): Promise<string> {
  if (names.length === 0) return "";
  const folder = join(CACHE, names.join(" ").replaceAll(/[/ ]/g, "+"));
  if (existsSync(folder)) return folder;
  console.error(`Installing ${names.join(" ")} …`);
  // The folder gets its name once it is complete, so an interrupted installation starts over.
  const partial = `${folder}.partial-${process.pid}`;
  await mkdir(partial, { recursive: true, mode: 0o700 });
  try {
    await writeFile(join(partial, "package.json"), JSON.stringify({ private: true }));
    await promisify(execFile)("npm", [...INSTALL, ...names], { cwd: partial, timeout: MAX_FETCH_MS });
    await rename(partial, folder);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
  return folder;
}
