import { text } from "node:stream/consumers";
import semver from "semver";
import type { Db } from "#api/db/pool.ts";
import type { ContentStore } from "#api/files/contents/contents.ts";
import type { PackageHost } from "#api/processes/model/packages.ts";
import type { CallCaller } from "#api/tools/contract.ts";
import type { PackageDirectory } from "./directory.ts";
import { findBundle } from "./store.ts";
import type { Trials } from "./trials.ts";

const MAX_NEAR = 5;

export interface PackageHostOptions {
  db: Db;
  contents: Pick<ContentStore, "open">;
  directory: PackageDirectory;
  trials: Pick<Trials, "find">;
  /** Resolves when the packages bundled with the server are in the directory. */
  starterStored(): Promise<void>;
  mayImport(caller: CallCaller, name: string): boolean;
  pickSimilar(asked: string, names: readonly string[], max: number): string[];
}

export function createPackageHost(options: PackageHostOptions): PackageHost {
  const { db, contents, directory, trials, starterStored, mayImport, pickSimilar } = options;

  async function read(digest: string): Promise<string> {
    const content = await contents.open(digest);
    if (content === null) throw new Error(`The package with the digest ${digest} was removed.`);
    return text(content.stream(0, content.size));
  }

  function describeUnknown(caller: CallCaller, name: string): string {
    const names = directory.newest().filter((one) => mayImport(caller, one.name));
    const near = pickSimilar(
      name,
      names.map((one) => one.name),
      MAX_NEAR,
    );
    const hint = near.length === 0 ? "" : ` Installed and alike: ${near.join(", ")}.`;
    return `The package ${name.slice(0, 214)} is not installed.${hint} A key with the scope packages:admin can install it: cyrnel packages add ${name.slice(0, 214)}.`;
  }

  return {
    async find(caller, { name, range }) {
      // A new server's first runs may start before the starter set is stored.
      if (directory.versionsOf(name).length === 0) await starterStored();
      const versions = directory.versionsOf(name);
      if (versions.length > 0 && !mayImport(caller, name)) {
        return {
          message: `The role of this run does not allow the package ${name}. An administrator of keys can add it to the packages of the role.`,
        };
      }
      if (versions.length === 0) return { message: describeUnknown(caller, name) };
      if (range !== null && range !== "latest" && semver.validRange(range) === null) {
        return {
          message: `${range.slice(0, 100)} is not a range of versions of ${name}: write it as npm does, ^4.1.`,
        };
      }
      const found = directory.find(name, range);
      if (found !== null) {
        const { version, digest, exports } = found;
        return { name, version, digest, exports };
      }
      const installed = versions.map(({ version }) => version).slice(0, 10);
      return {
        message: `No installed version of ${name} fits ${range}: there is ${installed.join(", ")}. A key with the scope packages:admin can install another: cyrnel packages add ${name}@${range}.`,
      };
    },
    async read(digest) {
      const bundle = await findBundle(db, digest);
      if (bundle === null) throw new Error(`The package with the digest ${digest} was removed.`);
      const [code, mappings] = await Promise.all([
        read(digest),
        bundle.mappings === null ? null : read(bundle.mappings),
      ]);
      return { code, mappings };
    },
    search: (caller, words) =>
      directory
        .search(words, (name) => mayImport(caller, name))
        .map(({ name, version, description }) => ({ name, version, description })),
    trial: (eid) => trials.find(eid),
  };
}
