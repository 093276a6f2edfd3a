/**
 * The runner's files in the system's temporary folder: empty working directories for children, and canaries of the
 * self-test. Names contain the server's process id, so that the next server removes the files of a killed one.
 * Created synchronously, which is faster than handing the work to a thread.
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

/** Process ids are unique only within a namespace, and two containers may share a temporary folder. */
const NAMESPACE = readPidNamespace();
const NAME = /^cyrnel-(?:run|slot|doctor|canary)-(\d+)-(\d+)-\w{6}$/;

export interface Temporary extends AsyncDisposable {
  readonly path: string;
}

/**
 * Creates an empty read-only directory, and removes leftovers of servers that are gone. Disposing removes it, and
 * fails if it is no longer empty.
 */
export async function openEmptyFolder(kind: "run" | "slot" | "doctor"): Promise<Temporary> {
  const path = mkdtempSync(join(tmpdir(), namePrefix(kind)));
  chmodSync(path, 0o500);
  // Deferred, because no start depends on it.
  setImmediate(removeLeftovers);
  return { path, [Symbol.asyncDispose]: async () => rmdirSync(path) };
}

/** Creates an executable file that is not a program. Disposing removes it. */
export async function openCanary(): Promise<Temporary> {
  const folder = mkdtempSync(join(tmpdir(), namePrefix("canary")));
  const path = join(folder, "canary");
  writeFileSync(path, "canary", { mode: 0o500 });
  return { path, [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }) };
}

function namePrefix(kind: string): string {
  return `cyrnel-${kind}-${NAMESPACE}-${process.pid}-`;
}

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
      // Owned by another user, or gone.
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

/** Returns 0 without /proc, where no leftovers are removed either. */
function readPidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    return "0";
  }
}
