/** The part of the cgroup tree that contains runs; the same interface for both versions. */
import type { BirthGroup } from "../../process/start-process.ts";

/** Limits of one run's group as a whole. */
export interface GroupLimits {
  memoryBytes: number;
  /** Processes and threads. */
  maxThreads: number;
  /** Thousandths of a CPU; null for no limit. */
  cpuMillis: number | null;
}

/** The child is born in the group, or else moved there while it boots; `admit` rejects if the kernel refuses. */
export type Entrance = { birth: BirthGroup } | { birth: null; admit(pid: number): Promise<void> };

export interface RunGroup {
  /** As in /proc/<pid>/cgroup, to verify membership from outside. */
  readonly name: string;
  /** Valid until the group is removed. */
  readonly entrance: Entrance;
  /** Rejects if the kernel refuses a limit. */
  limit(limits: GroupLimits): Promise<void>;
  /** Counts kills for lack of memory since the group was created. */
  countMemoryKills(): Promise<number>;
  /** Sends SIGKILL to every process in the group. */
  kill(): Promise<void>;
  /** Removes the group once it is empty. Gives up after a second; the next server start cleans up. */
  remove(): Promise<void>;
}

export interface Cgroups extends Disposable {
  version: 1 | 2;
  /** Parent folder of the groups. */
  path: string;
  /** Creates a group; rejects if the kernel refuses. */
  make(name: string): Promise<RunGroup>;
  /** Removes empty groups. */
  [Symbol.dispose](): void;
}

export interface CgroupsAbsent {
  version: 0;
  reason: string;
  fix: string;
}

/** Uses node:fs/promises, because the kernel may block the writer while it moves a process. Tests substitute it. */
export interface GroupFiles {
  mkdir(path: string): Promise<unknown>;
  writeFile(path: string, text: string): Promise<void>;
}
