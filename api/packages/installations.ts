/** Installs packages, one at a time per server: resolve, download, unpack, bundle, try in the environment, store. */
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { createQueue } from "#api/bounds/queue.ts";
import type { Db } from "#api/db/pool.ts";
import { AppError } from "#api/errors.ts";
import type { BundledPackage } from "#runner/packages/bundle.ts";
import type { ModuleLogger } from "#sdk";
import { InstallProblem, type InstallRequest } from "./install/installer.ts";
import { shareHash } from "./install/lock.ts";
import type { InstalledTree, InstallStep, TreeMember } from "./install/messages.ts";
import { endInstallation, type InstallationRow, recordStep } from "./store-installations.ts";
import type { NewPackage } from "./storing.ts";
import type { Trials } from "./trials.ts";

export interface InstallationsOptions {
  db: Db;
  /** Parent folder for each installation's temporary folder. */
  directory: string;
  install(request: InstallRequest): Promise<InstalledTree>;
  bundle(nodeModules: string, name: string): Promise<BundledPackage | { problem: string }>;
  trials: Pick<Trials, "run">;
  isInstalled(name: string, version: string): boolean;
  /** Resolves with the installed version's tree, or null if it is not installed. */
  findTree(name: string, version: string): Promise<readonly TreeMember[] | null>;
  /**
   * Stores a package, which scripts on this server can import once this resolves. Resolves with false if the version
   * was already installed.
   */
  store(pkg: NewPackage): Promise<boolean>;
  onEnd(row: InstallationRow, durationMs: number): void;
  log: Pick<ModuleLogger, "info" | "warn" | "error">;
}

export interface Installations extends AsyncDisposable {
  /** Starts an installation and returns at once. The installation fails if too many are waiting. */
  begin(row: InstallationRow, lock: unknown): void;
  /** Removes folders left by stopped servers. */
  clean(): Promise<void>;
}

/** The signal aborts when the installation was given up. */
interface Progress {
  readonly signal: AbortSignal;
  end(): Promise<void>;
  note(step: InstallStep, done: number, total: number | null): void;
}

const MAX_WAITING = 20;
const NOTED_MS = 500;
const HEARTBEAT_MS = 10_000;
const FOLDER_PREFIX = "install-";
const LEFT_MS = 3_600_000;

export function createInstallations(options: InstallationsOptions): Installations {
  const { db, directory, log } = options;
  const queue = createQueue({
    maxHeld: MAX_WAITING,
    refuse() {
      const message = `${MAX_WAITING} installations are waiting. Try again when one has ended: GET /package-installations.`;
      return new AppError("limit_reached", message);
    },
  });
  const stopped = new AbortController();
  const running = new Set<Promise<void>>();

  async function carryOut(row: InstallationRow, lock: unknown, progress: Progress): Promise<void> {
    const startedMs = performance.now();
    let version: string | null = null;
    let error: string | null = null;
    try {
      version = await installInto(row, lock, progress);
    } catch (thrown) {
      if (thrown instanceof InstallProblem) error = thrown.message;
      else {
        log.error({ err: thrown, package: row.name }, "a package could not be installed");
        error = "The server failed to install it: see its log.";
      }
    }
    await progress.end();
    const ended = await endInstallation(db, row.id, { version, error });
    if (ended !== null) options.onEnd(ended, performance.now() - startedMs);
  }

  async function installInto(row: InstallationRow, lock: unknown, progress: Progress): Promise<string> {
    stopped.signal.throwIfAborted();
    const { name, range } = row;
    if (lock === null && options.isInstalled(name, range)) return range;
    const signal = AbortSignal.any([stopped.signal, progress.signal]);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const folder = await mkdtemp(join(directory, FOLDER_PREFIX));
    try {
      const tree = await options.install({ name, range, lock, folder, signal, onStep: progress.note });
      if (await isThere(options.findTree, row, tree, lock)) return tree.version;
      progress.note("bundling", 0, null);
      const bundled = await options.bundle(join(folder, "node_modules"), name);
      if ("problem" in bundled) throw new InstallProblem(bundled.problem);
      signal.throwIfAborted();
      progress.note("trying", 0, null);
      const problem = await options.trials.run(bundled);
      if (problem !== null) throw new InstallProblem(problem);
      const isStored = await options.store({
        bundled,
        tree,
        source: "registry",
        installedBy: row.createdBy,
      });
      if (!isStored) await isThere(options.findTree, row, tree, lock);
      return tree.version;
    } catch (error) {
      if (signal.aborted)
        throw new InstallProblem("It was given up because the server stopped or was silent for too long.");
      throw error;
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 2 });
    }
  }

  return {
    begin(row, lock) {
      const progress = trackProgress(db, row.id);
      const work = queue
        .run(() => carryOut(row, lock, progress))
        .catch(async (error: unknown) => {
          const message =
            error instanceof AppError
              ? error.message
              : "The outcome of the installation could not be stored.";
          log.warn({ err: error, package: row.name }, "an installation failed");
          await progress.end().catch(() => {});
          await endInstallation(db, row.id, { version: null, error: message }).catch(() => null);
        })
        .finally(() => running.delete(work));
      running.add(work);
    },
    async clean() {
      const names = await readdir(directory).catch(() => []);
      for (const name of names.filter((one) => one.startsWith(FOLDER_PREFIX))) {
        const found = await stat(join(directory, name)).catch(() => null);
        if (found === null || Date.now() - found.mtimeMs < LEFT_MS) continue;
        await rm(join(directory, name), { recursive: true, force: true }).catch(() => {});
      }
    },
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await Promise.all(running);
    },
  };
}

