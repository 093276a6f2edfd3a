/** A part of the cgroup tree that processes are started in, the same for both versions. */
import type { BirthGroup } from "../../process/start-process.ts";

/** What one run's group may use, everything in it together. */
export interface GroupLimits {
  memoryBytes: number;
  /** Processes and threads. */
  maxThreads: number;
  /** Thousandths of one CPU; null: as many as there are. */
  cpuMillis: number | null;
}

/** It is born there; or, where that cannot be, moved there while it boots: `admit` rejects when the kernel refuses. */
export type Entrance = { birth: BirthGroup } | { birth: null; admit(pid: number): Promise<void> };

export interface RunGroup {
  /** As /proc/<pid>/cgroup names it, to see from outside that a process is in it. */
  readonly name: string;
  /** How a process gets into it. Valid until it is removed. */
  readonly entrance: Entrance;
  /** Sets what those in it may use; rejects when the kernel refuses. */
  limit(limits: GroupLimits): Promise<void>;
  /** How often the kernel has killed in this group because memory ran out, since it was made. */
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

/** How groups are made: node:fs/promises, because the kernel may let the caller wait while it moves a process; others in tests. */
export interface GroupFiles {
  mkdir(path: string): Promise<unknown>;
  writeFile(path: string, text: string): Promise<void>;
}
