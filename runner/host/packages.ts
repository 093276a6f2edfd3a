/**
 * The packages of runs on the host: which one an import means, their code as a child gets it, and code caches of them. Of what the
 * host answered it keeps what was used last. Executes nothing of them: a cache is made by a child that runs no script.
 */
import { hash } from "node:crypto";
import type { EnvironmentBindings } from "#sdk";
import { createBoundedCache } from "../source/bounded-cache.ts";
import type { FindPackage, UsedPackage } from "../source/modules/graph.ts";
import { encodePackage, type PackageParts } from "../wire/frames.ts";
import type { Checkpoint } from "./checkpoint.ts";

const MAX_CODE_BYTES = 16 * 1024 * 1024;
const MAX_CACHE_BYTES = 128 * 1024 * 1024;
/** Of one code cache. A larger one would take longer to be sent than it saves. */
const MAX_CODE_CACHE_BYTES = 4 * 1024 * 1024;
/** Processes of different V8 flags, for which a package has code caches. */
const MAX_TAGS = 4;

export interface LoadedPackage extends Omit<PackageParts, "cache"> {
  use: UsedPackage;
  /** By the tag of V8 they are for; empty: there can be none. */
  caches: Map<number, Buffer>;
}

export interface Packages {
  /** What finds packages for a run; undefined: there are none. `before`: the run that it repeats. */
  finder(eid: number, before: Checkpoint | null): FindPackage | undefined;
  /** Rejects where one is not to be had any more, or is not what was found. */
  load(eid: number, uses: readonly UsedPackage[]): Promise<LoadedPackage[]>;
  /** The frames for a child with this tag, in pieces; has caches made that there are none of. */
  encode(loaded: readonly LoadedPackage[], tag: number | undefined): Buffer[][];
  /** Resolves when no code cache is being made. */
  settled(): Promise<void>;
}

/** Makes a code cache of a package in a child of its own; null: there is none to be had. Rejects only for faults of ours. */
export type MakeCodeCache = (loaded: LoadedPackage) => Promise<{ tag: number; data: Buffer } | null>;

export function createPackages(
  { findPackage, readPackage }: Pick<EnvironmentBindings, "findPackage" | "readPackage">,
  makeCodeCache: MakeCodeCache,
): Packages {
  const known = createBoundedCache<Omit<LoadedPackage, "use">>(MAX_CACHE_BYTES);
  /** How often a package was used without a cache, by digest and tag. */
  const missed = new Map<string, number>();
  let making: Promise<void> = Promise.resolve();

  async function loadOne(eid: number, use: UsedPackage): Promise<LoadedPackage> {
    let found = known.get(use.digest);
    if (found === undefined) {
      found = await read(eid, use);
      known.set(use.digest, found, sizeOf(found));
    }
    return { ...found, use };
  }

  async function read(
    eid: number,
    { name, version, digest }: UsedPackage,
  ): Promise<Omit<LoadedPackage, "use">> {
    if (readPackage === undefined) throw new Error("This server gives scripts no packages.");
    const { code, mappings } = await readPackage(eid, digest);
    if (code.length > MAX_CODE_BYTES || hash("sha256", code) !== digest) {
      throw new Error(`The package ${name}@${version} is not what it was when it was installed.`);
    }
    const isWide = !/^[\0-\x7f]*$/.test(code);
    return {
      source: Buffer.from(code, isWide ? "utf16le" : "latin1"),
      isWide,
      mappings: Buffer.from(mappings ?? ""),
      caches: new Map(),
    };
  }

  /** One after another, beside the runs; at the second use: there may be only one. */
  function makeCache(loaded: LoadedPackage, tag: number): void {
    const key = `${loaded.use.digest} ${tag}`;
    const times = (missed.get(key) ?? 0) + 1;
    missed.set(key, times);
    if (times !== 2 || loaded.caches.size >= MAX_TAGS) return;
    making = making.then(async () => {
      const made = await makeCodeCache(loaded).catch(() => null);
      if (made === null || made.data.length > MAX_CODE_CACHE_BYTES) return;
      loaded.caches.set(made.tag, made.data);
      known.set(loaded.use.digest, loaded, sizeOf(loaded));
      // A child of the other kind made it: one of this kind may the next time.
      if (made.tag !== tag) missed.delete(key);
    });
  }

  return {
    finder(eid, before) {
      if (before !== null) return findAgain(before.packages ?? []);
      return findPackage && ((request) => findPackage(eid, request));
    },
    async load(eid, uses) {
      const loaded = new Map(uses.map((use) => [use.digest, use]));
      return Promise.all([...loaded.values()].map((use) => loadOne(eid, use)));
    },
    encode: (loaded, tag) =>
      loaded.map((one) => {
        const cache = tag === undefined ? undefined : one.caches.get(tag);
        if (cache === undefined && tag !== undefined) makeCache(one, tag);
        return encodePackage({ ...one, cache: cache ?? Buffer.alloc(0) });
      }),
    settled: () => making,
  };
}

function sizeOf({ source, mappings, caches }: Omit<LoadedPackage, "use">): number {
  return source.length + mappings.length + [...caches.values()].reduce((sum, { length }) => sum + length, 0);
}

/** Of a run that is repeated: exactly what it had. */
function findAgain(packages: NonNullable<Checkpoint["packages"]>): FindPackage {
  return async ({ name, range }) =>
    packages.find((used) => used.name === name && used.range === range) ?? {
      message: `The package ${name} was not among those of the run that is repeated.`,
    };
}
