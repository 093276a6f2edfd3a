import type { PageRequest } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import { type PackageDetails, type PackageFilter, PROJECT } from "./model.ts";

export interface PackageRow {
  name: string;
  version: string;
  digest: string;
  types: string | null;
  source: "registry" | "starter";
  details: PackageDetails;
  installedBy: string;
  installedAt: Date;
}

export interface KnownPackage extends Pick<PackageRow, "name" | "version" | "digest"> {
  exports: string[];
  description: string;
}

function columns(db: Db) {
  return db`name, version, digest, types, source, details, installed_by as "installedBy",
    installed_at as "installedAt"`;
}

/** Call after storing the package's contents. Returns false, and changes nothing, if this version is installed. */
export async function insertPackage(
  db: Db,
  row: Omit<PackageRow, "installedAt"> & { mappings: string | null },
): Promise<boolean> {
  const { count } = await db`
    with bundle as (
      insert into package_bundles as b (project, digest, mappings)
      values (${PROJECT}, ${row.digest}, ${row.mappings})
      on conflict (project, digest) do update set used_at = now() returning digest
    )
    insert into packages (project, name, version, digest, types, source, details, installed_by)
    select ${PROJECT}, ${row.name}, ${row.version}, digest, ${row.types}, ${row.source},
      ${JSON.stringify(row.details)}::text::json, ${row.installedBy} from bundle
    on conflict (project, name, version) do nothing`;
  return count === 1;
}

export async function findPackageRow(db: Db, name: string, version: string): Promise<PackageRow | null> {
  const [row] = await db<PackageRow[]>`
    select ${columns(db)} from packages
    where project = ${PROJECT} and name = ${name} and version = ${version}`;
  return row ?? null;
}

export async function listPackageRows(
  db: Db,
  { name }: PackageFilter,
  { from, limit }: PageRequest<[string, string]>,
): Promise<PackageRow[]> {
  return db<PackageRow[]>`
    select ${columns(db)} from packages
    where project = ${PROJECT} ${name === undefined ? db`` : db`and name = ${name}`}
      ${from === null ? db`` : db`and (name collate "C", version collate "C") > (${from[0]}, ${from[1]})`}
    order by name collate "C", version collate "C" limit ${limit}`;
}

export async function readKnownPackages(db: Db): Promise<KnownPackage[]> {
  return db<KnownPackage[]>`
    select name, version, digest, details->'exports' as exports, details->>'description' as description
    from packages where project = ${PROJECT}`;
}

/** Deletes a package but leaves its bundle for a while, because runs may still read it. */
export async function deletePackage(
  db: Db,
  name: string,
  version: string,
): Promise<{ source: PackageRow["source"] } | null> {
  const [row] = await db<{ source: PackageRow["source"] }[]>`
    with removed as (
      delete from packages where project = ${PROJECT} and name = ${name} and version = ${version}
      returning digest, source
    ), kept as (
      update package_bundles set used_at = now() where project = ${PROJECT}
        and digest in (select digest from removed)
    ), starter as (
      insert into removed_starters (project, name)
      select ${PROJECT}, ${name} from removed where source = 'starter' on conflict do nothing
    )
    select source from removed`;
  return row ?? null;
}

export async function readRemovedStarters(db: Db): Promise<string[]> {
  const rows = await db<{ name: string }[]>`
    select name from removed_starters where project = ${PROJECT}`;
  return rows.map(({ name }) => name);
}

export async function findBundle(db: Db, digest: string): Promise<{ mappings: string | null } | null> {
  const [row] = await db<{ mappings: string | null }[]>`
    select mappings from package_bundles where project = ${PROJECT} and digest = ${digest}`;
  return row ?? null;
}

/** Deletes unused bundles to which no package and no replayable process refers. */
export async function deleteUnusedBundles(db: Db, unusedMs: number, maxRows: number): Promise<number> {
  const { count } = await db`
    with over as (
      delete from process_packages p using processes o where o.id = p.process_id and o.state = 'idle'
    )
    delete from package_bundles where ctid = any(array(
      select b.ctid from package_bundles b
      where b.project = ${PROJECT} and b.used_at <= now() - make_interval(secs => ${unusedMs / 1000})
        and not exists (select from packages p where p.project = b.project and p.digest = b.digest)
        and not exists (
          select from process_packages u join processes o on o.id = u.process_id
          where u.project = b.project and u.digest = b.digest and o.state <> 'idle'
        )
      limit ${maxRows} for update skip locked
    ))`;
  return count;
}

export async function sumPackages(db: Db): Promise<{ packages: number; bytes: number }> {
  const [row] = await db<{ packages: number; bytes: number }[]>`
    select (select count(*)::int from packages) as packages,
      (select coalesce(sum(c.size), 0)::bigint from package_bundles b
        join contents c on c.project = b.project and c.digest = b.digest) as bytes`;
  return row as { packages: number; bytes: number };
}
