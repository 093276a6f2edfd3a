/** Children of a spawner without a thread: born in the same jail, with the same that they are given, or not born at all. */
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import { canGiveBirth, openBirth } from "#runner/jail/birth-code.ts";
import type { BirthJail } from "#runner/jail/birth-jail.ts";
import { openDirectSpawner } from "#runner/jail/direct-spawner.ts";
import { NR_PRCTL, NR_SETSID, PR_SET_NO_NEW_PRIVS } from "#runner/jail/kernel-headers.ts";
import { landlockAbi } from "#runner/jail/landlock.ts";
import { inspectNode, listRuntimeFiles } from "#runner/jail/runtime-files.ts";
import { compilePolicy } from "#runner/jail/seccomp/compile.ts";
import { birthPolicy } from "#runner/jail/seccomp/policies.ts";
import type { Spawner } from "#runner/jail/spawner.ts";
import { openKernel } from "#runner/jail/syscalls.ts";
import { readThreads } from "#runner/jail/verify.ts";

const NODE = process.execPath;
const FLAGS = ["--openssl-config=/dev/null", "-e"];
let spawner: Spawner | null = null;
afterEach(async () => {
  await spawner?.[Symbol.asyncDispose]();
  spawner = null;
});

/** It has ended, and nobody has asked how. */
const isZombie = (pid: string) => /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));

async function makeJail(): Promise<BirthJail> {
  const files = await listRuntimeFiles(await inspectNode(NODE), []);
  const filter = compilePolicy(birthPolicy(process.pid), "x86_64");
  return { ...files, landlockAbi: landlockAbi(openKernel()), filter };
}

async function run(code: string, jail?: BirthJail) {
  spawner ??= openDirectSpawner(jail ?? (await makeJail()));
  const child = await spawner.start({ path: NODE, args: [...FLAGS, code], cwd: "/" });
  const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), child.exited]);
  return { stdout, stderr, exit, child };
}

describe.runIf(canGiveBirth())("a child", () => {
  test("is in the jail on every thread, and can open nothing that it was not left", async () => {
    spawner = openDirectSpawner(await makeJail());
    const before = readThreads("self").find(({ threadId }) => threadId === process.pid)?.filters ?? 0;
    const code = `
      const tried = {};
      for (const path of ["/etc/passwd", "/proc/self/status"]) {
        try { require("fs").readFileSync(path); tried[path] = "read"; } catch (error) { tried[path] = error.code; }
      }
      try { require("child_process").execFileSync("/bin/true"); tried.program = "ran"; } catch (error) { tried.program = error.code; }
      console.log(JSON.stringify(tried));
      process.stdin.resume();`;
    const child = await spawner.start({ path: NODE, args: [...FLAGS, code], cwd: "/" });
    const said = await new Promise<string>((resolve) =>
      child.stdout.once("data", (chunk) => resolve(`${chunk}`)),
    );
    expect(JSON.parse(said)).toEqual({
      "/etc/passwd": "EACCES",
      "/proc/self/status": "EACCES",
      program: expect.stringMatching(/EACCES|EPERM/),
    });
    for (const thread of readThreads(child.pid)) {
      expect(thread).toMatchObject({ filters: before + 1, noNewPrivileges: true });
    }
    expect(readThreads("self").every(({ filters }) => (filters ?? 0) === before)).toBe(true);
    child.kill();
    expect(await child.exited).toMatchObject({ signal: "SIGKILL" });
  });

  test("has an environment of one variable, three descriptors, a session of its own and no signal blocked or ignored", async () => {
    spawner = openDirectSpawner({ ...(await makeJail()), landlockAbi: 0 });
    const { stdout, exit } = await run(`
      const fs = require("fs");
      const status = fs.readFileSync("/proc/self/status", "latin1");
      const stat = fs.readFileSync("/proc/self/stat", "latin1").split(") ")[1].split(" ");
      console.log(JSON.stringify({
        env: process.env, cwd: process.cwd(), session: Number(stat[3]) === process.pid,
        blocked: /SigBlk:\\s*(\\w+)/.exec(status)[1],
        pipes: [0, 1, 2].map((fd) => fs.readlinkSync("/proc/self/fd/" + fd).slice(0, 5)),
      }));`);
    expect(JSON.parse(stdout)).toEqual({
      env: { TZ: "UTC" },
      cwd: "/",
      session: true,
      blocked: "0000000000000000",
      pipes: ["pipe:", "pipe:", "pipe:"],
    });
    expect(exit).toMatchObject({ code: 0, signal: null });
  });

  test("is not there when a step fails, which is named, and this process goes on as before", async () => {
    const blocked = () => /SigBlk:\s*(\w+)/.exec(readFileSync("/proc/self/status", "latin1"))?.[1];
    const before = blocked();
    spawner = openDirectSpawner(await makeJail());
    const start = (path: string, cwd: string) => spawner?.start({ path, args: [], cwd });
    await expect(start("/nowhere/node", "/")).rejects.toThrow(
      /^execve of \/nowhere\/node failed with errno (2|13)$/,
    );
    await expect(start(NODE, "/nowhere")).rejects.toThrow("chdir to /nowhere failed with errno 2");
    await expect(start("/bin/true", "/")).rejects.toThrow("execve of /bin/true failed with errno 13");
    expect(blocked()).toBe(before);
    expect((await run('console.log("here")')).stdout).toBe("here\n");
  });

  test("that the kernel refuses a filter for never becomes a program", async () => {
    const filter = { bytes: new Uint8Array(8).fill(0xff), pidOffsets: [] };
    spawner = openDirectSpawner({ ...(await makeJail()), filter });
    await expect(run("0")).rejects.toThrow("seccomp failed with errno 22");
  });

  test("is one of very many, one after another, with nothing left", async () => {
    const kernel = openKernel();
    const giveBirth = openBirth(kernel);
    const calls = [
      { name: "setsid", call: NR_SETSID, args: [] },
      { name: "prctl", call: NR_PRCTL, args: [PR_SET_NO_NEW_PRIVS, 2] },
    ];
    for (let count = 0; count < 300; count++) {
      expect(() => giveBirth(calls)).toThrow("prctl failed with errno 22");
      if (count % 100 === 0) globalThis.gc?.();
    }
    const children = readFileSync(`/proc/self/task/${process.pid}/children`, "latin1").trim();
    const dead = children.split(" ").filter((pid) => pid !== "" && isZombie(pid));
    expect(dead).toEqual([]);
  });
});
