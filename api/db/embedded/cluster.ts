/** Creates an embedded Postgres's folder, password and cluster, once. Starts no server. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chown, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { chooseIdentity, type PostgresBinaries, type PostgresIdentity } from "./binaries.ts";

export const USER = "cyrnel";
export const ENVIRONMENT = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };
const SETUP_TIMEOUT_MS = 60_000;
/** Leftovers older than this come from a killed server; younger ones may still be in progress. */
const MAX_UNFINISHED_AGE_MS = 10 * 60_000;

export interface Places {
  root: string;
  data: string;
  password: string;
  log: string;
  identity: PostgresIdentity | null;
}

export async function prepareFolder(root: string, binaries: PostgresBinaries): Promise<Places> {
  // Let other users traverse the data directory, because Postgres may run as one, but not list it.
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

/** Returns the password, stored in a file of mode 0600. It never appears on a command line. */
export async function ensurePassword(places: Places): Promise<string> {
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

/** Creates the cluster next to its final location and then renames it, so that an unfinished one is never started. */
export async function ensureCluster(
  places: Places,
  binaries: PostgresBinaries,
  durable: boolean,
  onMake: () => void = () => {},
): Promise<void> {
  const version = await readFile(path.join(places.data, "PG_VERSION"), "utf8").catch(() => null);
  if (version !== null) {
    await refuseOtherMajor(version.trim(), binaries, places);
    return;
  }
  onMake();
  await removeUnfinished(places);
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
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

async function removeUnfinished(places: Places): Promise<void> {
  for (const name of await readdir(places.root)) {
    if (!name.startsWith("new-")) continue;
    const folder = path.join(places.root, name);
    const found = await stat(folder).catch(() => null);
    if (found && Date.now() - found.mtimeMs > MAX_UNFINISHED_AGE_MS)
      await rm(folder, { recursive: true, force: true });
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
    await promisify(execFile)(file, args, { ...user, env: ENVIRONMENT, cwd: "/", timeout: SETUP_TIMEOUT_MS });
  } catch (error) {
    const { stderr = "", message } = error as Error & { stderr?: string };
    throw new Error(`Postgres could not be set up: ${(stderr.trim() || message).slice(-2000)}`, {
      cause: error,
    });
  }
}
