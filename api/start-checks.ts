/**
 * Startup checks for problems that would otherwise surface only after a database and keys were created, and
 * explanations of why a start failed.
 */
import { once } from "node:events";
import { mkdir, mkdtemp, rmdir, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Config } from "./config.ts";

/**
 * A folder that cannot be used, so another start with the same settings would fail too. The message is for the
 * operator.
 */
export class UnusableFolder extends Error {
  override readonly name = "UnusableFolder";
}

/** Rejects like `listen`, for example with code `EADDRINUSE`. */
export async function requireFreePort({ host, port }: Pick<Config, "host" | "port">): Promise<void> {
  if (port === 0) return;
  const server = createServer().listen({ host, port });
  await once(server, "listening");
  server.close();
  await once(server, "close");
}

/** Creates missing folders. Throws UnusableFolder. */
export async function requireFolders({
  databaseUrl,
  dataDirectory,
  spoolDirectory,
}: Pick<Config, "databaseUrl" | "dataDirectory" | "spoolDirectory">): Promise<void> {
  const toWritable = "to a folder that this user may write to";
  if (databaseUrl === null) {
    const remedy = `Set CYRNEL_DATA_DIR ${toWritable}, or DATABASE_URL to your own Postgres`;
    await requireFolder("data directory", dataDirectory, remedy);
  }
  await requireFolder("spool directory", spoolDirectory ?? tmpdir(), `Set CYRNEL_SPOOL_DIR ${toWritable}`);
}

async function requireFolder(name: string, directory: string, remedy: string): Promise<void> {
  const whole = path.resolve(directory);
  try {
    await makeStepByStep(whole);
    await rmdir(await mkdtemp(path.join(whole, ".writable-")));
  } catch (error) {
    const reason = describe(error as NodeJS.ErrnoException);
    throw new UnusableFolder(`The ${name} ${whole} cannot be used: ${reason}. ${remedy}.`, { cause: error });
  }
}

/**
 * Creates one level at a time, because Node's recursive `mkdir` never returns below /proc, where no folder can be
 * created.
 */
async function makeStepByStep(directory: string): Promise<void> {
  const missing: string[] = [];
  let at = directory;
  for (;;) {
    const found = await stat(at).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
    if (found?.isDirectory()) break;
    if (found !== null) throw Object.assign(new Error(), { code: "ENOTDIR", path: at });
    missing.push(at);
    at = path.dirname(at);
  }
  for (const folder of missing.reverse()) {
    // Others may traverse the folder, because Postgres may run as a user other than root, but not list it.
    await mkdir(folder, { mode: 0o711 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

function describe({ code, path: where = "it", message }: NodeJS.ErrnoException): string {
  switch (code) {
    case "ENOTDIR":
    case "EEXIST":
      return `${where} is not a folder`;
    case "EROFS":
      return "it is on a read-only file system";
    case "EACCES":
    case "EPERM":
      return `this user may not write to ${path.dirname(where)}`;
    case "ENOENT":
      return `no folder can be created in ${path.dirname(where)}`;
    case "ENOSPC":
      return "its disk is full";
    default:
      return message;
  }
}

/** Returns the message for the operator. */
export function describeStartFailure(error: unknown, { host, port }: Pick<Config, "host" | "port">): string {
  if (!(error instanceof Error)) return String(error);
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") {
    return `Cannot start: ${host}:${port} is in use by another program, perhaps another Cyrnel server. Set PORT to a free port (0 takes any).`;
  }
  if (code === "EACCES" && syscall === "listen") {
    return `Cannot start: this user may not listen on port ${port}. Set PORT to 1024 or higher.`;
  }
  if (code === "EADDRNOTAVAIL" || syscall === "getaddrinfo") {
    return `Cannot start: this machine has no address ${host}. Set HOST to one of its addresses: 127.0.0.1 for this machine only, 0.0.0.0 for all.`;
  }
  return `Cannot start: ${error.message}`;
}
