/** The real thing, where this machine lets the server write a part of its cgroup tree. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { planProcessLaunch } from "#runner/isolation/process-launch.ts";
import { openWall } from "#runner/isolation/wall.ts";
import type { RunGroup } from "#runner/jail/cgroups/model.ts";
import { openCgroups } from "#runner/jail/cgroups/open.ts";
import { createRunGroups } from "#runner/jail/cgroups/run-groups.ts";
import { CONTROLLERS } from "#runner/jail/cgroups/tree.ts";
import { openKernel } from "#runner/jail/kernel/syscalls.ts";
import { landlockAbi } from "#runner/jail/landlock.ts";
import { inspectNode, listRuntimeFiles } from "#runner/jail/runtime-files.ts";
import { compilePolicy } from "#runner/jail/seccomp/compile.ts";
import { birthPolicy } from "#runner/jail/seccomp/policies.ts";
import { startSpawner } from "#runner/jail/spawner/spawner.ts";
import { DIST } from "#runner/paths.ts";
import { spawnChild } from "#runner/pool/spawn.ts";
import { keepZygotes } from "#runner/pool/zygote.ts";
import { findNodeBinary } from "#runner/process/node-binary.ts";
import type { BirthGroup } from "#runner/process/start-process.ts";
import { openEmptyFolder } from "#runner/process/temporary.ts";

const MEBIBYTE = 1024 * 1024;
const probe = process.platform === "linux" ? openCgroups() : null;
const isWritable = probe !== null && probe.version !== 0;
if (isWritable) probe[Symbol.dispose]();

/** The child alone: this thread is back where it was. */
async function startIn({ entrance, name }: RunGroup, script: string): Promise<ChildProcess> {
  for (const file of entrance.birth?.enter ?? []) writeSync(file, "0");
  const child = spawn(process.execPath, ["-e", `setTimeout(() => { ${script} }, 300)`], { stdio: "ignore" });
  for (const file of entrance.birth?.leave ?? []) writeSync(file, "0");
  if (entrance.birth === null) await entrance.admit(child.pid ?? 0);
  expect(readFileSync(`/proc/${child.pid}/cgroup`, "latin1")).toContain(name);
  expect(readFileSync("/proc/thread-self/cgroup", "latin1")).not.toContain(name);
  return child;
}

describe.runIf(isWritable)("a run's control group", () => {
  it("ends a run that takes more memory than it was given, and knows that it did", async () => {
    const cgroups = openCgroups();
    if (cgroups.version === 0) throw new Error(cgroups.reason);
    using _ = cgroups;
    const group = await cgroups.make("memory");
    await group.limit({ memoryBytes: 64 * MEBIBYTE, maxThreads: 64, cpuMillis: null });
    const child = await startIn(
      group,
      "const kept = []; for (;;) kept.push(Buffer.alloc(4 * 1024 * 1024, 1));",
    );
    const [code, signal] = await once(child, "exit");
    expect([code, signal]).toEqual([null, "SIGKILL"]);
    expect(await group.countMemoryKills()).toBeGreaterThan(0);
    await group.remove();
    expect(existsSync(join(cgroups.path, "memory"))).toBe(false);
  });

  it("ends everything in it at once and is removed", async () => {
    const cgroups = openCgroups();
    if (cgroups.version === 0) throw new Error(cgroups.reason);
    using _ = cgroups;
    const group = await cgroups.make("kill");
    await group.limit({ memoryBytes: 256 * MEBIBYTE, maxThreads: 64, cpuMillis: 500 });
    const child = await startIn(group, "for (;;);");
    expect(await group.countMemoryKills()).toBe(0);
    await group.kill();
    const [, signal] = await once(child, "exit");
    expect(signal).toBe("SIGKILL");
    await group.remove();
    expect(existsSync(join(cgroups.path, "kill"))).toBe(false);
  });
});

