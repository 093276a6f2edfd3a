/**
 * One control group per run, where the server may write a part of the cgroup tree: version 2 delegated to it, or version 1.
 * Limits are then exact and hold for everything in the group; where there is none, `openCgroups` says why.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  write,
  writeFileSync,
} from "node:fs";
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import {
  type CgroupSources,
  CONTROLLERS,
  type Controller,
  findOwnGroup,
  readSources,
} from "./cgroup-tree.ts";

/** What one run's group may use, everything in it together. */
export interface GroupLimits {
  memoryBytes: number;
  /** Processes and threads. */
  maxThreads: number;
  /** Thousandths of one CPU; null: as many as there are. */
  cpuMillis: number | null;
}

export interface RunGroup {
  /** As /proc/<pid>/cgroup names it, for whoever wants to see from outside that a process is in it. */
  readonly name: string;
  /** Sets what those in it may use; rejects when the kernel refuses. */
  limit(limits: GroupLimits): Promise<void>;
  /**
   * Moves a process into it; rejects when the kernel refuses. Waits for the whole kernel, up to 25 ms, hardly any of it
   * work: do it while the child boots, never between a run and its start.
   */
  admit(pid: number): Promise<void>;
  /** How often the kernel has killed in this group for want of memory, since it was made. */
  countMemoryKills(): Promise<number>;
  /** SIGKILL to everything in it. */
  kill(): Promise<void>;
  /** Removes the group once it is empty; gives up after a second and leaves it to the next start of a server. */
  remove(): Promise<void>;
}

export interface Cgroups extends Disposable {
  version: 1 | 2;
  /** Where the groups are made. */
  path: string;
  /** Makes a group; rejects when the kernel refuses. */
  make(name: string): Promise<RunGroup>;
  /** Removes what is empty. */
  [Symbol.dispose](): void;
}

export interface CgroupsAbsent {
  version: 0;
  reason: string;
  fix: string;
}

/** How groups are made: by threads, because the kernel may let whoever makes one wait while it moves a process; or at once. */
export interface GroupFiles {
  mkdir(path: string): Promise<unknown>;
  writeFile(path: string, text: string): Promise<void>;
}

/** A thread for each step takes four times as long as the step: for a program that makes one group. */
export const AT_ONCE: GroupFiles = {
  mkdir: async (path) => mkdirSync(path),
  writeFile: async (path, text) => writeFileSync(path, text),
};

/** The folder of one wall's groups: the process that made it, and which of its walls. */
const ROOT_NAME = /^cyrnel-(\d+)-\d+$/;
const CPU_PERIOD_US = 100_000;
let wallCount = 0;
const REMOVE_TRIES = 20;
const REMOVE_INTERVAL_MS = 50;
const FIX =
  "delegate a cgroup v2 subtree with memory, pids and cpu to the server (systemd: Delegate=yes, DelegateSubgroup=server); without it limits come from rlimits and the monitor";

/** Looks for a writable part of the tree and changes nothing; absence is an answer, not an error. */
export function findCgroups(sources: CgroupSources = readSources()): { version: 1 | 2 } | CgroupsAbsent {
  return firstOf<{ version: 1 | 2 }>([findVersion2, findVersion1], sources);
}

/** Looks for a writable part of the tree and prepares it; absence is an answer, not an error. */
export function openCgroups(
  sources: CgroupSources = readSources(),
  files: GroupFiles = { mkdir, writeFile },
): Cgroups | CgroupsAbsent {
  const open2 = (from: CgroupSources) => openVersion2(from, files);
  return firstOf([open2, (from) => openVersion1(from, files)], sources);
}

