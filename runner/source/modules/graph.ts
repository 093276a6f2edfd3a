/**
 * Reads what a script imports: workspace files, each made linkable, and packages, which the host finds. Limits the
 * number and total size of modules. Opens no file: `readModule` returns their texts.
 */

import { hash } from "node:crypto";
import pLimit from "p-limit";
import type { FoundPackage, PackageRequest, PackageUse } from "#sdk";
import { type Refused, sourceError } from "../errors.ts";
import { MAX_IMPORTS, TOO_MANY_IMPORTS } from "./imports.ts";
import type { Import, Linkable, Node, PackageTarget } from "./linkable.ts";
import { INSTEAD, kindOf, quote, readSpecifier, type SourceKind } from "./names.ts";
import { NoTextError } from "./text.ts";

/** Resolves with null for a missing file. Throws NoTextError, or an Error if the file exceeds `maxBytes`. */
export type ReadModule = (name: string, maxBytes: number) => Promise<string | null>;

/**
 * Returns the package of an import, or a message for the script's author. Without `exports` the path is checked
 * later.
 */
export type FindPackage = (
  request: PackageRequest,
) => Promise<(PackageUse & Partial<FoundPackage>) | { message: string }>;

/** `isWhole` is true if the script imports more than the main module. */
export type UsedPackage = PackageUse & PackageRequest & { isWhole: boolean };

/** Null if the script has no files, or its host no packages. */
export interface Sources {
  readModule: ReadModule | null;
  findPackage: FindPackage | null;
}

export type PrepareFile = (name: string, text: string) => Promise<Linkable | Refused>;

const MAX_MODULES = 1000;
const MAX_PACKAGES = 50;
const MAX_TOTAL_BYTES = 1024 * 1024;
const MAX_LOOKUPS = 20_000;
const MAX_STARS = 1000;
const MAX_READS = 16;

export interface Graph {
  nodes: Node[];
  packages: UsedPackage[];
  digest: string;
}

/** Becomes an error at the import that exceeded a limit. */
class TooMuch extends Error {}

export async function readGraph(
  entry: Linkable,
  entryName: string,
  { readModule, findPackage }: Sources,
  prepareFile: PrepareFile,
): Promise<Graph | Refused> {
  const nodes: Node[] = [{ name: entryName, kind: "code", text: "", linkable: entry, targets: [] }];
  const digests: string[] = [];
  const known = new Map([[`code ${entryName}`, 0]]);
  const read = createReader(readModule);
  const packages = createFinder(findPackage);
  const fileOf = ({ name }: Node) => (name === entryName ? undefined : name);
  let stars = 0;
  let imports = 0;
  for (let level = nodes.slice(); level.length > 0; ) {
    const added: Node[] = [];
    for (const { name, linkable } of level) {
      imports += linkable?.imports.length ?? 0;
      const last = linkable?.imports.at(-1);
      if (imports <= MAX_IMPORTS || last === undefined) continue;
      return sourceError(TOO_MANY_IMPORTS, last.position, name === entryName ? undefined : name);
    }
    const found = await Promise.all(level.map((node) => findTargets(node, entryName, read, packages.find)));
    for (const [at, node] of level.entries()) {
      stars += node.linkable?.stars.length ?? 0;
      for (const [index, target] of (found[at] as Found[]).entries()) {
        const { isDynamic, position } = (node.linkable as Linkable).imports[index] as Import;
        if (typeof target === "object" && "message" in target) {
          if (!isDynamic || target.isFinal) return sourceError(target.message, position, fileOf(node));
          node.targets.push(target.isPackage ? { refused: target.message } : null);
        } else if (typeof target === "string" || "digest" in target) node.targets.push(target);
        else {
          const key = `${target.kind} ${target.name}`;
          let number = known.get(key);
          if (number === undefined) {
            number = nodes.length;
            if (number > MAX_MODULES || stars > MAX_STARS) {
              return sourceError(
                `A script may import at most ${MAX_MODULES} files and re-export at most ${MAX_STARS} as a whole; this one has more.`,
                position,
                fileOf(node),
              );
            }
            known.set(key, number);
            const next: Node = { ...target, linkable: null, targets: [] };
            nodes.push(next);
            added.push(next);
          }
          node.targets.push(number);
        }
      }
    }
    digests.push(...added.map(({ text }) => hash("sha256", text)));
    const results = await Promise.all(added.map((node) => prepareNode(node, prepareFile)));
    const refused = results.find((result) => result !== null);
    if (refused !== undefined) return refused;
    level = added;
  }
  const parts = nodes.map(({ name, kind, targets }, index) => [name, kind, digests[index - 1], targets]);
  const digest = hash("sha256", JSON.stringify(parts), "base64");
  return { nodes, packages: packages.list(), digest };
}

type Found =
  | string
  | PackageTarget
  | { name: string; kind: SourceKind; text: string }
  /** With `isPackage`, the `import()` call reports the message at run time. */
  | { message: string; isFinal?: boolean; isPackage?: boolean };
type Reader = (name: string) => Promise<string | null>;