/** Returns whether the version is installed. Throws InstallProblem if it differs from the lock file. */
async function isThere(
  findTree: InstallationsOptions["findTree"],
  { name }: InstallationRow,
  tree: InstalledTree,
  lock: unknown,
): Promise<boolean> {
  const installed = await findTree(name, tree.version);
  if (installed === null) return false;
  const difference = lock === null ? null : findDifference(installed, tree.tree);
  if (difference === null) return true;
  const called = `${name}@${tree.version}`;
  throw new InstallProblem(
    `${called} is installed with a tree that differs from the lock file: ${difference} Remove it (cyrnel packages rm ${called}) and install again.`,
  );
}

/** Stores the latest step at most twice a second. */
function trackProgress(db: Db, id: string): Progress {
  const lost = new AbortController();
  let latest: { step: InstallStep; done: number; total: number | null } = {
    step: "waiting",
    done: 0,
    total: null,
  };
  let noted = latest;
  let notedAtMs = performance.now();
  let writing: Promise<void> | null = null;
  async function write(): Promise<void> {
    noted = latest;
    notedAtMs = performance.now();
    // Keep installing while the database is down.
    if (!(await recordStep(db, id, latest).catch(() => true))) lost.abort();
  }
  const timer = setInterval(() => {
    const isDue = latest !== noted || performance.now() - notedAtMs > HEARTBEAT_MS;
    if (!isDue || writing !== null) return;
    writing = write().finally(() => {
      writing = null;
    });
  }, NOTED_MS);
  return {
    signal: lost.signal,
    note(step: InstallStep, done: number, total: number | null) {
      latest = { step, done, total };
    },
    async end() {
      clearInterval(timer);
      await writing;
      if (latest !== noted && !lost.signal.aborted) await write();
    },
  };
}

/** Describes the first difference. Returns null if both trees have the same packages at the same paths. */
function findDifference(installed: readonly TreeMember[], locked: readonly TreeMember[]): string | null {
  const byPath = new Map(locked.map((member) => [member.path, member]));
  for (const { name, version, path, integrity } of installed) {
    const other = byPath.get(path);
    byPath.delete(path);
    if (other === undefined && name.startsWith("@types/")) continue;
    if (other === undefined) return `it has ${name}@${version} at ${path}, and the lock file does not.`;
    if (other.name !== name || other.version !== version)
      return `it has ${name}@${version} at ${path}, and the lock file ${other.name}@${other.version}.`;
    if (!shareHash(integrity, other.integrity))
      return `its ${name}@${version} has the integrity ${integrity}, that of the lock file ${other.integrity}.`;
  }
  const [more] = byPath.values();
  return more === undefined
    ? null
    : `it does not have ${more.name}@${more.version} at ${more.path}, which the lock file has.`;
}
