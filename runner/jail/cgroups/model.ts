import type { BirthGroup } from "../../process/start-process.ts";

export interface GroupLimits {
  memoryBytes: number;
  maxThreads: number;
  /** Thousandths of a CPU; null for no limit. */
  cpuMillis: number | null;
}

/**
 * How a child enters the group: it is born there, or moved there while it boots. `admit` rejects if the kernel
 * refuses.
 */
export type Entrance = { birth: BirthGroup } | { birth: null; admit(pid: number): Promise<void> };

export interface RunGroup {
  /** Name from /proc/<pid>/cgroup, to verify membership from outside. */
  readonly name: string;
  /** Valid until the group is removed. */
  readonly entrance: Entrance;
  limit(limits: GroupLimits): Promise<void>;
  /** Returns the number of out-of-memory kills since the group was created. */
  countMemoryKills(): Promise<number>;
  kill(): Promise<void>;
  /** Removes the group once it is empty. Gives up after a second; the next server start cleans up. */
  remove(): Promise<void>;
}

export interface Cgroups extends Disposable {
  version: 1 | 2;
  path: string;
  make(name: string): Promise<RunGroup>;
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
