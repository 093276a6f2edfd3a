import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough } from "node:stream";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Database, openDatabase } from "#api/db/database.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#api/db/embedded.ts";
import { type CyrnelServer, openServer } from "#api/server.ts";
import { testConfig } from "./harness/http-app.ts";

/** Generous for a busy machine, and far below what a client would wait. */
const QUICKLY_MS = 5000;

let folder: string;
let postgres: EmbeddedPostgres;
let database: Database;
let server: CyrnelServer;
let url: string;
const start = () => startEmbeddedPostgres({ directory: path.join(folder, "postgres"), durable: false });

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "cyrnel-loss-"));
  postgres = await start();
  const config = testConfig({ PORT: "0", DATABASE_URL: postgres.url, SHUTDOWN_TIMEOUT_MS: "100" });
  database = await openDatabase(config, { onTakenOver: () => {} });
  server = await openServer(config, { database, logger: pino(new PassThrough()), builtins: [] });
  url = await server.listen();
});
afterEach(async () => {
  await server.stop();
  await database[Symbol.asyncDispose]();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
});

async function ask(route: string): Promise<{ status: number; code: string | undefined; tookMs: number }> {
  const begin = performance.now();
  const answer = await fetch(url + route, { signal: AbortSignal.timeout(30_000) });
  const body = (await answer.json()) as { code?: string };
  return { status: answer.status, code: body.code, tookMs: performance.now() - begin };
}

async function readFailing(): Promise<string[]> {
  const answer = (await (await fetch(`${url}/health/ready`)).json()) as { failing?: { check: string }[] };
  return (answer.failing ?? []).map(({ check }) => check);
}

test("a stopped database answers 503 quickly on every request, and works again when it is back", async () => {
  expect(await ask("/processes")).toMatchObject({ status: 200 });
  await postgres.stop();
  for (let attempt = 0; attempt < 5; attempt++) {
    const answer = await ask("/processes");
    expect(answer).toMatchObject({ status: 503, code: "database_unavailable" });
    expect(answer.tookMs).toBeLessThan(QUICKLY_MS);
  }
  await expect.poll(readFailing, { timeout: 20_000 }).toContain("database");
  expect(await ask("/health")).toMatchObject({ status: 200 });

  postgres = await start();
  await expect.poll(async () => (await ask("/processes")).status, { timeout: 20_000 }).toBe(200);
  await expect.poll(readFailing, { timeout: 20_000 }).not.toContain("database");
  expect(database.watch.reachable).toBe(true);
});

test("a database that hangs is noticed: requests are refused at once instead of hanging with it", async () => {
  const stopped = await listServerProcesses();
  for (const pid of stopped) process.kill(pid, "SIGSTOP");
  try {
    await expect.poll(() => database.watch.reachable, { timeout: 30_000 }).toBe(false);
    const answer = await ask("/processes");
    expect(answer).toMatchObject({ status: 503, code: "database_unavailable" });
    expect(answer.tookMs).toBeLessThan(QUICKLY_MS);
  } finally {
    for (const pid of stopped) process.kill(pid, "SIGCONT");
  }
  await expect.poll(async () => (await ask("/processes")).status, { timeout: 30_000 }).toBe(200);
});

/** The postmaster and all its children. */
async function listServerProcesses(): Promise<number[]> {
  const file = await readFile(path.join(folder, "postgres", "data", "postmaster.pid"), "utf8");
  const postmaster = Number(file.split("\n")[0]);
  const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, "utf8");
  return [postmaster, ...children.trim().split(" ").map(Number)];
}
