import { createHash } from "node:crypto";
import { text } from "node:stream/consumers";
import { type PageRequest, readNumberedPage, readPage } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import type { RevisionWatch } from "#api/db/revisions.ts";
import type { ContentStore } from "#api/files/contents/contents.ts";
import type { Caller } from "#api/http/auth.ts";
import type { CallCaller } from "#api/tools/contract.ts";
import { AppError } from "../errors.ts";
import type { PackageDirectory } from "./directory.ts";
import type { Installations } from "./installations.ts";
import type {
  Installation,
  InstallPackageBody,
  PackageFilter,
  PackageRecord,
  PackageSummary,
} from "./model.ts";
import { deletePackage, findPackageRow, listPackageRows, type PackageRow, sumPackages } from "./store.ts";
import {
  beginInstallation,
  findInstallation,
  giveUpLostInstallations,
  type InstallationRow,
  listInstallations,
} from "./store-installations.ts";

export interface PackagesDeps {
  db: Db;
  contents: Pick<ContentStore, "open">;
  watch: Pick<RevisionWatch, "refresh">;
  directory: PackageDirectory;
  installations: Pick<Installations, "begin">;
  mayImport(caller: CallCaller, name: string): boolean;
}

export interface PackageName {
  name: string;
  version: string;
  description: string;
}

export type Packages = ReturnType<typeof createPackages>;

export function createPackages(deps: PackagesDeps) {
  return { ...createReading(deps), ...createInstalling(deps) };
}

function createReading(deps: PackagesDeps) {
  const { db, contents, directory, mayImport } = deps;
  return {
    measure: () => sumPackages(db),

    async list(
      viewer: CallCaller,
      filter: PackageFilter,
      page: PageRequest<[string, string]>,
    ): Promise<{ packages: PackageSummary[]; next: [string, string] | null }> {
      const { rows, next } = await readPage<PackageRow, [string, string]>(
        page,
        (at) => listPackageRows(db, filter, at),
        ({ name, version }) => [name, version],
        (found) => found.filter(({ name }) => mayImport(viewer, name)),
      );
      return { packages: rows.map(toSummary), next };
    },

    async get(viewer: CallCaller, name: string, version: string): Promise<PackageRecord> {
      const row = await find(deps, viewer, name, version);
      const { packages: _packages, advisories: _advisories, ...summary } = toSummary(row);
      return { ...summary, ...row.details };
    },

    async types(
      viewer: CallCaller,
      name: string,
      version: string,
    ): Promise<{ files: Record<string, string> }> {
      const { types } = await find(deps, viewer, name, version);
      const content = types === null ? null : await contents.open(types);
      return { files: content === null ? {} : JSON.parse(await text(content.stream(0, content.size))) };
    },

    listNames(viewer: CallCaller): readonly PackageName[] {
      return directory.newest().filter(({ name }) => mayImport(viewer, name));
    },

    search(viewer: CallCaller, words: string): PackageName[] {
      const found = directory.search(words, (name) => mayImport(viewer, name));
      return found.map(({ name, version, description }) => ({ name, version, description }));
    },
  };
}

function createInstalling(deps: PackagesDeps) {
  const { db, watch, installations, mayImport } = deps;
  return {
    /**
     * Returns the running installation of the same package, if any. Throws forbidden if the role does not name the
     * package.
     */
    async install(
      { id: createdBy }: Pick<Caller, "id">,
      viewer: CallCaller,
      body: InstallPackageBody,
    ): Promise<Installation> {
      const { name, version, range, lock } = body;
      if (!mayImport(viewer, name)) {
        throw new AppError(
          "forbidden",
          `The role of this key does not allow the package ${name}. Keys install and remove only packages that their scripts may import: an administrator can add it to the packages of the role.`,
        );
      }
      const lockHash =
        lock === undefined ? "" : createHash("sha256").update(JSON.stringify(lock)).digest("hex");
      await giveUpLostInstallations(db);
      const asked = { name, range: version ?? range ?? "latest", lockHash, createdBy };
      const { isNew, ...row } = await beginInstallation(db, asked);
      if (isNew) installations.begin(row, lock ?? null);
      return toInstallation(row);
    },

    async installation(viewer: CallCaller, id: string): Promise<Installation> {
      let row = await findInstallation(db, id);
      if (row?.state === "running" && (await giveUpLostInstallations(db)) > 0)
        row = await findInstallation(db, id);
      if (row === null || !mayImport(viewer, row.name))
        throw new AppError("not_found", `There is no installation ${id}.`);
      return toInstallation(row);
    },

    async installations(
      viewer: CallCaller,
      page: PageRequest<number>,
    ): Promise<{ installations: Installation[]; next: number | null }> {
      const { rows, next } = await readNumberedPage(
        page,
        (at) => listInstallations(db, at),
        (found) => found.filter(({ name }) => mayImport(viewer, name)),
      );
      return { installations: rows.map(toInstallation), next };
    },

    /**
     * Removes a version. Later imports fail once this resolves, but runs that already use the package keep it. Throws
     * not_found.
     */
    async remove(viewer: CallCaller, name: string, version: string): Promise<void> {
      await find(deps, viewer, name, version);
      if ((await deletePackage(db, name, version)) === null) refuseUnknown(name, version);
      await watch.refresh();
    },
  };
}

async function find(
  { db, mayImport }: PackagesDeps,
  viewer: CallCaller,
  name: string,
  version: string,
): Promise<PackageRow> {
  const row = mayImport(viewer, name) ? await findPackageRow(db, name, version) : null;
  return row ?? refuseUnknown(name, version);
}

function toSummary(row: PackageRow): PackageSummary {
  const { name, version, digest, source, details, installedBy, installedAt } = row;
  const { description, exports, tree, advisories, sizes } = details;
  return {
    name,
    version,
    digest,
    description,
    license: tree[0]?.license ?? null,
    exports,
    source,
    sizes: { code: sizes.code, types: sizes.types, unpacked: sizes.unpacked },
    packages: tree.length,
    advisories: advisories?.length ?? null,
    installedBy,
    installedAt: installedAt.toISOString(),
  };
}

function toInstallation({ position: _, createdAt, completedAt, ...row }: InstallationRow): Installation {
  return {
    ...row,
    createdAt: createdAt.toISOString(),
    completedAt: completedAt?.toISOString() ?? null,
  };
}

function refuseUnknown(name: string, version: string): never {
  throw new AppError(
    "not_found",
    `The package ${name.slice(0, 214)} ${version} is not installed, or the role of this key hides it. GET /packages lists what it shows.`,
  );
}
