import { accessSync, closeSync, constants, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
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
import { type CgroupSources, CONTROLLERS, type Controller, findOwnGroup } from "./tree.ts";

/** Finds the server's own folder for each controller. Throws if it cannot create groups in one of them. */
export function findVersion1(sources: CgroupSources): { version: 1; roots: Map<Controller, string> } {
  const roots = new Map<Controller, string>();
  for (const controller of CONTROLLERS) {
    const { path: own } = findOwnGroup(sources, controller);
    accessSync(own, constants.W_OK);
    accessSync(join(own, "tasks"), constants.W_OK);
    roots.set(controller, own);
  }
  return { version: 1, roots };
}

/** Throws if there is no writable tree. */
export function openVersion1(sources: CgroupSources, files: GroupFiles): Cgroups {
  const { roots: owned } = findVersion1(sources);
  const rootName = nameRoot();
  const homes = [...new Set(owned.values())];
  homes.forEach(removeLeftoversSoon);
  const roots = new Map([...owned].map(([controller, own]) => [controller, join(own, rootName)]));
  const removeRoots = () => removeEmpty([...new Set(roots.values())]);
  let leave: number[];
  try {
    for (const root of roots.values()) mkdirSync(root, { recursive: true });
    // CPU first, so that the remaining moves run with the server's share.
    leave = openTasks(homes.toReversed());
  } catch (error) {
    removeRoots();
    throw error;
  }
  const at = (controller: Controller, ...path: string[]) => join(roots.get(controller) ?? "", ...path);

  return {
    version: 1,
    path: at("memory"),
    async make(name) {
      const groups = [...new Set(CONTROLLERS.map((controller) => at(controller, name)))];
      let enter: number[];
      try {
        for (const group of groups) await files.mkdir(group);
        enter = openTasks(groups);
      } catch (error) {
        removeEmpty(groups);
        throw error;
      }
      return {
        name: join(rootName, name),
        entrance: { birth: { enter, leave } },
        async limit({ memoryBytes, maxThreads, cpuMillis }) {
          await setMemory(files, at("memory", name), memoryBytes);
          await writeOptional(files, at("memory", name, "memory.swappiness"), "0");
          await files.writeFile(at("pids", name, "pids.max"), `${maxThreads}`);
          if (cpuMillis !== null) {
            await files.writeFile(at("cpu", name, "cpu.cfs_period_us"), `${CPU_PERIOD_US}`);
            await setQuota(files, at("cpu", name, "cpu.cfs_quota_us"), cpuMillis);
          }
        },
        countMemoryKills: () => countMemoryKills(at("memory", name, "memory.oom_control")),
        kill: async () => killMembers(at("pids", name)),
        async remove() {
          for (const file of enter.splice(0)) closeSync(file);
          await removeSoon(groups);
        },
      };
    },
    [Symbol.dispose]() {
      for (const file of leave.splice(0)) closeSync(file);
      removeRoots();
    },
  };
}

/** Close-on-exec, like everything Node opens. Throws when the system has no descriptors left. */
function openTasks(groups: readonly string[]): number[] {
  const files: number[] = [];
  try {
    for (const group of groups) files.push(openSync(join(group, "tasks"), "w"));
    return files;
  } catch (error) {
    for (const file of files) closeSync(file);
    throw error;
  }
}

/** A quota may not exceed the parent's, which applies in any case. */
async function setQuota(files: GroupFiles, path: string, cpuMillis: number): Promise<void> {
  try {
    await files.writeFile(path, `${toQuota(cpuMillis)}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EINVAL") throw error;
    await files.writeFile(path, "-1");
  }
}

/**
 * Sets the memory limit, and the limit for memory plus swap if the kernel counts it. The second must never be below
 * the first.
 */
async function setMemory(files: GroupFiles, group: string, memoryBytes: number): Promise<void> {
  const memory = join(group, "memory.limit_in_bytes");
  const withSwap = join(group, "memory.memsw.limit_in_bytes");
  try {
    await files.writeFile(memory, `${memoryBytes}`);
    await writeOptional(files, withSwap, `${memoryBytes}`);
  } catch (error) {
    // The new limit exceeds the current one for memory plus swap, so that is raised first.
    if ((error as NodeJS.ErrnoException).code !== "EINVAL") throw error;
    await files.writeFile(withSwap, `${memoryBytes}`);
    await files.writeFile(memory, `${memoryBytes}`);
  }
}

/** Reads synchronously: the list is in memory, and a thread would cost four times as much as reading it. */
function killMembers(group: string): void {
  for (const line of readFileSync(join(group, "cgroup.procs"), "latin1").split("\n")) {
    const pid = Number(line);
    // A server thread is in the group while it starts a child.
    if (line === "" || pid === process.pid) continue;
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process has ended in the meantime.
    }
  }
}
