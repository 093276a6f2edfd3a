/**
 * One real Postgres for a whole vitest run, however many projects ask for it: started by the first, stopped by the
 * last. What a first start takes seconds for is made once: a migrated database, which database.ts clones per test file,
 * and the data of a server that has been started and stopped, which main-process.ts copies.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#api/db/embedded.ts";
import { migrate } from "#api/db/migrate.ts";
import { createPool } from "#api/db/pool.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The test server's maintenance database. */
    postgresUrl: string;
    /** The folder of an embedded Postgres that has been migrated and stopped. */
    usedPostgres: string;
  }
}

export const TEMPLATE_DATABASE = "cyrnel_template";
const USED = "used";
const FOLDER_PREFIX = "cyrnel-test-postgres-";
/**
 * Where there is room for it, in memory: a database is hundreds of files, and to make and remove them on a disk takes
 * several times the processor time. A container often has 64 MB there.
 */
const MEMORY = "/dev/shm";
const MIN_MEMORY_BYTES = 4 * 1024 ** 3;
const PLACE = hasRoom(MEMORY) ? MEMORY : tmpdir();

interface Shared {
  users: number;
  postgres: Promise<EmbeddedPostgres>;
  directory: string;
}
const holder = globalThis as typeof globalThis & { cyrnelTestPostgres?: Shared };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  holder.cyrnelTestPostgres ??= open();
  const shared = holder.cyrnelTestPostgres;
  shared.users += 1;
  const postgres = await shared.postgres;
  project.provide("postgresUrl", postgres.url);
  project.provide("usedPostgres", path.join(shared.directory, USED));
  return async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    delete holder.cyrnelTestPostgres;
    await postgres.stop();
    rmSync(shared.directory, { recursive: true, force: true });
  };
}

function open(): Shared {
  const directory = path.join(PLACE, `${FOLDER_PREFIX}${process.pid}`);
  return { users: 0, directory, postgres: start(directory) };
}

async function start(directory: string): Promise<EmbeddedPostgres> {
  await removeAbandoned();
  const used = await startEmbeddedPostgres({ directory: path.join(directory, USED), durable: false });
  await migrate(used.url);
  // A connection spends a quarter of its start on the 4096 rounds of its password's hash; tests open thousands.
  await administer(
    used.url,
    `set scram_iterations = 1; alter role cyrnel password '${new URL(used.url).password}'`,
  );
  await used.stop();
  const running = path.join(directory, "running");
  await promisify(execFile)("cp", ["-a", path.join(directory, USED), running]);
  const postgres = await startEmbeddedPostgres({ directory: running, durable: false });
  await administer(
    withDatabase(postgres.url, "postgres"),
    `create database ${TEMPLATE_DATABASE} template cyrnel`,
  );
  return postgres;
}

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= MIN_MEMORY_BYTES;
}

/** Runs statements on a database that is not one test's alone. */
export async function administer(server: string, statements: string): Promise<void> {
  const pool = createPool(server, { maxConnections: 1 });
  try {
    await pool.unsafe(statements);
  } finally {
    await pool.end({ timeout: 1 });
  }
}

/** The same server, another database. */
export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

/** Stops what a killed test run has left behind: its folder carries the id of a process that is gone. */
async function removeAbandoned(): Promise<void> {
  for (const name of readdirSync(PLACE).filter((entry) => entry.startsWith(FOLDER_PREFIX))) {
    const owner = Number(name.slice(FOLDER_PREFIX.length));
    if (!Number.isInteger(owner) || owner <= 1 || isAlive(owner)) continue;
    const folder = path.join(PLACE, name);
    const postmaster = await readFile(path.join(folder, "running/data/postmaster.pid"), "utf8").catch(
      () => "",
    );
    const pid = Number(postmaster.split("\n")[0]);
    if (pid > 1 && isAlive(pid)) {
      const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      if (!command.includes(folder)) continue;
      process.kill(pid, "SIGQUIT");
    }
    rmSync(folder, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
