/** Finding a writable part of the cgroup tree, from what the kernel writes about it; the tree itself is plain files. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Cgroups } from "#runner/jail/cgroups/model.ts";
import { findCgroups, openCgroups } from "#runner/jail/cgroups/open.ts";

let tree = "";
beforeEach(async () => {
  tree = await mkdtemp(join(tmpdir(), "cyrnel-cgroup-"));
});
afterEach(() => rm(tree, { recursive: true, force: true }));

function make(path: string, files: Record<string, string> = {}): void {
  mkdirSync(join(tree, path), { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(tree, path, name), content);
}

function content(...path: string[]): string {
  return readFileSync(join(tree, ...path), "latin1");
}

function mustFind(sources: { mountinfo: string; cgroup: string }): Cgroups {
  const cgroups = openCgroups(sources);
  if (cgroups.version === 0) throw new Error(cgroups.reason);
  group = basename(cgroups.path);
  return cgroups;
}

const LIMITS = { memoryBytes: 64_000_000, maxThreads: 16, cpuMillis: 500 };
/** The folder of the latest wall of this process. */
let group = "";

describe("cgroup v2", () => {
  const cgroup = "0::/system.slice/cyrnel.service\n";
  const mounted = (root = "/") =>
    `30 24 0:26 ${root} ${tree} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n`;

  it("moves the server aside at the top of its tree and limits each run exactly", async () => {
    const own = ".";
    make(own, { "cgroup.controllers": "cpuset cpu io memory pids\n" });
    const cgroups = mustFind({ mountinfo: mounted(), cgroup: "0::/\n" });
    expect(cgroups).toMatchObject({ version: 2, path: join(tree, own, group) });
    expect(content(own, "server", "cgroup.procs")).toBe(`${process.pid}`);
    expect(content(own, "cgroup.subtree_control")).toBe("+memory +pids +cpu");

    const run = await cgroups.make("run-1");
    if (run.entrance.birth !== null) throw new Error("expected to be moved there");
    await run.entrance.admit(4242);
    await run.limit(LIMITS);
    const at = (name: string) => content(own, group, "run-1", name);
    expect(at("cgroup.procs")).toBe("4242");
    expect([at("memory.max"), at("memory.swap.max"), at("pids.max"), at("cpu.max")]).toEqual([
      "64000000",
      "0",
      "16",
      "50000 100000",
    ]);
    writeFileSync(
      join(tree, own, group, "run-1", "memory.events"),
      "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n",
    );
    expect(await run.countMemoryKills()).toBe(1);
    await run.kill();
    expect(at("cgroup.kill")).toBe("1");
  });

  it("is looked for without a change to it", () => {
    make(".", { "cgroup.controllers": "cpu memory pids\n" });
    expect(findCgroups({ mountinfo: mounted(), cgroup: "0::/\n" })).toMatchObject({ version: 2 });
    expect(readdirSync(tree)).toEqual(["cgroup.controllers"]);
  });

  it("uses the parent when the server was put into a subgroup of its own", () => {
    make("system.slice/cyrnel.service/server", { "cgroup.controllers": "cpu memory pids\n" });
    const cgroups = mustFind({ mountinfo: mounted(), cgroup: "0::/system.slice/cyrnel.service/server\n" });
    expect(cgroups.path).toBe(join(tree, "system.slice/cyrnel.service", group));
  });

  it("finds its own group in a container, where the mount shows a part of the tree", () => {
    make("server", { "cgroup.controllers": "cpu memory pids\n" });
    const cgroups = mustFind({ mountinfo: mounted("/kubepods/pod1"), cgroup: "0::/kubepods/pod1/server\n" });
    expect(cgroups.path).toBe(join(tree, group));
  });

  it("is left alone where root sees a group that may be somebody else's", () => {
    make("system.slice/cyrnel.service", { "cgroup.controllers": "cpu memory pids\n" });
    const found = openCgroups({ mountinfo: mounted(), cgroup });
    if (process.getuid?.() === 0)
      expect(found).toMatchObject({ version: 0, fix: expect.stringContaining("Delegate") });
    else expect(found).toMatchObject({ version: 2 });
  });

  it("says which controllers are missing and how to delegate them", () => {
    make("system.slice/cyrnel.service", { "cgroup.controllers": "cpuset cpu\n" });
    expect(openCgroups({ mountinfo: mounted(), cgroup })).toMatchObject({
      version: 0,
      reason: expect.stringContaining("lacks memory, pids"),
      fix: expect.stringContaining("Delegate=yes"),
    });
  });
});

