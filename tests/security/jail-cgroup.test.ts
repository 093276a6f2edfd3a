/** The real thing, where this machine lets the server write a part of its cgroup tree. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCgroups } from "#runner/jail/cgroup.ts";

const MEBIBYTE = 1024 * 1024;
const probe = process.platform === "linux" ? openCgroups() : null;
const isWritable = probe !== null && probe.version !== 0;
if (isWritable) probe[Symbol.dispose]();

function startNode(script: string): ChildProcess {
  return spawn(process.execPath, ["-e", `setTimeout(() => { ${script} }, 300)`], { stdio: "ignore" });
}

describe.runIf(isWritable)("a run's control group", () => {
  it("ends a run that takes more memory than it was given, and knows that it did", async () => {
    const cgroups = openCgroups();
    if (cgroups.version === 0) throw new Error(cgroups.reason);
    using _ = cgroups;
    const child = startNode("const kept = []; for (;;) kept.push(Buffer.alloc(4 * 1024 * 1024, 1));");
    const group = await cgroups.make("memory");
    await group.admit(child.pid ?? 0);
    await group.limit({ memoryBytes: 64 * MEBIBYTE, maxThreads: 64, cpuMillis: null });
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
    const child = startNode("for (;;);");
    const group = await cgroups.make("kill");
    await group.admit(child.pid ?? 0);
    await group.limit({ memoryBytes: 256 * MEBIBYTE, maxThreads: 64, cpuMillis: 500 });
    expect(await group.countMemoryKills()).toBe(0);
    await group.kill();
    const [, signal] = await once(child, "exit");
    expect(signal).toBe("SIGKILL");
    await group.remove();
    expect(existsSync(join(cgroups.path, "kill"))).toBe(false);
  });
});
