/**
 * Finds, starts and stops an embedded Postgres process, identified by postmaster.pid regardless of who started it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, open, readFile, rm, stat, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { PostgresBinaries } from "./binaries.ts";
import { ENVIRONMENT, type Places } from "./cluster.ts";

/** Long enough for a large database's crash recovery. Startup fails after this time. */
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;
const LAST_BREATH_MS = 500;
const POLL_MS = 15;
const MAX_LOG_BYTES = 4 * 1024 * 1024;
const MAX_SOCKET_PATH_BYTES = 100;
export const PORT = 5432;

/**
 * Settings for a single local server: little memory, no replication. Commits wait for the disk (`synchronous_commit`
 * and `fsync` stay on), so acknowledged data survives a crash.
 */
const SETTINGS = {
  listen_addresses: "",
  unix_socket_permissions: "0700",
  max_connections: "60",
  shared_buffers: "64MB",
  wal_level: "minimal",
  max_wal_senders: "0",
  max_logical_replication_workers: "0",
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

export interface RunningServer {
  pid: number;
  socketDirectory: string;
}

/** Returns whether the server whose socket is in this folder accepts our password. */
export type Answers = (socketDirectory: string) => Promise<boolean>;

export async function findRunning(places: Places, answers: Answers): Promise<RunningServer | null> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const found = await readPostmasterFile(places);
    if (found === null || !isAlive(found.pid)) return null;
    if (found.ready && (await answers(found.socketDirectory))) return found;
    if (!found.starting || Date.now() > deadline) {
      // Wait for a server that is shutting down. Any other file predates a reboot, and Postgres itself handles it.
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

/**
 * Reads `postmaster.pid`, which has one fact per line: pid, data folder, start time, port, socket folder, address,
 * shared memory, status.
 */
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

/**
 * Starts a server with its socket in this folder, or in a temporary one. If it does not become ready, throws an Error
 * with the end of its log.
 */
export async function startServer(
  places: Places,
  binaries: PostgresBinaries,
  durable: boolean,
  answers: Answers,
  socketFolder?: string,
): Promise<RunningServer> {
  const socketDirectory = socketFolder ?? (await makeSocketFolder(places));
  const child = await spawnServer(places, binaries, durable, socketDirectory);
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) {
      const other = await findRunning(places, answers);
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

/** Starts Postgres detached, so that Ctrl-C in a terminal reaches only our server, which stops Postgres last. */
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
  // The kernel limits socket paths to about 100 bytes, so a deeply nested project needs a socket in the temporary
  // folder.
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

/**
 * Sends SIGINT for a fast shutdown, then SIGQUIT for an immediate one (Postgres recovers from its log at the next
 * start). If the data folder is gone there is nothing to write, so shuts down immediately.
 */
export async function stopServer(pid: number, places: Places): Promise<void> {
  const file = await readPostmasterFile(places);
  if (!(await isRunning(pid, places))) return;
  for (const signal of file === null ? (["SIGQUIT", "SIGKILL"] as const) : (["SIGINT", "SIGQUIT"] as const)) {
    try {
      process.kill(pid, signal);
    } catch {
      break;
    }
    const deadline = Date.now() + STOP_TIMEOUT_MS;
    while (Date.now() < deadline && (await isRunning(pid, places))) await sleep(POLL_MS);
    if (!(await isRunning(pid, places))) break;
  }
  const deadline = Date.now() + LAST_BREATH_MS;
  while (Date.now() < deadline && isAlive(pid)) await sleep(POLL_MS);
  if (file !== null && path.dirname(file.socketDirectory) === tmpdir()) {
    await rm(file.socketDirectory, { recursive: true, force: true });
  }
}

/**
 * Returns whether Postgres still runs. It removes its pid file last. An adopted Postgres may remain as a zombie, so
 * its pid alone proves nothing. A missing file proves nothing either, because the entire folder may be gone; on Linux
 * the command line then names the folder. Elsewhere Postgres exits within a minute after its folder is gone.
 */
export async function isRunning(pid: number, places: Places): Promise<boolean> {
  if (!isAlive(pid)) return false;
  const file = await readPostmasterFile(places);
  if (file !== null) return file.pid === pid;
  const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return command.includes(`\0-D\0${places.data}\0`);
}
