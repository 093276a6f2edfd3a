/**
 * Keeps the installed packages in memory and resolves imports to versions. Reloads when the database's revision
 * changes.
 */
import semver from "semver";
import type { Db } from "#api/db/pool.ts";
import type { RevisionWatch } from "#api/db/revisions.ts";
import { createToolIndex } from "#kernel/tool-search/tool-index.ts";
import { type KnownPackage, readKnownPackages } from "./store.ts";

export interface PackageDirectory {
  /** Returns null if no version matches. A null `range` means the newest version. */
  find(name: string, range: string | null): KnownPackage | null;
  versionsOf(name: string): readonly KnownPackage[];
  newest(): readonly KnownPackage[];
  /** Ranks packages like the tool search and returns the few best matches. */
  search(words: string, accepts: (name: string) => boolean): KnownPackage[];
}

const MAX_FOUND = 5;
const MAX_DESCRIPTION_CHARACTERS = 100;
const INDEXED_AS = "npm";

/** Call before the revision watch starts. */
export function createPackageDirectory(db: Db, watch: Pick<RevisionWatch, "follow">): PackageDirectory {
  let byName = new Map<string, KnownPackage[]>();
  let newest: KnownPackage[] = [];
  const index = createToolIndex();
  watch.follow("packages", async () => {
    const known = (await readKnownPackages(db)).map((row) => ({
      ...row,
      description: toLine(row.description),
    }));
    known.sort((one, other) => semver.rcompare(one.version, other.version));
    byName = Map.groupBy(known, ({ name }) => name);
    newest = [...byName.keys()].sort().map((name) => find(name, null) as KnownPackage);
    index.put(
      INDEXED_AS,
      newest.map(({ name, description }) =>
        index.read({ serviceId: INDEXED_AS, id: name, name, description }),
      ),
    );
  });

  /** A pre-release is chosen only if the range names one or no other version exists. */
  function find(name: string, range: string | null): KnownPackage | null {
    const versions = byName.get(name) ?? [];
    if (range === null || range === "" || range === "latest") {
      return versions.find(({ version }) => semver.prerelease(version) === null) ?? versions[0] ?? null;
    }
    const fitting = semver.maxSatisfying(
      versions.map(({ version }) => version),
      range,
    );
    return versions.find(({ version }) => version === fitting) ?? null;
  }

  return {
    find,
    versionsOf: (name) => byName.get(name) ?? [],
    newest: () => newest,
    search(words, accepts) {
      const found = index.search(words, ({ id }) => accepts(id), { after: null, limit: MAX_FOUND });
      return found.flatMap(({ id }) => find(id, null) ?? []);
    },
  };
}

/** Removes everything that JavaScript treats as a line end: descriptions appear in lists and comments. */
function toLine(text: string): string {
  const line = text.replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim();
  return line.length <= MAX_DESCRIPTION_CHARACTERS
    ? line
    : `${line.slice(0, MAX_DESCRIPTION_CHARACTERS - 1).toWellFormed()}…`;
}