function firstOf<T>(ways: ((sources: CgroupSources) => T)[], sources: CgroupSources): T | CgroupsAbsent {
  const reasons: string[] = [];
  for (const way of ways) {
    try {
      return way(sources);
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  return { version: 0, reason: reasons.join("; "), fix: FIX };
}

/** `isSubgroup`: the server is in a group beside those of the runs already. Throws when there is none. */
function findVersion2(sources: CgroupSources): { version: 2; base: string; isSubgroup: boolean } {
  const { path: own, isTop } = findOwnGroup(sources, null);
  const available = readFileSync(join(own, "cgroup.controllers"), "latin1").trim().split(" ");
  const missing = CONTROLLERS.filter((controller) => !available.includes(controller));
  if (missing.length > 0) throw new Error(`cgroup v2 at ${own} lacks ${missing.join(", ")}`);
  // What root can write may still be somebody else's, such as the session it was started from: that is left alone.
  const isSubgroup = basename(own) === "server";
  if (!isSubgroup && !isTop && process.getuid?.() === 0) {
    throw new Error(`cgroup v2 at ${own} is not known to be delegated to the server`);
  }
  const base = isSubgroup ? dirname(own) : own;
  accessSync(base, constants.W_OK);
  return { version: 2, base, isSubgroup };
}

function openVersion2(sources: CgroupSources, files: GroupFiles): Cgroups {
  const { base, isSubgroup } = findVersion2(sources);
  // A group with processes of its own cannot limit groups below it: the server moves into one beside the runs.
  if (!isSubgroup) {
    mkdirSync(join(base, "server"), { recursive: true });
    writeFileSync(join(base, "server", "cgroup.procs"), `${process.pid}`);
  }
  const enable = CONTROLLERS.map((controller) => `+${controller}`).join(" ");
  writeFileSync(join(base, "cgroup.subtree_control"), enable);
  removeLeftovers(base);
  const root = join(base, nameRoot());
  mkdirSync(root);
  writeFileSync(join(root, "cgroup.subtree_control"), enable);

  return {
    version: 2,
    path: root,
    async make(name) {
      const group = join(root, name);
      await files.mkdir(group);
      return {
        name: join(basename(root), name),
        async limit({ memoryBytes, maxThreads, cpuMillis }) {
          await writeOptional(files, join(group, "memory.swap.max"), "0");
          await writeOptional(files, join(group, "memory.oom.group"), "1");
          await files.writeFile(join(group, "memory.max"), `${memoryBytes}`);
          await files.writeFile(join(group, "pids.max"), `${maxThreads}`);
          if (cpuMillis !== null) {
            await files.writeFile(join(group, "cpu.max"), `${quota(cpuMillis)} ${CPU_PERIOD_US}`);
          }
        },
        admit: (pid) => writeAtOnce(join(group, "cgroup.procs"), `${pid}`),
        countMemoryKills: () => countMemoryKills(join(group, "memory.events")),
        kill: () => writeFile(join(group, "cgroup.kill"), "1"),
        remove: () => removeSoon([group]),
      };
    },
    [Symbol.dispose]: () => removeEmpty([root]),
  };
}

/** The server's own folder, by controller. Throws when nothing can be made in one of them. */
function findVersion1(sources: CgroupSources): { version: 1; roots: Map<Controller, string> } {
  const roots = new Map<Controller, string>();
  for (const controller of CONTROLLERS) {
    const { path: own } = findOwnGroup(sources, controller);
    accessSync(own, constants.W_OK);
    roots.set(controller, own);
  }
  return { version: 1, roots };
}

function openVersion1(sources: CgroupSources, files: GroupFiles): Cgroups {
  const { roots: owned } = findVersion1(sources);
  const rootName = nameRoot();
  for (const own of new Set(owned.values())) removeLeftovers(own);
  const roots = new Map([...owned].map(([controller, own]) => [controller, join(own, rootName)]));
  for (const root of roots.values()) mkdirSync(root, { recursive: true });
  const at = (controller: Controller, ...path: string[]) => join(roots.get(controller) ?? "", ...path);

  return {
    version: 1,
    path: at("memory"),
    async make(name) {
      const groups = [...new Set(CONTROLLERS.map((controller) => at(controller, name)))];
      for (const group of groups) await files.mkdir(group);
      return {
        name: join(rootName, name),
        async limit({ memoryBytes, maxThreads, cpuMillis }) {
          await setMemory(files, at("memory", name), memoryBytes);
          await writeOptional(files, at("memory", name, "memory.swappiness"), "0");
          await files.writeFile(at("pids", name, "pids.max"), `${maxThreads}`);
          if (cpuMillis !== null) {
            await files.writeFile(at("cpu", name, "cpu.cfs_period_us"), `${CPU_PERIOD_US}`);
            await files.writeFile(at("cpu", name, "cpu.cfs_quota_us"), `${quota(cpuMillis)}`);
          }
        },
        async admit(pid) {
          await Promise.all(groups.map((group) => writeAtOnce(join(group, "cgroup.procs"), `${pid}`)));
        },
        countMemoryKills: () => countMemoryKills(at("memory", name, "memory.oom_control")),
        kill: async () => killMembers(at("pids", name)),
        remove: () => removeSoon(groups),
      };
    },
    [Symbol.dispose]: () => removeEmpty([...new Set(roots.values())]),
  };
}

/** Memory, and memory with swap together where the kernel counts it. The second must never be below the first. */
async function setMemory(files: GroupFiles, group: string, memoryBytes: number): Promise<void> {
  const memory = join(group, "memory.limit_in_bytes");
  const withSwap = join(group, "memory.memsw.limit_in_bytes");
  try {
    await files.writeFile(memory, `${memoryBytes}`);
    await writeOptional(files, withSwap, `${memoryBytes}`);
  } catch (error) {
    // More than the second allows at present: that one goes up first.
    if ((error as NodeJS.ErrnoException).code !== "EINVAL") throw error;
    await files.writeFile(withSwap, `${memoryBytes}`);
    await files.writeFile(memory, `${memoryBytes}`);
  }
}

function nameRoot(): string {
  wallCount += 1;
  return `cyrnel-${process.pid}-${wallCount}`;
}

/** Empty folders of servers that were killed. One with a process in it cannot be removed. */
function removeLeftovers(base: string): void {
  for (const name of readdirSync(base)) {
    const pid = ROOT_NAME.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    const root = join(base, name);
    const groups = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    removeEmpty([...groups.map((group) => join(root, group.name)), root]);
  }
}

async function countMemoryKills(events: string): Promise<number> {
  return Number(/^oom_kill (\d+)$/m.exec(await readFile(events, "latin1"))?.[1] ?? "0");
}

async function removeSoon(groups: readonly string[]): Promise<void> {
  for (let tries = 0; tries < REMOVE_TRIES; tries += 1) {
    const left = await Promise.all(groups.map((group) => rmdir(group).then(() => false, isStillThere)));
    if (!left.includes(true)) return;
    await delay(REMOVE_INTERVAL_MS);
  }
}

function isStillThere(error: NodeJS.ErrnoException): boolean {
  return error.code !== "ENOENT";
}

function quota(cpuMillis: number): number {
  return Math.max(1000, Math.round((cpuMillis * CPU_PERIOD_US) / 1000));
}

/** Reads at once: the list is in memory, and a thread for it costs four times as much as the reading. */
function killMembers(group: string): void {
  for (const pid of readFileSync(join(group, "cgroup.procs"), "latin1").split("\n")) {
    if (pid === "") continue;
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended in the meantime.
    }
  }
}

/** A group with a process in it, or one above another, stays. */
function removeEmpty(groups: readonly string[]): void {
  for (const group of groups) {
    try {
      rmdirSync(group);
    } catch {}
  }
}

/** What waits is a thread, which needs this one neither to begin nor to go on. */
async function writeAtOnce(path: string, value: string): Promise<void> {
  const file = openSync(path, "w");
  try {
    await writeLater(file, value);
  } finally {
    closeSync(file);
  }
}
const writeLater = promisify(write);

/** Settings a kernel may be built without. */
async function writeOptional(files: GroupFiles, path: string, value: string): Promise<void> {
  try {
    await files.writeFile(path, value);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EOPNOTSUPP" && code !== "EACCES") throw error;
  }
}
