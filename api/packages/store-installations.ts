import { randomBytes } from "node:crypto";
import type { PageRequest } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import type { InstallStep } from "./install/messages.ts";
import { type Installation, PROJECT } from "./model.ts";

export interface InstallationRow extends Omit<Installation, "createdAt" | "completedAt"> {
  position: number;
  createdAt: Date;
  completedAt: Date | null;
}

export interface NewInstallation {
  name: string;
  range: string;
  lockHash: string;
  createdBy: string;
}

function columns(db: Db) {
  return db`id, position, name, range, state, step, done, total, version, error, created_by as "createdBy",
    created_at as "createdAt", completed_at as "completedAt"`;
}

/** If the same package is already being installed, returns that installation with `isNew` false. */
export async function beginInstallation(
  db: Db,
  { name, range, lockHash, createdBy }: NewInstallation,
): Promise<InstallationRow & { isNew: boolean }> {
  for (;;) {
    const [made] = await db<InstallationRow[]>`
      insert into package_installations (project, id, name, range, lock_hash, state, step, created_by)
      values (${PROJECT}, ${`inst_${randomBytes(10).toString("hex")}`}, ${name}, ${range}, ${lockHash}, 'running',
        'waiting', ${createdBy})
      on conflict (project, name, range, lock_hash) where state = 'running' do nothing
      returning ${columns(db)}`;
    if (made !== undefined) return { ...made, isNew: true };
    const [found] = await db<InstallationRow[]>`
      select ${columns(db)} from package_installations where project = ${PROJECT} and state = 'running'
        and name = ${name} and range = ${range} and lock_hash = ${lockHash}`;
    if (found !== undefined) return { ...found, isNew: false };
  }
}

/** Records an installation's progress. Returns false if the installation was given up. */
export async function recordStep(
  db: Db,
  id: string,
  { step, done, total }: { step: InstallStep; done: number; total: number | null },
): Promise<boolean> {
  const { count } = await db`
    update package_installations set step = ${step}, done = ${done}, total = ${total}::int, touched_at = now()
    where project = ${PROJECT} and id = ${id} and state = 'running'`;
  return count === 1;
}

export async function endInstallation(
  db: Db,
  id: string,
  { version, error }: { version: string | null; error: string | null },
): Promise<InstallationRow | null> {
  const [row] = await db<InstallationRow[]>`
    update package_installations set state = ${error === null ? "done" : "failed"}, version = ${version},
      error = ${error}, completed_at = now(), touched_at = now()
    where project = ${PROJECT} and id = ${id} and state = 'running' returning ${columns(db)}`;
  return row ?? null;
}

/** Silence after which an installation is lost. Servers send a heartbeat for it every ten seconds. */
const LOST_MS = 120_000;

export async function giveUpLostInstallations(db: Db): Promise<number> {
  const { count } = await db`
    update package_installations set state = 'failed', completed_at = now(),
      error = 'The server that installed it has gone.'
    where project = ${PROJECT} and state = 'running'
      and touched_at <= now() - make_interval(secs => ${LOST_MS / 1000})`;
  return count;
}

export async function findInstallation(db: Db, id: string): Promise<InstallationRow | null> {
  const [row] = await db<InstallationRow[]>`
    select ${columns(db)} from package_installations where project = ${PROJECT} and id = ${id}`;
  return row ?? null;
}

export async function listInstallations(
  db: Db,
  { from, limit }: PageRequest<number>,
): Promise<InstallationRow[]> {
  return db<InstallationRow[]>`
    select ${columns(db)} from package_installations
    where project = ${PROJECT} and (${from}::bigint is null or position < ${from})
    order by position desc limit ${limit}`;
}

export async function deleteOldInstallations(db: Db, kept: number): Promise<number> {
  const { count } = await db`
    delete from package_installations where project = ${PROJECT} and state <> 'running' and position <= (
      select position from package_installations where project = ${PROJECT}
      order by position desc offset ${kept} limit 1
    )`;
  return count;
}
