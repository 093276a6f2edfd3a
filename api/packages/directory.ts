/** Which packages are installed, in memory, and which one an import means. Told of changes by the revisions of the database. */
import semver from "semver";
import type { Db } from "#api/db/pool.ts";
import type { RevisionWatch } from "#api/db/revisions.ts";
import { type KnownPackage, readKnownPackages } from "./store.ts";

export interface PackageDirectory {
  /** The version that an import means; null: none fits. `range` null: the newest. */
  find(name: string, range: string | null): KnownPackage | null;
  /** All versions, the newest first. */
  versionsOf(name: string): readonly KnownPackage[];
  /** Of each name the newest, by name. */
  newest(): readonly KnownPackage[];
}

/** Before the watch starts. */
export function createPackageDirectory(db: Db, watch: Pick<RevisionWatch, "follow">): PackageDirectory {
  let byName = new Map<string, KnownPackage[]>();
  let newest: KnownPackage[] = [];
  watch.follow("packages", async () => {
    const known = await readKnownPackages(db);
    known.sort((one, other) => semver.rcompare(one.version, other.version));
    byName = Map.groupBy(known, ({ name }) => name);
    newest = [...byName.keys()].sort().map((name) => find(name, null) as KnownPackage);
  });

  /** A version before a release is meant only where the range says so, or where there is no other. */
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

  return { find, versionsOf: (name) => byName.get(name) ?? [], newest: () => newest };
}
