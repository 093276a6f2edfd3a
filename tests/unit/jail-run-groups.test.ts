/** The groups of a wall's children: one each, used again, and never with anybody left in it. The tree is plain files. */
import { describe, expect, it } from "vitest";
import type { Cgroups, GroupLimits, RunGroup } from "#runner/jail/cgroup.ts";
import { createRunGroups } from "#runner/jail/run-groups.ts";

const LIMITS: GroupLimits = { memoryBytes: 1000, maxThreads: 4, cpuMillis: null };

interface Log {
  made: string[];
  limited: GroupLimits[];
  admitted: [string, number][];
  killed: string[];
  removed: string[];
  kills: number;
  isDisposed: boolean;
}

function openTree(refusePid = -1): { cgroups: Cgroups; log: Log } {
  const log: Log = {
    made: [],
    limited: [],
    admitted: [],
    killed: [],
    removed: [],
    kills: 0,
    isDisposed: false,
  };
  const make = async (name: string): Promise<RunGroup> => {
    log.made.push(name);
    return {
      name,
      limit: async (limits) => void log.limited.push(limits),
      async admit(pid) {
        if (pid === refusePid) throw new Error("EINVAL");
        log.admitted.push([name, pid]);
      },
      countMemoryKills: async () => log.kills,
      kill: async () => void log.killed.push(name),
      remove: async () => void log.removed.push(name),
    };
  };
  const dispose = () => {
    log.isDisposed = true;
  };
  return { cgroups: { version: 2, path: "/tree", make, [Symbol.dispose]: dispose }, log };
}

describe("the groups of a wall's children", () => {
  it("holds one child each, and is used again once its child is gone and whatever it left was killed", async () => {
    const { cgroups, log } = openTree();
    await using groups = createRunGroups(cgroups);
    const [first, second] = await Promise.all([groups.place(1, LIMITS), groups.place(2, LIMITS)]);
    expect(first.groupName).not.toBe(second.groupName);
    await first.release();
    await first.release();
    expect(log.killed).toEqual([first.groupName]);
    const third = await groups.place(3, LIMITS);
    expect(third.groupName).toBe(first.groupName);
    expect(log.made).toHaveLength(2);
    expect(log.limited).toHaveLength(2);
  });

  it("sets the limits anew where they differ", async () => {
    const { cgroups, log } = openTree();
    await using groups = createRunGroups(cgroups);
    await (await groups.place(1, LIMITS)).release();
    await groups.place(2, { ...LIMITS, memoryBytes: 5 });
    expect(log.limited.map(({ memoryBytes }) => memoryBytes)).toEqual([1000, 5]);
  });

  it("tells a child's want of memory from that of the one before it", async () => {
    const { cgroups, log } = openTree();
    await using groups = createRunGroups(cgroups);
    const first = await groups.place(1, LIMITS);
    log.kills = 1;
    expect(await first.ranOutOfMemory()).toBe(true);
    await first.release();
    const second = await groups.place(2, LIMITS);
    expect(await second.ranOutOfMemory()).toBe(false);
  });

  it("rejects where the kernel refuses, and does not lose the group", async () => {
    const { cgroups, log } = openTree(7);
    await using groups = createRunGroups(cgroups);
    await expect(groups.place(7, LIMITS)).rejects.toThrow("EINVAL");
    await groups.place(8, LIMITS);
    expect(log.made).toHaveLength(1);
  });

  it("removes all of them at the end, held ones too", async () => {
    const { cgroups, log } = openTree();
    const groups = createRunGroups(cgroups);
    await groups.place(1, LIMITS);
    await (await groups.place(2, LIMITS)).release();
    await groups[Symbol.asyncDispose]();
    expect(log.removed.sort()).toEqual(log.made.sort());
    expect(log.killed).toHaveLength(2);
    expect(log.isDisposed).toBe(true);
  });
});
