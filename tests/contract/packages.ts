/** Packages for runs of a test: bundles as they are stored, from texts. */
import { hash } from "node:crypto";
import type { EnvironmentBindings, FoundPackage, PackageCode } from "#sdk";

export type PackageBindings = Required<Pick<EnvironmentBindings, "findPackage" | "readPackage">>;

export interface TestPackage {
  /** An expression, see BundledPackage. */
  code: string;
  version?: string;
  exports?: string[];
  mappings?: string | null;
}

/** Of exports, each with the statements that end with `return` of what it exports. */
export function bundleOf(exports: Record<string, string>): TestPackage {
  const members = Object.entries(exports).map(([path, body]) => `${JSON.stringify(path)}:()=>{${body}\n}`);
  return { code: `((require)=>({__proto__:null,${members.join(",")}}))`, exports: Object.keys(exports) };
}

/** Answers these packages, and counts what it was asked. */
export function servePackages(
  packages: Record<string, TestPackage>,
): PackageBindings & { asked: { find: number; read: number } } {
  const byDigest = new Map<string, PackageCode>();
  const byName = new Map<string, FoundPackage>();
  for (const [name, { code, version = "1.0.0", exports = ["."], mappings = null }] of Object.entries(
    packages,
  )) {
    const digest = hash("sha256", code);
    byDigest.set(digest, { code, mappings });
    byName.set(name, { name, version, digest, exports });
  }
  const asked = { find: 0, read: 0 };
  return {
    asked,
    async findPackage(_eid, { name, range }) {
      asked.find++;
      const found = byName.get(name);
      if (found !== undefined && (range === null || found.version.startsWith(range))) return found;
      const known = [...byName.keys()].slice(0, 5).join(", ");
      return { message: `The package ${JSON.stringify(name)} is not installed; there are ${known}.` };
    },
    async readPackage(_eid, digest) {
      asked.read++;
      const found = byDigest.get(digest);
      if (found === undefined) throw new Error("There is no such package.");
      return found;
    },
  };
}