describe("cgroup v1", () => {
  const cgroup = "9:memory:/docker/abc\n8:pids:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n";
  const makeTrees = (files: Record<string, string> = { tasks: "" }) =>
    ["memory", "pids", "cpu,cpuacct"]
      .map((controllers) => {
        make(`${controllers}/docker/abc`, files);
        return `40 24 0:30 / ${tree}/${controllers} rw - cgroup cgroup rw,${controllers}\n`;
      })
      .join("");

  it("leaves the processor to the group above, where that one has less", async () => {
    const cgroups = openCgroups(
      { mountinfo: makeTrees(), cgroup },
      {
        mkdir,
        async writeFile(path, text) {
          if (path.endsWith("cpu.cfs_quota_us") && text !== "-1") {
            throw Object.assign(new Error("EINVAL"), { code: "EINVAL" });
          }
          await writeFile(path, text);
        },
      },
    );
    if (cgroups.version !== 1) throw new Error("expected version 1");
    await (await cgroups.make("run-1")).limit(LIMITS);
    const folder = basename(cgroups.path);
    expect(content("cpu,cpuacct/docker/abc", folder, "run-1/cpu.cfs_quota_us")).toBe("-1");
  });

  it("leaves nothing behind where a part of it cannot be made", () => {
    const sources = { mountinfo: makeTrees(), cgroup };
    const before = mustFind(sources);
    // The next wall of this process has the next number.
    const next = group.replace(/\d+$/, (number) => `${Number(number) + 1}`);
    before[Symbol.dispose]();
    writeFileSync(join(tree, "cpu,cpuacct/docker/abc", next), "in the way");
    const open = readdirSync("/proc/self/fd").length;
    expect(openCgroups(sources)).toMatchObject({ version: 0, reason: expect.stringContaining("EEXIST") });
    expect(readdirSync("/proc/self/fd")).toHaveLength(open);
    expect(readdirSync(join(tree, "memory/docker/abc"))).toEqual(["tasks"]);
  });

  it("is not there for a server that may not enter and leave groups", () => {
    expect(openCgroups({ mountinfo: makeTrees({}), cgroup })).toMatchObject({
      version: 0,
      reason: expect.stringContaining("tasks"),
    });
  });

  it("limits a run in the hierarchy of each controller", async () => {
    const cgroups = mustFind({ mountinfo: makeTrees(), cgroup });
    expect(cgroups.version).toBe(1);
    const run = await cgroups.make("run-1");
    await run.limit(LIMITS);
    expect(content("memory/docker/abc", group, "run-1/memory.limit_in_bytes")).toBe("64000000");
    expect(content("memory/docker/abc", group, "run-1/memory.memsw.limit_in_bytes")).toBe("64000000");
    expect(content("pids/docker/abc", group, "run-1/pids.max")).toBe("16");
    expect(content("cpu,cpuacct/docker/abc", group, "run-1/cpu.cfs_quota_us")).toBe("50000");
    for (const file of run.entrance.birth?.enter ?? []) writeSync(file, "in");
    for (const file of run.entrance.birth?.leave ?? []) writeSync(file, "out");
    for (const controllers of ["memory", "pids", "cpu,cpuacct"]) {
      expect(content(`${controllers}/docker/abc`, group, "run-1/tasks")).toBe("in");
      expect(content(`${controllers}/docker/abc/tasks`)).toBe("out");
    }
  });
});

describe("no cgroups", () => {
  it("is an answer with a reason, not an error", () => {
    expect(openCgroups({ mountinfo: "", cgroup: "" })).toMatchObject({
      version: 0,
      reason: "cgroup v2 is not mounted; cgroup v1 controller memory is not mounted",
    });
  });
});