function createReader(readModule: ReadModule | null): Reader {
  const texts = new Map<string, Promise<string | null>>();
  const enter = pLimit(MAX_READS);
  let bytes = 0;
  return (name) => {
    const known = texts.get(name);
    if (known !== undefined) return known;
    if (texts.size >= MAX_LOOKUPS)
      throw new TooMuch("The imports of this script could refer to too many different files.");
    const reading = enter(async () => {
      if (bytes > MAX_TOTAL_BYTES || readModule === null) return null;
      const text = await readModule(name, MAX_TOTAL_BYTES - bytes);
      bytes += text === null ? 0 : Buffer.byteLength(text);
      if (bytes > MAX_TOTAL_BYTES) {
        throw new TooMuch(
          `The files that a script imports have at most ${MAX_TOTAL_BYTES / 1024} KiB together; with ${quote(name)} they have more. Read large data with node:fs or cyrnel.files instead.`,
        );
      }
      return text;
    });
    // Reading may fail before anything awaits it; that must not crash the process.
    reading.catch(() => {});
    texts.set(name, reading);
    return reading;
  };
}

type Finder = (meant: PackageSpecifier, specifier: string) => Promise<Found>;
type PackageSpecifier = Extract<ReturnType<typeof readSpecifier>, { is: "package" }>;

function createFinder(findPackage: FindPackage | null): { find: Finder; list(): UsedPackage[] } {
  const asked = new Map<string, ReturnType<FindPackage>>();
  const used = new Map<string, UsedPackage>();

  async function find({ name, range, path }: PackageSpecifier, specifier: string): Promise<Found> {
    if (findPackage === null)
      return { message: `${quote(specifier)} cannot be imported: packages are not available. ${INSTEAD}` };
    const key = `${name} ${range ?? ""}`;
    let asking = asked.get(key);
    if (asking === undefined) {
      if (asked.size >= MAX_PACKAGES)
        throw new TooMuch(`A script may import at most ${MAX_PACKAGES} packages.`);
      asking = findPackage({ name, range });
      asked.set(key, asking);
    }
    const found = await asking;
    if ("message" in found) return { message: found.message, isPackage: true };
    const { version, digest, exports } = found;
    // A package without sub-paths is imported with or without a file extension.
    const paths = [path, path.replace(/\.[cm]?js$/, "")];
    const meant = exports === undefined ? path : paths.find((one) => exports.includes(one));
    if (meant === undefined) {
      const message = `${name}@${version} has no export ${quote(path)}: ${listExports(exports ?? [], name)}.`;
      return { message, isPackage: true };
    }
    const isWhole = meant !== "." || used.get(key)?.isWhole === true;
    used.set(key, { name, range, version, digest, isWhole });
    return { digest, name, path: meant };
  }

  return { find, list: () => [...used.values()] };
}

function listExports(exports: readonly string[], name: string): string {
  const shown = exports.slice(0, MAX_SHOWN_EXPORTS).map((path) => quote(name + path.slice(1)));
  const more = exports.length > shown.length ? `, and ${exports.length - shown.length} more` : "";
  return `there are ${shown.join(", ")}${more}`;
}
const MAX_SHOWN_EXPORTS = 8;

async function findTargets(
  { name, linkable }: Node,
  entryName: string,
  read: Reader,
  find: Finder,
): Promise<Found[]> {
  const found: Found[] = [];
  for (const site of linkable?.imports ?? []) {
    try {
      found.push(await findTarget(site, name, entryName, read, find));
    } catch (error) {
      if (!(error instanceof TooMuch || error instanceof NoTextError)) throw error;
      found.push({ message: error.message, isFinal: true });
    }
  }
  return found;
}

async function findTarget(
  site: Import,
  from: string,
  entryName: string,
  read: Reader,
  find: Finder,
): Promise<Found> {
  const meant = readSpecifier(site.specifier, from);
  if (meant.is === "refused") return meant;
  if (meant.is === "package") {
    const found = await find(meant, site.specifier);
    return typeof found === "object" && "message" in found
      ? ((await findFileMeant(site.specifier, from, read)) ?? found)
      : found;
  }
  if (meant.is === "builtin") return meant.name;
  for (const name of meant.paths) {
    const text = name === entryName && site.type === null ? "" : await read(name);
    if (text === null) continue;
    const kind = kindOf(name, site.type);
    if (kind === null)
      return {
        message: `An import of type ${quote(site.type ?? "")} is unknown. Expected "json" or "text".`,
      };
    return { name, kind, text };
  }
  const looked = meant.paths.slice(0, 3).join(", ");
  return {
    message: `${quote(site.specifier)} is not among the files of this run (looked for ${looked}${meant.paths.length > 3 ? ", …" : ""}). ${INSTEAD}`,
  };
}

/** Suggests a workspace file whose import lacks `./`. */
async function findFileMeant(specifier: string, from: string, read: Reader): Promise<Found | null> {
  const meant = readSpecifier(`/${specifier}`, from);
  if (meant.is !== "file") return null;
  for (const name of meant.paths) {
    if ((await read(name)) === null) continue;
    const path = from.includes("/") ? `/${specifier}` : `./${specifier}`;
    const message = `${quote(specifier)} is read as the name of a package, and no such package is available. To import the file ${name}, write ${quote(path)}.`;
    return { message, isPackage: true };
  }
  return null;
}

async function prepareNode(node: Node, prepareFile: PrepareFile): Promise<Refused | null> {
  if (node.kind !== "code") return null;
  const result = await prepareFile(node.name, node.text);
  if ("error" in result) return { ok: false, error: { ...result.error, file: node.name } };
  node.linkable = result;
  node.text = "";
  return null;
}
