/**
 * What the runner puts into the system's temporary folder: empty directories for children to stand in, and the canaries of the
 * self-test. Their names say whose they are, so that those of a server that was killed are removed by the next one.
 */
import { existsSync, readlinkSync } from "node:fs";
import { chmod, mkdtemp, readdir, rm, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Only process ids of the same namespace tell anything: two containers may share a temporary folder. */
const NAMESPACE = readPidNamespace();
const NAME = /^cyrnel-(?:run|slot|doctor|canary)-(\d+)-(\d+)-\w{6}$/;

export interface Temporary extends AsyncDisposable {
  readonly path: string;
}

/**
 * Makes an empty directory that nobody can write to, and removes what servers that are gone have left. Disposing removes it,
 * whatever is in it by then stays.
 */
export async function openEmptyFolder(kind: "run" | "slot" | "doctor"): Promise<Temporary> {
  const [path] = await Promise.all([mkdtemp(join(tmpdir(), namePrefix(kind))), removeLeftovers()]);
  await chmod(path, 0o500);
  return { path, [Symbol.asyncDispose]: () => rmdir(path) };
}

/** Makes a file that its owner may read and execute; it is no program. Disposing removes it. */
export async function openCanary(): Promise<Temporary> {
  const folder = await mkdtemp(join(tmpdir(), namePrefix("canary")));
  const path = join(folder, "canary");
  await writeFile(path, "canary", { mode: 0o500 });
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

function namePrefix(kind: string): string {
  return `cyrnel-${kind}-${NAMESPACE}-${process.pid}-`;
}

/** Never rejects: another user's are left alone, and of two servers that start at once one is quicker. */
async function removeLeftovers(): Promise<void> {
  if (NAMESPACE === "0") return;
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names) {
    const [, namespace, pid] = NAME.exec(name) ?? [];
    if (namespace !== NAMESPACE || existsSync(`/proc/${pid}`)) continue;
    const path = join(tmpdir(), name);
    await rm(join(path, "canary"), { force: true }).catch(() => {});
    await rmdir(path).catch(() => {});
  }
}

/** 0 where there is no /proc: nothing is removed there either. */
function readPidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    return "0";
  }
}
