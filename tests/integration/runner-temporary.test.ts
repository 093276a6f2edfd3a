/** What the runner leaves in the system's temporary folder: nothing, and what a killed server left is removed by the next. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readlinkSync } from "node:fs";
import { mkdir, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { openCanary, openEmptyFolder } from "#runner/process/temporary.ts";

const namespace = process.platform === "linux" ? /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] : "0";

/** The id of a process that has ended. */
async function findDeadPid(): Promise<number> {
  const child = spawn(process.execPath, ["-e", "0"]);
  await once(child, "exit");
  return child.pid as number;
}

const nameOf = (kind: string, pid: number, of = namespace) =>
  join(tmpdir(), `cyrnel-${kind}-${of}-${pid}-aB3dEf`);

describe.runIf(process.platform === "linux")("temporary folders", () => {
  test("are empty, cannot be written to, and are gone afterwards", async () => {
    const folder = await openEmptyFolder("run");
    expect((await stat(folder.path)).mode & 0o777).toBe(0o500);
    await folder[Symbol.asyncDispose]();
    expect(existsSync(folder.path)).toBe(false);
    const canary = await openCanary();
    expect((await stat(canary.path)).mode & 0o777).toBe(0o500);
    await canary[Symbol.asyncDispose]();
    expect(existsSync(canary.path)).toBe(false);
  });

  test("of a server that was killed are removed at the next start; nobody else's are", async () => {
    const pid = await findDeadPid();
    const dead = ["run", "slot", "doctor", "canary"].map((kind) => nameOf(kind, pid));
    const kept = [nameOf("run", process.pid), nameOf("run", pid, "1"), nameOf("other", pid)];
    const full = join(tmpdir(), `cyrnel-run-${namespace}-${pid}-fullXX`);
    for (const path of [...dead, ...kept, full]) await mkdir(path);
    await writeFile(join(dead[3] as string, "canary"), "canary");
    await writeFile(join(full, "somebody's"), "data");
    try {
      await using _ = await openEmptyFolder("slot");
      await vi.waitFor(() => expect(dead.filter(existsSync)).toEqual([]));
      expect([...kept, full].filter((path) => !existsSync(path))).toEqual([]);
    } finally {
      for (const path of kept) await rmdir(path);
      await rm(full, { recursive: true });
    }
  });
});
