/**
 * What the runner puts into the system's temporary folder: empty directories for children to stand in, and the canaries of the
 * self-test. Their names hold the server's process id, so that those of a server that was killed are removed by the next one. Made
 * synchronously: each takes less time than handing it to a thread.
 */
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Only process ids of the same namespace tell anything: two containers may share a temporary folder. */
const NAMESPACE = readPidNamespace();
const NAME = /^cyrnel-(?:run|slot|doctor|canary)-(\d+)-(\d+)-\w{6}$/;

export interface Temporary extends AsyncDisposable {
  readonly path: string;
}

/**
 * Makes an empty directory without the right to write, and removes what servers that are gone have left. Disposing removes
 * it, and fails where it is no longer empty.
 */
export async function openEmptyFolder(kind: "run" | "slot" | "doctor"): Promise<Temporary> {
  const path = mkdtempSync(join(tmpdir(), namePrefix(kind)));
  chmodSync(path, 0o500);
  // In the background: no start depends on it.
  setImmediate(removeLeftovers);
  return { path, [Symbol.asyncDispose]: async () => rmdirSync(path) };
}

/** Makes a file that its owner may read and execute; it is no program. Disposing removes it. */
export async function openCanary(): Promise<Temporary> {
  const folder = mkdtempSync(join(tmpdir(), namePrefix("canary")));
  const path = join(folder, "canary");
  writeFileSync(path, "canary", { mode: 0o500 });
  return { path, [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }) };
}

function namePrefix(kind: string): string {
  return `cyrnel-${kind}-${NAMESPACE}-${process.pid}-`;
}

/** Another user's are left alone, and of two servers that start at once one is quicker. */
function removeLeftovers(): void {
  if (NAMESPACE === "0") return;
  for (const name of listTemporary()) {
    const [, namespace, pid] = NAME.exec(name) ?? [];
    if (namespace !== NAMESPACE || existsSync(`/proc/${pid}`)) continue;
    try {
      const path = join(tmpdir(), name);
      rmSync(join(path, "canary"), { force: true });
      rmdirSync(path);
    } catch {
      // Not ours, or gone.
    }
  }
}

function listTemporary(): string[] {
  try {
    return readdirSync(tmpdir());
  } catch {
    return [];
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
