/** A machine that cannot give the jail that was asked for: a refusal that names the layer, the reason and the way out. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { openJail } from "#runner/jail/jail.ts";
import { probeJail } from "#runner/jail/probe.ts";

const EPERM = 1;
const ENOSYS = 38;

interface ServerAnswer {
  opened: boolean;
  name?: string;
  message?: string;
}

async function openOn(
  level: "strict" | "standard",
  errno: number,
  calls: string[],
  nodeFlags: string[] = [],
): Promise<ServerAnswer> {
  const script = join(import.meta.dirname, "jail/crippled-server.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...nodeFlags,
    script,
    level,
    `${errno}`,
    ...calls,
  ]);
  return JSON.parse(stdout);
}

describe.runIf(process.platform === "linux")("the jail of a level that the machine cannot give", () => {
  it("opens where nothing is missing", async () => {
    expect(await openOn("strict", 0, [])).toEqual({ opened: true, seccomp: true, landlock: true });
  });

  it.each([
    ["a kernel without Landlock", ENOSYS],
    ["a container that forbids Landlock", EPERM],
  ])("on %s", async (_, errno) => {
    const answer = await openOn("strict", errno, ["landlock_create_ruleset"]);
    expect(answer).toMatchObject({ opened: false, name: "JailUnavailableError" });
    expect(answer.message).toContain("Isolation level strict needs layers 2 and 3 (Landlock)");
    expect(answer.message).toContain("landlock in its lsm= list");
    expect(await openOn("standard", errno, ["landlock_create_ruleset"])).toEqual({
      opened: true,
      seccomp: true,
      landlock: false,
    });
  });

  it.each([
    ["a kernel without seccomp", ENOSYS],
    ["a container that forbids seccomp", EPERM],
  ])("on %s", async (_, errno) => {
    const answer = await openOn("strict", errno, ["seccomp"]);
    expect(answer.message).toContain("Isolation level strict needs layers 2 and 3 (seccomp)");
    expect(await openOn("standard", errno, ["seccomp"])).toMatchObject({ opened: true, seccomp: false });
  });

  it("on a container that lets rulesets be made but not put on", async () => {
    const answer = await openOn("strict", EPERM, ["landlock_restrict_self"]);
    expect(answer.message).toContain("landlock_restrict_self failed with errno 1");
    expect(answer.message).toContain("the container's seccomp profile");
    expect(await openOn("standard", EPERM, ["landlock_restrict_self"])).toEqual({
      opened: true,
      seccomp: false,
      landlock: false,
    });
  });

  it("on a Node without FFI", async () => {
    for (const level of ["strict", "standard"] as const) {
      const answer = await openOn(level, 0, [], ["--no-experimental-ffi"]);
      expect(answer).toMatchObject({ opened: false, name: "JailUnavailableError" });
      expect(answer.message).toContain("node:ffi is missing in Node");
    }
  });

  it.each([
    ["darwin", "arm64", "darwin has no seccomp"],
    ["linux", "riscv64", "there is no filter for riscv64"],
  ])("on %s-%s", async (platform, arch, reason) => {
    const original = { platform: process.platform, arch: process.arch };
    const pretend = (value: { platform: string; arch: string }) => {
      Object.defineProperty(process, "platform", { value: value.platform, configurable: true });
      Object.defineProperty(process, "arch", { value: value.arch, configurable: true });
    };
    pretend({ platform, arch });
    const probe = probeJail();
    pretend(original);
    const options = { level: "strict", nodePath: process.execPath, readable: [], paranoid: false } as const;
    await expect(openJail(options, probe)).rejects.toThrow(reason);
  });
});
