/**
 * Packages for scripts of a local runtime: those installed nearest to a folder, bundled in a separate process, or
 * else the starter set, bundled when Cyrnel was built. Their code runs in the script's process only.
 */
import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { type BundledPackage, bundlePackage } from "#runner/packages/bundle.ts";
import { STARTER_SET, starterFile } from "#runner/packages/starter.ts";
import type { EnvironmentBindings, FoundPackage, PackageRequest } from "#sdk";
import type { LocalOptions } from "../kernel/local-model.ts";

const MAX_NEAR = 3;

type Bindings = Required<Pick<EnvironmentBindings, "findPackage" | "readPackage">>;

export function createLocalPackages({
  folder,
  root = folder,
}: NonNullable<LocalOptions["packages"]>): Bindings {
  const bundles = new Map<string, ReturnType<typeof bundlePackage>>();
  const byDigest = new Map<string, BundledPackage>();

  return {
    async findPackage(_eid, request) {
      const start = await realpath(folder);
      const top = await realpath(root);
      const folders = listFolders(start, top);
      const place = folders.find((one) => existsSync(join(one, request.name, "package.json")));
      if (place === undefined && !isStarter(request.name)) {
        return { message: describeAbsence(request, folders, top) };
      }
      const key = join(place ?? "", request.name);
      const bundling =
        bundles.get(key) ??
        (place === undefined ? readStarter(request.name) : bundlePackage(place, request.name, { root: top }));
      bundles.set(key, bundling);
      const bundle = await bundling;
      if ("problem" in bundle) return { message: `${request.name} cannot be imported. ${bundle.problem}` };
      return fit(request, bundle);
    },
    async readPackage(_eid, digest) {
      const { code, mappings } = byDigest.get(digest) ?? {};
      if (code === undefined || mappings === undefined) throw new Error("There is no such package.");
      return { code, mappings };
    },
  };

  async function fit(
    { name, range }: PackageRequest,
    bundle: BundledPackage,
  ): Promise<FoundPackage | { message: string }> {
    const { version, digest, exports } = bundle;
    const { default: semver } = await import("semver");
    if (range !== null && range !== "latest" && !semver.satisfies(version, range)) {
      return { message: `${name}@${range} is not installed here: ${name}@${version} is.` };
    }
    byDigest.set(digest, bundle);
    return { name, version, digest, exports };
  }
}

function isStarter(name: string): boolean {
  return STARTER_SET.some((one) => one === name) && existsSync(starterFile(name));
}

async function readStarter(name: string): Promise<BundledPackage> {
  return JSON.parse(await readFile(starterFile(name), "utf8"));
}

/** Lists the package folders from the nearest up to that of `top`. */
function listFolders(start: string, top: string): string[] {
  const found: string[] = [];
  for (let at = start; isWithin(at, top); at = dirname(at)) {
    const place = join(at, "node_modules");
    if (existsSync(place) && isWithin(realpathSync(place), top)) found.push(place);
    if (at === dirname(at)) break;
  }
  return found;
}

function isWithin(place: string, top: string): boolean {
  const way = relative(top, place);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Returns names such as `zod` and `@scope/name`. */
function listNames(place: string, top: string): string[] {
  return readdirSync(place).flatMap((name) => {
    if (!name.startsWith("@")) return name.startsWith(".") ? [] : [name];
    const scope = join(place, name);
    if (!isWithin(realpathSync(scope), top) || !statSync(scope).isDirectory()) return [];
    return readdirSync(scope).map((inner) => `${name}/${inner}`);
  });
}

function describeAbsence({ name }: PackageRequest, folders: readonly string[], top: string): string {
  const near = [...new Set([...folders.flatMap((place) => listNames(place, top)), ...STARTER_SET])]
    .filter((known) => isNear(known, name))
    .slice(0, MAX_NEAR);
  const hint =
    near.length > 0 ? ` Did you mean ${near.map((known) => JSON.stringify(known)).join(", ")}?` : "";
  return `The package ${JSON.stringify(name)} is not installed in a node_modules of the script's folder, up to ${top}.${hint} Install it with npm install ${name}.`;
}

/** Returns true if at most two character changes turn one into the other. */
function isNear(known: string, name: string): boolean {
  if (Math.abs(known.length - name.length) > 2) return false;
  let before = Array.from({ length: name.length + 1 }, (_, index) => index);
  for (let row = 1; row <= known.length; row++) {
    const next = [row];
    for (let column = 1; column <= name.length; column++) {
      const same = known[row - 1] === name[column - 1] ? 0 : 1;
      const [above = 0, left = 0, corner = 0] = [before[column], next[column - 1], before[column - 1]];
      next.push(Math.min(above + 1, left + 1, corner + same));
    }
    before = next;
  }
  return (before[name.length] ?? 3) <= Math.min(2, Math.floor(name.length / 2));
}
