import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#api/db/embedded.ts";
import { createPool } from "#api/db/pool.ts";

let folder: string;
let directory: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "cyrnel-embedded-"));
  await chmod(folder, 0o711);
  directory = path.join(folder, "postgres");
});
afterEach(async () => {
  const left = await listProcesses(folder);
  await rm(folder, { recursive: true, force: true });
  expect(left).toEqual([]);
});

async function listProcesses(argument: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid,stat,args"]);
  return stdout.split("\n").filter((line) => line.includes(argument) && !/^\s*\d+ Z/.test(line));
}

async function query(postgres: EmbeddedPostgres, text: string): Promise<Record<string, unknown>[]> {
  const pool = createPool(postgres.url, { maxConnections: 1 });
  try {
    return [...(await pool.unsafe(text))];
  } finally {
    await pool.end();
  }
}

test("data survives a stop; commits wait for the disk", async () => {
  const first = await startEmbeddedPostgres({ directory });
  await query(first, "create table kept as select 7 as n");
  expect(await query(first, "show fsync")).toEqual([{ fsync: "on" }]);
  expect(await query(first, "show synchronous_commit")).toEqual([{ synchronous_commit: "on" }]);
  await first.stop();
  await first.stop();
  await using second = await startEmbeddedPostgres({ directory });
  expect(second.adopted).toBe(false);
  expect(await query(second, "select n from kept")).toEqual([{ n: 7 }]);
});

test("a Postgres that was left running is adopted, and stopped by who adopted it", async () => {
  const first = await startEmbeddedPostgres({ directory });
  const second = await startEmbeddedPostgres({ directory });
  expect([first.adopted, second.adopted]).toEqual([false, true]);
  expect(second.url).toBe(first.url);
  await second.stop();
});

test("a Postgres that was killed recovers at the next start", async () => {
  const first = await startEmbeddedPostgres({ directory });
  await query(first, "create table kept as select 7 as n");
  const pid = Number((await readFile(path.join(directory, "data", "postmaster.pid"), "utf8")).split("\n")[0]);
  process.kill(pid, "SIGKILL");
  await expect.poll(() => listProcesses(directory), { timeout: 20_000 }).toEqual([]);
  await using second = await startEmbeddedPostgres({ directory });
  expect(await query(second, "select n from kept")).toEqual([{ n: 7 }]);
});

test("two servers that start at the same time share one cluster", async () => {
  const both = await Promise.all([
    startEmbeddedPostgres({ directory }),
    startEmbeddedPostgres({ directory }),
  ]);
  expect(both[0]?.url).toBe(both[1]?.url);
  expect(await query(both[1] as EmbeddedPostgres, "select 1 as one")).toEqual([{ one: 1 }]);
  await both[0]?.stop();
  expect(await readdir(directory)).not.toContainEqual(expect.stringMatching(/^new-/));
});

test("the password is in one file that only its owner reads, and on no command line", async () => {
  await using _postgres = await startEmbeddedPostgres({ directory });
  const file = path.join(directory, "password");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
  const password = (await readFile(file, "utf8")).trim();
  expect(password.length).toBeGreaterThanOrEqual(32);
  expect(await listProcesses(password)).toEqual([]);
});

test("it listens on no network port, and refuses a wrong password", async () => {
  await using postgres = await startEmbeddedPostgres({ directory });
  expect(await query(postgres, "show listen_addresses")).toEqual([{ listen_addresses: "" }]);
  const wrong = new URL(postgres.url);
  wrong.password = "wrong";
  const pool = createPool(wrong.href, { maxConnections: 1 });
  await expect(pool`select 1`).rejects.toThrow(/password authentication failed/);
  await pool.end();
});

test("data of another major version is refused with both versions named", async () => {
  await (await startEmbeddedPostgres({ directory })).stop();
  await writeFile(path.join(directory, "data", "PG_VERSION"), "12\n");
  await expect(startEmbeddedPostgres({ directory })).rejects.toThrow(
    /Postgres 12; the embedded Postgres is version 18/,
  );
});

test.runIf(process.getuid?.() === 0)(
  "root can keep it below a folder that no other user may enter",
  async () => {
    await chmod(folder, 0o700);
    await using postgres = await startEmbeddedPostgres({ directory });
    expect(await query(postgres, "select 1 as one")).toEqual([{ one: 1 }]);
    const owner = (await stat(path.join(directory, "data"))).uid;
    expect(owner).not.toBe(0);
  },
);

test("a project path that is too long for a socket works as well", async () => {
  directory = path.join(folder, "a-rather-long-name".repeat(6), "postgres");
  await using postgres = await startEmbeddedPostgres({ directory });
  expect(await query(postgres, "select 1 as one")).toEqual([{ one: 1 }]);
});

test("a Postgres whose folder was removed is stopped all the same", async () => {
  const postgres = await startEmbeddedPostgres({ directory });
  await rm(directory, { recursive: true, force: true });
  await postgres.stop();
  expect(await listProcesses(folder)).toEqual([]);
});
