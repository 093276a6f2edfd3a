import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../paths.ts";

export interface StarterMember {
  name: string;
  version: string;
  path: string;
  integrity: string;
  license: string | null;
  publishedAt: null;
  bytes: number;
  files: number;
  installScripts: boolean;
}

interface Locked {
  version: string;
  integrity?: string;
  license?: string;
  hasInstallScript?: boolean;
  os?: string[];
  cpu?: string[];
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

/** Returns the package itself first. @throws Error if the lock file lacks a required package or its integrity */
export function readStarterTree(name: string): StarterMember[] {
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(
    readFileSync(join(ROOT, "package-lock.json"), "utf8"),
  );
  const paths = new Set([`node_modules/${name}`]);
  for (const path of paths) {
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } =
      packages[path] ?? {};
    const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
    for (const needed of names) {
      const isOptional =
        optionalDependencies?.[needed] !== undefined || peerDependenciesMeta?.[needed]?.optional === true;
      const found = findFrom(packages, path, needed);
      if (found === null && !isOptional)
        throw new Error(`The lock file has no ${needed}, which ${path} needs.`);
      // Skips platform-specific optional packages, like an installation: they are native.
      const isNative = found !== null && (packages[found]?.os ?? packages[found]?.cpu) !== undefined;
      if (found !== null && !(isOptional && isNative)) paths.add(found);
    }
  }
  return [...paths].map((path) => describe(path, packages[path]));
}

/** Searches like Node: in the folder of the package that needs it, then in the folders above. */
function findFrom(packages: Record<string, Locked>, from: string, name: string): string | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const path = `${folder}${folder === "" ? "" : "/"}node_modules/${name}`;
    if (packages[path] !== undefined) return path;
    if (folder === "") return null;
  }
}

function describe(path: string, locked: Locked | undefined): StarterMember {
  if (locked?.integrity === undefined) throw new Error(`The lock file has no integrity of ${path}.`);
  const { version, integrity, license = null, hasInstallScript = false } = locked;
  const [name = ""] = path.split("node_modules/").slice(-1);
  const place = join(ROOT, path);
  return {
    name,
    version,
    path,
    integrity,
    license,
    publishedAt: null,
    ...measure(place),
    installScripts: hasInstallScript,
  };
}

/** Excludes nested packages, which are members themselves. */
function measure(folder: string): { bytes: number; files: number } {
  const sum = { bytes: 0, files: 0 };
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const place = join(folder, entry.name);
    if (entry.isFile()) {
      sum.bytes += statSync(place).size;
      sum.files += 1;
    } else if (entry.isDirectory() && entry.name !== "node_modules") {
      const { bytes, files } = measure(place);
      sum.bytes += bytes;
      sum.files += files;
    }
  }
  return sum;
}
