/**
 * One real Postgres for a whole vitest run, however many projects ask for it: started by the first, stopped by the
 * last. A template database is migrated once; database.ts clones it per test file.
 */
import { readdirSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#api/db/embedded.ts";
import { migrate } from "#api/db/migrate.ts";
import { createPool } from "#api/db/pool.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The test server's maintenance database. */
    postgresUrl: string;
  }
}

export const TEMPLATE_DATABASE = "cyrnel_template";
const FOLDER_PREFIX = "cyrnel-test-postgres-";

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
  return async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    delete holder.cyrnelTestPostgres;
    await postgres.stop();
    rmSync(shared.directory, { recursive: true, force: true });
  };
}

function open(): Shared {
  const directory = path.join(tmpdir(), `${FOLDER_PREFIX}${process.pid}`);
  return { users: 0, directory, postgres: start(directory) };
}

async function start(directory: string): Promise<EmbeddedPostgres> {
  await removeAbandoned();
  const postgres = await startEmbeddedPostgres({ directory, durable: false });
  const pool = createPool(postgres.url, { maxConnections: 1 });
  await pool.unsafe(`create database ${TEMPLATE_DATABASE}`);
  await pool.end();
  await migrate(withDatabase(postgres.url, TEMPLATE_DATABASE));
  return postgres;
}

/** The same server, another database. */
export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

/** Stops what a killed test run has left behind: its folder carries the id of a process that is gone. */
async function removeAbandoned(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(FOLDER_PREFIX))) {
    const owner = Number(name.slice(FOLDER_PREFIX.length));
    if (!Number.isInteger(owner) || owner <= 1 || isAlive(owner)) continue;
    const folder = path.join(tmpdir(), name);
    const postmaster = await readFile(path.join(folder, "data", "postmaster.pid"), "utf8").catch(() => "");
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
