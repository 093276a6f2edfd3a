/** One Postgres with a database for each size: measured in turns, they all see the same moments of the machine. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startEmbeddedPostgres } from "#api/db/embedded.ts";
import { migrate } from "#api/db/migrate.ts";
import { createPool, type Pool } from "#api/db/pool.ts";
import { insertTools } from "../tools/tools-data.ts";
import { insertProcesses } from "./rows.ts";

const SERVICES = 100;
const TOOLS_PER_SERVICE = 100;

export interface FilledDatabase {
  size: number;
  url: string;
  pool: Pool;
}

/** With `directory` the data stays there, and is used again; without, it is removed in the end. */
export async function openDatabases(
  sizes: readonly number[],
  directory: string | null,
): Promise<{ databases: FilledDatabase[] } & AsyncDisposable> {
  await using undo = new AsyncDisposableStack();
  const folder = directory ?? (await mkdtemp(path.join(tmpdir(), "cyrnel-bench-growth-")));
  if (directory === null) undo.defer(() => rm(folder, { recursive: true, force: true }));
  const postgres = undo.use(
    await startEmbeddedPostgres({ directory: path.join(folder, "postgres"), durable: false }),
  );
  const databases: FilledDatabase[] = [];
  for (const size of sizes) {
    const url = await ensureFilled(postgres.url, size);
    const pool = createPool(url, { maxConnections: 1 });
    undo.defer(() => pool.end({ timeout: 5 }));
    databases.push({ size, url, pool });
  }
  const close = undo.move();
  return { databases, [Symbol.asyncDispose]: () => close.disposeAsync() };
}

async function ensureFilled(server: string, size: number): Promise<string> {
  await ensureDatabase(server, "growth_tools", "template1", fillTools);
  return ensureDatabase(server, `growth_${size}`, "growth_tools", (url) => fillProcesses(url, size));
}

/** Filled under another name first: a database that is there is whole. */
async function ensureDatabase(
  server: string,
  name: string,
  template: string,
  fill: (url: string) => Promise<void>,
): Promise<string> {
  const maintenance = createPool(server, { maxConnections: 1, statementTimeoutMs: 0 });
  try {
    const [found] = await maintenance`select from pg_database where datname = ${name}`;
    if (found) {
      await migrate(withDatabase(server, name));
      return withDatabase(server, name);
    }
    await maintenance.unsafe(`drop database if exists ${name}_filling`);
    await maintenance.unsafe(`create database ${name}_filling template ${template}`);
    await fill(withDatabase(server, `${name}_filling`));
    await maintenance.unsafe(`alter database ${name}_filling rename to ${name}`);
    return withDatabase(server, name);
  } finally {
    await maintenance.end({ timeout: 5 });
  }
}

async function fillTools(url: string): Promise<void> {
  await migrate(url);
  const pool = createPool(url, { maxConnections: 1, statementTimeoutMs: 0 });
  try {
    await insertTools(pool, SERVICES * TOOLS_PER_SERVICE, TOOLS_PER_SERVICE);
  } finally {
    await pool.end({ timeout: 5 });
  }
}

async function fillProcesses(url: string, size: number): Promise<void> {
  const pool = createPool(url, { maxConnections: 1, statementTimeoutMs: 0 });
  try {
    const start = performance.now();
    await insertProcesses(pool, size);
    const [bytes] = await pool<{ mb: number }[]>`
      select (pg_database_size(current_database()) / 1048576)::int as mb`;
    const seconds = ((performance.now() - start) / 1000).toFixed(0);
    process.stderr.write(`${size} processes: ${bytes?.mb} MiB, filled in ${seconds} s\n`);
  } finally {
    await pool.end({ timeout: 5 });
  }
}

function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}
