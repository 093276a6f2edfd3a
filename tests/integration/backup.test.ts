/**
 * The commands of docs/backup.md for a Postgres of one's own: a dump of a running server, restored into another database,
 * has everything. Where the machine has no Postgres with its own pg_dump, nothing can be tried, and the test is skipped.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type MainProcess, startMain } from "./harness/main-process.ts";
import { SECRETS_KEY } from "./services-server.ts";

const execute = promisify(execFile);
/** Where Debian and its like keep all programs of one version together. */
const VERSIONS = "/usr/lib/postgresql";
const PROGRAMS = ["initdb", "postgres", "pg_isready", "pg_dump", "pg_restore", "createdb"];
const MAX_START_MS = 30_000;

async function findPrograms(): Promise<string | null> {
  const versions = (await readdir(VERSIONS).catch(() => [])).filter((name) => Number(name) >= 15);
  for (const version of versions.sort((a, b) => Number(b) - Number(a))) {
    const folder = path.join(VERSIONS, version, "bin");
    const found = await readdir(folder).catch(() => [] as string[]);
    if (PROGRAMS.every((program) => found.includes(program))) return folder;
  }
  return null;
}

/** Postgres refuses root: then it runs as the user that its package has made, or as nobody. */
async function findUser(): Promise<{ uid: number; gid: number } | null> {
  if (process.getuid?.() !== 0) return null;
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const line = ["postgres", "nobody"].flatMap((name) => lines.filter(([user]) => user === name))[0];
  return line ? { uid: Number(line[2]), gid: Number(line[3]) } : null;
}

const programs = await findPrograms();
let folder: string;
let postgres: ChildProcess | undefined;
const servers: MainProcess[] = [];

const run = (program: string, ...args: string[]) => execute(path.join(programs ?? "", program), args);
const urlOf = (database: string) =>
  `postgres://cyrnel@localhost:5432/${database}?${new URLSearchParams({ host: folder })}`;

