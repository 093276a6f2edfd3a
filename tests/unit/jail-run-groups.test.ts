/** The groups of a wall's children: one each, used again, and never with anybody left in it. The tree is plain files. */
import { describe, expect, it } from "vitest";
import type { Cgroups, Entrance, GroupLimits, RunGroup } from "#runner/jail/cgroups/model.ts";
import { createRunGroups } from "#runner/jail/cgroups/run-groups.ts";

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

const byMoving = (admit: (pid: number) => void): Entrance => ({
  birth: null,
  async admit(pid) {
    if (pid < 0) throw new Error("EINVAL");
    admit(pid);
  },
});

function openTree(entrance: (admit: (pid: number) => void) => Entrance = byMoving): {
  cgroups: Cgroups;
  log: Log;
} {
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
      entrance: entrance((pid) => log.admitted.push([name, pid])),
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
    const [first, second] = await Promise.all([groups.reserve(LIMITS), groups.reserve(LIMITS)]);
    expect(first.groupName).not.toBe(second.groupName);
    await first.release();
    await first.release();
    expect(log.killed).toEqual([first.groupName]);
    const third = await groups.reserve(LIMITS);
    expect(third.groupName).toBe(first.groupName);
    expect(log.made).toHaveLength(2);
    expect(log.limited).toHaveLength(2);
  });

  it("sets the limits anew where they differ", async () => {
    const { cgroups, log } = openTree();
    await using groups = createRunGroups(cgroups);
    await (await groups.reserve(LIMITS)).release();
    await groups.reserve({ ...LIMITS, memoryBytes: 5 });
    expect(log.limited.map(({ memoryBytes }) => memoryBytes)).toEqual([1000, 5]);
  });

  it("tells a child's want of memory from that of the one before it", async () => {
    const { cgroups, log } = openTree();
    await using groups = createRunGroups(cgroups);
    const first = await groups.reserve(LIMITS);
    log.kills = 1;
    expect(await first.ranOutOfMemory()).toBe(true);
    await first.release();
    const second = await groups.reserve(LIMITS);
    expect(await second.ranOutOfMemory()).toBe(false);
  });

  it("moves a child there where it cannot be born there, and rejects where the kernel refuses", async () => {
    const { cgroups, log } = openTree();
    await using groups = createRunGroups(cgroups);
    const place = await groups.reserve(LIMITS);
    expect(place.birth).toBeNull();
    await place.admit(8);
    expect(log.admitted).toEqual([[place.groupName, 8]]);
    await expect(place.admit(-1)).rejects.toThrow("EINVAL");
  });

  it("moves no child that was born there", async () => {
    const birth = { enter: [11, 12], leave: [21, 22] };
    const { cgroups, log } = openTree(() => ({ birth }));
    await using groups = createRunGroups(cgroups);
    const place = await groups.reserve(LIMITS);
    expect(place.birth).toEqual(birth);
    await place.admit(8);
    expect(log.admitted).toEqual([]);
  });

  it("keeps no group that cannot be limited", async () => {
    const { cgroups, log } = openTree();
    const refuse = async () => {
      throw new Error("EBUSY");
    };
    const make = async (name: string) => ({ ...(await cgroups.make(name)), limit: refuse });
    await using groups = createRunGroups({ ...cgroups, make });
    await expect(groups.reserve(LIMITS)).rejects.toThrow("EBUSY");
    expect(log.removed).toEqual(log.made);
  });

  it("gives the group that has rested longest", async () => {
    const { cgroups } = openTree();
    await using groups = createRunGroups(cgroups);
    const [first, second] = [await groups.reserve(LIMITS), await groups.reserve(LIMITS)];
    await second.release();
    await first.release();
    expect((await groups.reserve(LIMITS)).groupName).toBe(second.groupName);
  });

  it("removes all of them at the end, held ones too", async () => {
    const { cgroups, log } = openTree();
    const groups = createRunGroups(cgroups);
    await groups.reserve(LIMITS);
    await (await groups.reserve(LIMITS)).release();
    await groups[Symbol.asyncDispose]();
    expect(log.removed.sort()).toEqual(log.made.sort());
    expect(log.killed).toHaveLength(2);
    expect(log.isDisposed).toBe(true);
  });
});
