/** Stores packages, including the starter set: first the contents, then the row that refers to them. */
import { open, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Db } from "#api/db/pool.ts";
import type { ContentStore } from "#api/files/contents/contents.ts";
import type { BundledPackage } from "#runner/packages/bundle.ts";
import { STARTER_SET, starterFile } from "#runner/packages/starter.ts";
import type { StarterMember } from "#runner/packages/starter-tree.ts";
import type { InstalledTree } from "./install/messages.ts";
import type { PackageDetails } from "./model.ts";
import { insertPackage, readKnownPackages, readRemovedStarters } from "./store.ts";

export interface NewPackage {
  bundled: BundledPackage;
  tree: InstalledTree;
  source: "registry" | "starter";
  installedBy: string;
}

/** Stores a package. Returns false if this version is already installed. */
export async function storePackage(
  db: Db,
  contents: Pick<ContentStore, "put">,
  { bundled, tree, source, installedBy }: NewPackage,
): Promise<boolean> {
  const { name, version, digest, code, mappings, types, exports, builtins, missing, sizes } = bundled;
  const put = async (text: string) => (await contents.put(once(Buffer.from(text)))).digest;
  const stored = await put(code);
  if (stored !== digest)
    throw new Error(`the code of ${name}@${version} has the digest ${stored}, not ${digest}`);
  const { description, homepage, tree: members, advisories, leftOut } = tree;
  const details: PackageDetails = {
    description,
    homepage,
    exports,
    builtins,
    missing,
    tree: members,
    leftOut,
    advisories,
    sizes: { code: sizes.code, types: sizes.types, ...tree.sizes },
  };
  return insertPackage(db, {
    name,
    version,
    digest,
    mappings: mappings === null ? null : await put(mappings),
    types: Object.keys(types).length === 0 ? null : await put(JSON.stringify(types)),
    source,
    details,
    installedBy,
  });
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/**
 * Stores missing starter packages, except names that an operator has removed. Reads one file at a time, because
 * together they are large.
 */
export async function storeStarterSet(
  db: Db,
  contents: Pick<ContentStore, "put">,
  folder: string,
  signal: AbortSignal,
): Promise<{ stored: number; absent: string[] }> {
  const files = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".json"));
  const absent = STARTER_SET.filter((name) => !files.includes(basename(starterFile(name))));
  if (files.length === 0) return { stored: 0, absent };
  const removed = new Set(await readRemovedStarters(db));
  const known = new Set((await readKnownPackages(db)).map(({ name, version }) => `${name}@${version}`));
  let stored = 0;
  for (const file of files) {
    if (signal.aborted) break;
    const place = join(folder, file);
    const named = await readNamed(place);
    if (named === null || removed.has(named.name) || known.has(`${named.name}@${named.version}`)) continue;
    const { about, ...bundled }: StarterFile = JSON.parse(await readFile(place, "utf8"));
    const tree = describeStarter(bundled, about);
    if (await storePackage(db, contents, { bundled, tree, source: "starter", installedBy: "system" }))
      stored += 1;
  }
  return { stored, absent };
}

const NAMED = /^\{"name":"([^"]+)","version":"([^"]+)"/;
const NAMED_BYTES = 512;

/** Reads only the beginning of a file, so that a startup with nothing to store is quick. */
async function readNamed(place: string): Promise<{ name: string; version: string } | null> {
  await using file = await open(place);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(NAMED_BYTES), 0, NAMED_BYTES, 0);
  const [, name, version] = NAMED.exec(buffer.toString("utf8", 0, bytesRead)) ?? [];
  return name === undefined || version === undefined ? null : { name, version };
}

type StarterFile = BundledPackage & {
  about: { description?: string; homepage?: string; tree: StarterMember[] };
};

/** Takes the tree from the server's lock file, which npm checked when the server was installed. */
function describeStarter(
  { version }: BundledPackage,
  {
    description = "",
    homepage = null,
    tree,
  }: { description?: string; homepage?: string | null; tree: StarterMember[] },
): InstalledTree {
  const sum = (of: (member: StarterMember) => number) =>
    tree.reduce((total, member) => total + of(member), 0);
  const sizes = { downloaded: 0, unpacked: sum(({ bytes }) => bytes), files: sum(({ files }) => files) };
  return { version, description, homepage, tree, advisories: null, leftOut: [], sizes };
}
