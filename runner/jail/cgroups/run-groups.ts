/**
 * Layer 5: a control group around each child, if the server may write to part of the cgroup tree. A group contains
 * one child at a time and is reused, because creating one costs the kernel more than moving a process.
 */
import type { BirthGroup } from "../../process/start-process.ts";
import type { Cgroups, GroupLimits, RunGroup } from "./model.ts";

const MAX_SPARE_GROUPS = 64;

export interface Placement {
  /** Null if a child cannot be born in its group. */
  readonly birth: BirthGroup | null;
  admit(pid: number): Promise<void>;
  readonly groupName: string;
  /** Returns whether the kernel has killed a process in the group for lack of memory since the child entered it. */
  ranOutOfMemory(): Promise<boolean>;
  /** Kills leftover processes. Call it after the child was reaped or failed to start. Never rejects. Idempotent. */
  release(): Promise<void>;
}

export interface RunGroups extends AsyncDisposable {
  readonly version: 1 | 2;
  readonly path: string;
  /** Reserves a group with these limits for a child that is about to start. Rejects if the kernel refuses a limit. */
  reserve(limits: GroupLimits): Promise<Placement>;
}

interface Kept {
  group: RunGroup;
  limits: GroupLimits;
  memoryKills: number;
}

/** Owns `cgroups`: disposing kills all processes in the groups and removes the groups. */
export function createRunGroups(cgroups: Cgroups): RunGroups {
  const spare: Kept[] = [];
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
    // Takes the group that has been idle longest: the kernel has settled its last child's CPU debt.
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
      // The group is unreliable and must not be reused.
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
