import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readFileSync,
  write,
  writeFileSync,
} from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import {
  CPU_PERIOD_US,
  countMemoryKills,
  nameRoot,
  removeEmpty,
  removeLeftoversSoon,
  removeSoon,
  toQuota,
  writeOptional,
} from "./folders.ts";
import type { Cgroups, GroupFiles } from "./model.ts";
import { type CgroupSources, CONTROLLERS, findOwnGroup } from "./tree.ts";

/**
 * `isSubgroup` is true if the server is already in a group beside those of the runs. Throws if there is no writable
 * tree.
 */
export function findVersion2(sources: CgroupSources): { version: 2; base: string; isSubgroup: boolean } {
  const { path: own, isTop } = findOwnGroup(sources, null);
  const available = readFileSync(join(own, "cgroup.controllers"), "latin1").trim().split(" ");
  const missing = CONTROLLERS.filter((controller) => !available.includes(controller));
  if (missing.length > 0) throw new Error(`cgroup v2 at ${own} lacks ${missing.join(", ")}`);
  // Root can also write to other groups, such as its login session's, which must not be changed.
  const isSubgroup = basename(own) === "server";
  if (!isSubgroup && !isTop && process.getuid?.() === 0) {
    throw new Error(`cgroup v2 at ${own} is not known to be delegated to the server`);
  }
  const base = isSubgroup ? dirname(own) : own;
  accessSync(base, constants.W_OK);
  return { version: 2, base, isSubgroup };
}

/** Throws if there is no writable tree. */
export function openVersion2(sources: CgroupSources, files: GroupFiles): Cgroups {
  const { base, isSubgroup } = findVersion2(sources);
  // A group that contains processes cannot limit groups below it, so the server moves into one beside the runs.
  if (!isSubgroup) {
    mkdirSync(join(base, "server"), { recursive: true });
    writeFileSync(join(base, "server", "cgroup.procs"), `${process.pid}`);
  }
  const enable = CONTROLLERS.map((controller) => `+${controller}`).join(" ");
  writeFileSync(join(base, "cgroup.subtree_control"), enable);
  removeLeftoversSoon(base);
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
        // If memory is limited, a thread cannot be in a different group than its process (cgroup-v2, "Threads").
        entrance: { birth: null, admit: (pid) => writeLater(join(group, "cgroup.procs"), `${pid}`) },
        async limit({ memoryBytes, maxThreads, cpuMillis }) {
          await writeOptional(files, join(group, "memory.swap.max"), "0");
          await writeOptional(files, join(group, "memory.oom.group"), "1");
          await files.writeFile(join(group, "memory.max"), `${memoryBytes}`);
          await files.writeFile(join(group, "pids.max"), `${maxThreads}`);
          if (cpuMillis !== null) {
            await files.writeFile(join(group, "cpu.max"), `${toQuota(cpuMillis)} ${CPU_PERIOD_US}`);
          }
        },
        countMemoryKills: () => countMemoryKills(join(group, "memory.events")),
        kill: () => writeFile(join(group, "cgroup.kill"), "1"),
        remove: () => removeSoon([group]),
      };
    },
    [Symbol.dispose]: () => removeEmpty([root]),
  };
}

/** The write may block a pool thread, but not this one. */
async function writeLater(path: string, value: string): Promise<void> {
  const file = openSync(path, "w");
  try {
    await writeOpen(file, value);
  } finally {
    closeSync(file);
  }
}
const writeOpen = promisify(write);
