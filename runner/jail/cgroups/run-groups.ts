/**
 * Layer 5: a control group round each child, where the server may write a part of the cgroup tree. Groups are made when they
 * are needed, hold one child at a time and are used again: making one costs the kernel more than a move does.
 */
import type { BirthGroup } from "../../process/start-process.ts";
import type { Cgroups, GroupLimits, RunGroup } from "./model.ts";

/** Groups kept for later children; what is beyond is removed. */
const MAX_SPARE_GROUPS = 64;

/** A place for one child, in a group of its own. */
export interface Placement {
  /** In which the child is to be born; null: it cannot be. */
  readonly birth: BirthGroup | null;
  /** Sees to it that the child is in the group, whichever way. Rejects when the kernel refuses. */
  admit(pid: number): Promise<void>;
  /** A part of the path in /proc/<pid>/cgroup. */
  readonly groupName: string;
  /** Whether the kernel has killed in the group for want of memory since it was taken for the child. */
  ranOutOfMemory(): Promise<boolean>;
  /** To be called once the child has been reaped, or was not started: kills what it may have left. Never rejects. Idempotent. */
  release(): Promise<void>;
}

export interface RunGroups extends AsyncDisposable {
  readonly version: 1 | 2;
  /** Where the groups are. */
  readonly path: string;
  /** A group with these limits for a child that is about to be started. Rejects when the kernel refuses a part of it. */
  reserve(limits: GroupLimits): Promise<Placement>;
}

interface Kept {
  group: RunGroup;
  limits: GroupLimits;
  memoryKills: number;
}

/** Takes over `cgroups`: disposing ends what is left in any group and removes them all. */
export function createRunGroups(cgroups: Cgroups): RunGroups {
  const spare: Kept[] = [];
  /** Of the placements that are not released yet. */
  const held = new Set<() => Promise<void>>();
  const leaving = new Set<Promise<void>>();
  let made = 0;
  let isClosed = false;

  async function make(limits: GroupLimits): Promise<Kept> {
    made += 1;
    const group = await cgroups.make(`run-${made}`);
    await limit(group, limits);
    return { group, limits, memoryKills: 0 };
  }

  async function take(limits: GroupLimits): Promise<Kept> {
    // The one that has rested longest: what the child before used of its processor time is paid for.
    const kept = spare.shift();
    if (kept === undefined) return make(limits);
    if (!isSame(kept.limits, limits)) {
      await limit(kept.group, limits);
      kept.limits = limits;
    }
    return kept;
  }

  async function giveBack(kept: Kept): Promise<void> {
    try {
      await kept.group.kill();
      if (!isClosed && spare.length < MAX_SPARE_GROUPS) {
        spare.push(kept);
        return;
      }
    } catch {
      // Not to be trusted with another child.
    }
    await kept.group.remove();
  }

  return {
    version: cgroups.version,
    path: cgroups.path,
    async reserve(limits) {
      const kept = await take(limits);
      let released: Promise<void> | null = null;
      const release = () => {
        if (released === null) {
          held.delete(release);
          const done: Promise<void> = giveBack(kept).finally(() => leaving.delete(done));
          released = done;
          leaving.add(done);
        }
        return released;
      };
      held.add(release);
      const { name, entrance } = kept.group;
      return {
        groupName: name,
        birth: entrance.birth,
        admit: async (pid) => (entrance.birth === null ? entrance.admit(pid) : undefined),
        async ranOutOfMemory() {
          const before = kept.memoryKills;
          kept.memoryKills = await kept.group.countMemoryKills();
          return kept.memoryKills > before;
        },
        release,
      };
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      for (const release of held) void release();
      await Promise.all(leaving);
      await Promise.all(spare.splice(0).map(({ group }) => group.remove()));
      cgroups[Symbol.dispose]();
    },
  };
}

/** One that cannot be limited is not kept. */
async function limit(group: RunGroup, limits: GroupLimits): Promise<void> {
  try {
    await group.limit(limits);
  } catch (error) {
    await group.remove();
    throw error;
  }
}

function isSame(one: GroupLimits, other: GroupLimits): boolean {
  return (
    one.memoryBytes === other.memoryBytes &&
    one.maxThreads === other.maxThreads &&
    one.cpuMillis === other.cpuMillis
  );
}