describe.runIf(isWritable)("a child started by the thread", () => {
  const readGroups = (of: string) => readFileSync(`/proc/${of}/cgroup`, "latin1");

  async function openParts() {
    await using undo = new AsyncDisposableStack();
    const cgroups = openCgroups();
    if (cgroups.version === 0) throw new Error(cgroups.reason);
    const groups = undo.use(createRunGroups(cgroups));
    const files = await listRuntimeFiles(await inspectNode(process.execPath), []);
    const filter = compilePolicy(birthPolicy(process.pid), process.arch === "arm64" ? "aarch64" : "x86_64");
    const spawner = undo.use(
      await startSpawner({ ...files, landlockAbi: landlockAbi(openKernel()), filter }),
    );
    const owned = undo.move();
    const start = (group: BirthGroup | null) =>
      spawner.start({
        path: process.execPath,
        args: ["--openssl-config=/dev/null", "-e", "process.stdin.resume()"],
        cwd: "/",
        group,
      });
    return { groups, spawner, start, [Symbol.asyncDispose]: () => owned.disposeAsync() };
  }

  it("is in its group before its program begins, with all that it starts, and nothing of the server is", async () => {
    await using parts = await openParts();
    const limits = { memoryBytes: 256 * MEBIBYTE, maxThreads: 64, cpuMillis: 2000 };
    const places = [await parts.groups.reserve(limits), await parts.groups.reserve(limits)];
    const children = await Promise.all(places.map(({ birth }) => parts.start(birth)));
    for (const [index, { pid }] of children.entries()) {
      const { groupName = "", admit } = places[index] ?? {};
      await admit?.(pid);
      const groups = readGroups(`${pid}`);
      expect(groups.split("\n").filter((line) => line.endsWith(groupName))).toHaveLength(
        parts.groups.version === 1 ? CONTROLLERS.length : 1,
      );
      for (const thread of readdirSync(`/proc/${pid}/task`)) {
        expect(readGroups(`${pid}/task/${thread}`)).toBe(groups);
      }
    }
    for (const thread of readdirSync("/proc/self/task")) {
      expect(readGroups(`self/task/${thread}`)).not.toContain("run-");
    }
    // What kills a group's members kills those.
    await Promise.all(places.map((place) => place.release()));
    expect(await Promise.all(children.map(({ exited }) => exited))).toMatchObject([
      { signal: "SIGKILL" },
      { signal: "SIGKILL" },
    ]);
  });

  it("is not started where it cannot be in its group", async () => {
    await using parts = await openParts();
    const gone = openSync("/dev/null", "r");
    closeSync(gone);
    await expect(parts.start({ enter: [gone], leave: [] })).rejects.toThrow(/EBADF|errno 9/);
    const child = await parts.start(null);
    child.kill();
    expect(await child.exited).toMatchObject({ signal: "SIGKILL" });
  });
});

describe.runIf(isWritable)("a fork of a zygote", () => {
  it("is in its group before it gets a script, and its zygote in none", async () => {
    await using stack = new AsyncDisposableStack();
    const { path: cwd } = stack.use(await openEmptyFolder("run"));
    const node = findNodeBinary();
    const options = { level: "strict", nodePath: node.path, readable: [DIST], cwd, paranoid: false } as const;
    const wall = stack.use(await openWall(options));
    const plan = planProcessLaunch(node, wall, { allowEval: false, allowWasm: false, paranoid: false }, cwd);
    const zygotePids: number[] = [];
    const startZygote = wall.startZygote as NonNullable<typeof wall.startZygote>;
    const zygotes = stack.use(
      keepZygotes({
        launch: plan(64, "zygote"),
        async startZygote(program) {
          const zygote = await startZygote(program);
          zygotePids.push(zygote.pid);
          return zygote;
        },
        boot: wall.start,
        onError: (error) => expect.fail(error.message),
      }),
    );
    const fork = () => spawnChild(plan(64), undefined, zygotes.start);
    const forks = await Promise.all([fork(), fork()]);
    const readGroups = (pid: number) => readFileSync(`/proc/${pid}/cgroup`, "latin1");
    for (const { pid, groupName, ready } of forks) {
      expect(ready.isFork).toBe(true);
      expect(groupName).not.toBeNull();
      expect(
        readGroups(pid)
          .split("\n")
          .filter((line) => line.endsWith(`${groupName}`)),
      ).toHaveLength(probe?.version === 1 ? CONTROLLERS.length : 1);
    }
    expect(forks[0]?.groupName).not.toBe(forks[1]?.groupName);
    expect(zygotePids).toHaveLength(1);
    expect(readGroups(zygotePids[0] as number)).not.toContain("run-");
    for (const child of forks) child.kill();
    expect(await Promise.all(forks.map(({ exited }) => exited))).toMatchObject([
      { signal: "SIGKILL" },
      { signal: "SIGKILL" },
    ]);
  });
});