beforeAll(async () => {
  if (programs === null) return;
  folder = await mkdtemp(path.join(tmpdir(), "cyrnel-bk-"));
  await chmod(folder, 0o711);
  const user = await findUser();
  const data = path.join(folder, "data");
  await mkdir(data, { mode: 0o700 });
  if (user) {
    await chown(data, user.uid, user.gid);
    await chown(folder, user.uid, user.gid);
  }
  const options = { cwd: "/", ...user };
  const how = ["--username=cyrnel", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"];
  await execute(path.join(programs, "initdb"), [`--pgdata=${data}`, ...how], options);
  const flags = ["-c", "listen_addresses=", "-c", `unix_socket_directories=${folder}`, "-c", "fsync=off"];
  postgres = spawn(path.join(programs, "postgres"), ["-D", data, ...flags], { ...options, stdio: "ignore" });
  const deadline = Date.now() + MAX_START_MS;
  while (Date.now() < deadline) {
    const ready = await run("pg_isready", "-h", folder).catch(() => null);
    if (ready !== null) break;
    await sleep(50);
  }
  await run("createdb", `--maintenance-db=${urlOf("postgres")}`, "cyrnel");
});

afterAll(async () => {
  for (const { child, ended } of servers) {
    child.kill("SIGKILL");
    await ended();
  }
  if (postgres) {
    const ended = new Promise((resolve) => postgres?.once("close", resolve));
    postgres.kill("SIGQUIT");
    await ended;
  }
  if (folder) await rm(folder, { recursive: true, force: true });
});

async function serve(database: string): Promise<{ main: MainProcess; url: string }> {
  const main = startMain({
    environment: {
      DATABASE_URL: urlOf(database),
      CYRNEL_SECRETS_KEY: SECRETS_KEY,
      CYRNEL_DATA_DIR: path.join(folder, "files"),
      SHUTDOWN_TIMEOUT_MS: "100",
    },
  });
  servers.push(main);
  return { main, url: await main.listening() };
}

// biome-ignore lint/suspicious/noExplicitAny: the answers are of every shape
async function ask(method: string, url: string, json?: unknown): Promise<any> {
  const answer = await fetch(url, {
    method,
    ...(json === undefined
      ? {}
      : { body: JSON.stringify(json), headers: { "content-type": "application/json" } }),
  });
  const text = await answer.text();
  expect(answer.status, text).toBeLessThan(300);
  return JSON.parse(text);
}

/** The commands of the page, with the programs of the server's own version first. */
async function typeBlock(index: number): Promise<void> {
  const page = await readFile(new URL("../../docs/backup.md", import.meta.url), "utf8");
  const body = [...page.matchAll(/^```bash postgres\n([\s\S]*?)^```$/gm)][index]?.[1];
  expect(body).toBeDefined();
  await execute("bash", ["-euc", body as string], {
    cwd: folder,
    env: {
      PATH: `${programs}:${process.env.PATH}`,
      DATABASE_URL: urlOf("cyrnel"),
      RESTORED_URL: urlOf("cyrnel_restored"),
    },
  });
}

test.skipIf(programs === null)(
  "a dump of a running server, restored, has runs, services, secrets, policies and the trail (skipped without pg_dump)",
  { retry: 0 },
  async () => {
    const first = await serve("cyrnel");
    const script = { code: "console.log('kept'); return { n: 1 }", block: true, ref: "kept" };
    const done = await ask("POST", `${first.url}/processes`, script);
    await ask("POST", `${first.url}/services`, { id: "board", adapter: "demo", content: "{}" });
    await ask("PATCH", `${first.url}/services/board/secrets`, [
      { op: "add", path: "/signature", value: "a long signature" },
    ]);
    await ask("POST", `${first.url}/services/board/enabled`, { enabled: true });
    await ask("POST", `${first.url}/policies`, {
      servicePattern: "board",
      toolPattern: "clear*",
      decision: "block",
    });
    const endless = await ask("POST", `${first.url}/processes`, {
      code: "for (;;);",
      options: { timeout: null },
    });
    await expect
      .poll(async () => (await ask("GET", `${first.url}/processes/${endless.id}`)).state)
      .toBe("running");

    await typeBlock(0);
    expect((await stat(path.join(folder, "cyrnel.dump"))).size).toBeGreaterThan(1000);
    first.main.child.kill("SIGTERM");
    await first.main.ended();
    await typeBlock(1);

    const second = await serve("cyrnel_restored");
    expect(await ask("GET", `${second.url}/processes/${done.id}`)).toMatchObject({
      ref: "kept",
      exitState: "success",
      stdout: "kept\n",
      result: { n: 1 },
    });
    // Enabled with its secrets: those that cannot be opened are an error of the service.
    expect(await ask("GET", `${second.url}/services/board`)).toMatchObject({
      effectivelyEnabled: true,
      error: null,
    });
    expect(JSON.stringify(await ask("GET", `${second.url}/services/board/secrets`))).toContain("/signature");
    expect((await ask("GET", `${second.url}/policies`)).policies).toMatchObject([
      { toolPattern: "clear*", decision: "block" },
    ]);
    const { records } = await ask("GET", `${second.url}/audit?limit=200`);
    expect(records.map(({ action }: { action: string }) => action)).toEqual(
      expect.arrayContaining(["service.install", "policy.create"]),
    );
    // Runs that were active when the dump was taken have no owner now.
    await expect
      .poll(async () => (await ask("GET", `${second.url}/processes/${endless.id}`)).reason, {
        timeout: 25_000,
      })
      .toBe("interrupted");
    const again = await ask("POST", `${second.url}/processes`, {
      code: "return await tools.board.listTasks({})",
      block: true,
    });
    expect(again).toMatchObject({ exitState: "success", result: { tasks: expect.any(Array) } });
  },
);
