/**
 * Packages of runs on the host: finds the package that an import means, and stores recently used code and code
 * caches. Executes none of their code: a child without a script creates the caches.
 */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { EnvironmentBindings, PackageRequest } from "#sdk";
import { splitParts } from "../../packages/bundle-text.ts";
import type { FindPackage, UsedPackage } from "../../source/modules/graph.ts";
import { encodePackage, type PackageParts } from "../../wire/frames.ts";
import type { Checkpoint } from "../checkpoint.ts";

const MAX_CODE_BYTES = 16 * 1024 * 1024;
const MAX_CACHE_BYTES = 128 * 1024 * 1024;
/** A larger code cache would take longer to send than it saves. */
const MAX_CODE_CACHE_BYTES = 4 * 1024 * 1024;

/** A package, or only its main module, in the form that a run needs. */
export interface LoadedPackage extends Omit<PackageParts, "cache"> {
  use: UsedPackage;
  /** Code caches, keyed by the kind of child that accepts them. */
  caches: Map<ChildKind, Buffer>;
}

/** Forks run with other V8 flags than booted children. */
export type ChildKind = "fork" | "booted";

type Part = Omit<LoadedPackage, "use">;

export interface Packages {
  find(eid: number, checkpoint: Checkpoint | null, request: PackageRequest): ReturnType<FindPackage>;
  /** Rejects if a package is gone or differs from the one that was found. */
  load(eid: number, uses: readonly UsedPackage[]): Promise<LoadedPackage[]>;
  /** Returns the frames for a child, in pieces, and starts creating missing code caches. */
  encode(loaded: readonly LoadedPackage[], isFork: boolean): Buffer[][];
  settled(): Promise<void>;
}

/** Creates a package's code cache in a separate child, or resolves with null. Rejects only because of host bugs. */
export type MakeCodeCache = (loaded: LoadedPackage) => Promise<{ kind: ChildKind; data: Buffer } | null>;

export function createPackages(
  { findPackage, readPackage }: Pick<EnvironmentBindings, "findPackage" | "readPackage">,
  makeCodeCache: MakeCodeCache,
): Packages {
  const known = new LRUCache<string, Part>({ maxSize: MAX_CACHE_BYTES });
  /** How often each part was used without a cache, by its key and kind. */
  const missed = new Map<string, number>();
  let making: Promise<void> = Promise.resolve();

  async function loadOne(eid: number, use: UsedPackage): Promise<LoadedPackage> {
    const found = known.get(keyOf(use)) ?? (await read(eid, use));
    return { ...found, use };
  }

  async function read(eid: number, use: UsedPackage): Promise<Part> {
    const { name, version, digest } = use;
    if (readPackage === undefined) throw new Error("This server gives scripts no packages.");
    const { code, mappings } = await readPackage(eid, digest);
    if (code.length > MAX_CODE_BYTES || hash("sha256", code) !== digest) {
      throw new Error(`The package ${name}@${version} is not what it was when it was installed.`);
    }
    const { main, all } = splitParts(code);
    const { main: ofMain, ...ofAll } = readMappings(mappings);
    const part =
      main === null || use.isWhole
        ? toPart(all, ofAll)
        : toPart(main, ofMain ?? { sources: [], mappings: "" });
    known.set(keyOf(use), part, { size: sizeOf(part) });
    return part;
  }

  /** Creates caches one after another, alongside the runs, and only on second use: many packages are used once. */
  function makeCache(loaded: LoadedPackage, kind: ChildKind): void {
    const key = `${keyOf(loaded.use)} ${kind}`;
    const times = (missed.get(key) ?? 0) + 1;
    missed.set(key, times);
    if (times !== 2) return;
    making = making.then(async () => {
      const made = await makeCodeCache(loaded).catch(() => null);
      if (made === null || made.data.length > MAX_CODE_CACHE_BYTES) return;
      loaded.caches.set(made.kind, made.data);
      known.set(keyOf(loaded.use), loaded, { size: sizeOf(loaded) });
      // A child of the other kind created the cache. Tries again on later uses.
      if (made.kind !== kind) missed.delete(key);
    });
  }

  return {
    async find(eid, checkpoint, request) {
      if (checkpoint !== null) return findAgain(checkpoint.packages ?? [], request);
      return findPackage?.(eid, request) ?? { message: "Packages are not available." };
    },
    async load(eid, uses) {
      // Several ranges may resolve to one bundle.
      const unique = new Map<string, UsedPackage>();
      for (const use of uses) {
        const isWhole = use.isWhole || unique.get(use.digest)?.isWhole === true;
        unique.set(use.digest, { ...use, isWhole });
      }
      return Promise.all([...unique.values()].map((use) => loadOne(eid, use)));
    },
    encode: (loaded, isFork) =>
      loaded.map((one) => {
        const kind = isFork ? "fork" : "booted";
        const cache = one.caches.get(kind);
        if (cache === undefined) makeCache(one, kind);
        return encodePackage({ ...one, cache: cache ?? Buffer.alloc(0) });
      }),
    settled: () => making,
  };
}

function keyOf({ digest, isWhole }: UsedPackage): string {
  return `${digest} ${isWhole ? "all" : "main"}`;
}

function toPart(code: string, map: LineMap): Part {
  const isWide = WIDE.test(code);
  return {
    source: Buffer.from(`(${code}\n)`, isWide ? "utf16le" : "latin1"),
    isWide,
    mappings: Buffer.from(JSON.stringify(map)),
    caches: new Map(),
  };
}
const WIDE = /[^\0-\x7f]/;

interface LineMap {
  sources: unknown;
  mappings: unknown;
}

/** Returns the source mappings. Unreadable ones are ignored, so stacks show no positions. */
function readMappings(text: string | null): LineMap & { main?: LineMap } {
  try {
    const { sources, mappings, main } = JSON.parse(text ?? "{}") as LineMap & { main?: LineMap };
    return { sources, mappings, ...(main && { main }) };
  } catch {
    return { sources: [], mappings: "" };
  }
}

function sizeOf({ source, mappings, caches }: Part): number {
  return source.length + mappings.length + [...caches.values()].reduce((sum, { length }) => sum + length, 0);
}

function findAgain(
  packages: NonNullable<Checkpoint["packages"]>,
  { name, range }: PackageRequest,
): Awaited<ReturnType<FindPackage>> {
  const found = packages.find((used) => used.name === name && used.range === range);
  return found ?? { message: `The package ${name} was not used by the run that is replayed.` };
}
