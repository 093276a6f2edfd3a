/** The thread that starts children inside the jail: it jails itself alone, fails closed, and nothing outlives it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openKernel } from "#runner/jail/kernel/syscalls.ts";
import { landlockAbi } from "#runner/jail/landlock.ts";
import { inspectNode, listRuntimeFiles, type RuntimeFiles } from "#runner/jail/runtime-files.ts";
import { compilePolicy } from "#runner/jail/seccomp/compile.ts";
import { birthPolicy } from "#runner/jail/seccomp/policies.ts";
import { startSpawner } from "#runner/jail/spawner/spawner.ts";
import { readThreads } from "#runner/jail/verify.ts";
import { architecture, bundleChild, startJail, startLocked } from "./jail/jail.ts";

const F_SETFD = 2;
const FCNTL = process.arch === "arm64" ? 25 : 72;
const GONE_WITHIN_MS = 5000;

/** Whether a process is gone, or dead and only not reaped yet by whoever inherited it. */
function isGone(pid: number): boolean {
  try {
    return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
  } catch {
    return true;
  }
}

async function untilGone(pid: number): Promise<boolean> {
  const deadline = Date.now() + GONE_WITHIN_MS;
  while (!isGone(pid) && Date.now() < deadline) await delay(20);
  return isGone(pid);
}

describe.runIf(process.platform === "linux")("the spawner", () => {
  let directory = "";
  let empty = "";
  let bundle = "";
  let files: RuntimeFiles;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "cyrnel-spawner-"));
    empty = join(directory, "empty");
    await mkdir(empty);
    bundle = await bundleChild("citizen", directory);
    files = await listRuntimeFiles(await inspectNode(process.execPath), [bundle]);
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it("jails its own thread and no other of the server", async () => {
    const before = readThreads("self").find(({ threadId }) => threadId === process.pid)?.filters ?? 0;
    await using spawner = await startJail(bundle);
    const threads = readThreads("self");
    expect(threads.find(({ threadId }) => threadId === spawner.threadId)).toMatchObject({
      filters: before + 1,
      noNewPrivileges: true,
    });
    expect(threads.filter(({ filters }) => (filters ?? 0) > before).map(({ threadId }) => threadId)).toEqual([
      spawner.threadId,
    ]);
    expect(await readFile("/etc/passwd", "latin1")).toContain("root");
  });

  it("gives a child its three pipes and no other descriptor of the server", async () => {
    await using spawner = await startJail(bundle);
    const leaked = openSync("/etc/hostname", "r");
    try {
      openKernel().syscall(FCNTL, leaked, F_SETFD, 0);
      const { child } = await startLocked(spawner, bundle, empty);
      const targets = readdirSync(`/proc/${child.pid}/fd`).map((fd) =>
        readlinkSync(`/proc/${child.pid}/fd/${fd}`),
      );
      // /dev/null stands in for openssl.cnf.
      expect(targets.filter((target) => !/^(pipe|anon_inode):|^\/dev\/null$/.test(target))).toEqual([]);
    } finally {
      closeSync(leaked);
    }
  });

  it("starts many at once, each with pipes of its own", async () => {
    await using spawner = await startJail(bundle);
    const children = await Promise.all(Array.from({ length: 12 }, () => startLocked(spawner, bundle, empty)));
    expect(new Set(children.map(({ child }) => child.pid)).size).toBe(12);
    for (const { say } of children) say("read asynchronously");
    const answers = await Promise.all(
      children.map(async ({ next, say }, index) => {
        expect(await next()).toBe("listening");
        say(`child ${index}`);
        return await next();
      }),
    );
    expect(answers).toEqual(children.map((_, index) => `child ${index}\n`));
    const exits = await Promise.all(children.map(({ child }) => child.exited));
    expect(exits).toEqual(children.map(() => ({ code: 0, signal: null, cpuMs: expect.any(Number) })));
  });

  it("says why a program cannot be started", async () => {
    await using spawner = await startJail(bundle);
    const program = { args: [], cwd: empty };
    await expect(spawner.start({ ...program, path: "/nowhere" })).rejects.toThrow(
      "posix_spawn of /nowhere failed",
    );
    await expect(spawner.start({ ...program, path: "/bin/sh" })).rejects.toThrow("errno 13");
    const cwd = join(directory, "missing");
    await expect(spawner.start({ ...program, path: process.execPath, cwd })).rejects.toThrow("errno 2");
  });

  it("does not start when a part of the jail cannot be put on", async () => {
    const abi = landlockAbi(openKernel());
    const broken = { bytes: new Uint8Array(8), pidOffsets: [] };
    await expect(startSpawner({ ...files, landlockAbi: abi, filter: broken })).rejects.toThrow(
      "the spawner cannot be jailed: seccomp failed with errno 22",
    );
    await expect(
      startSpawner({ execute: ["/nowhere"], read: [], landlockAbi: abi, filter: null }),
    ).rejects.toThrow("/nowhere");
    const states = readThreads("self").map(({ filters, noNewPrivileges }) => `${filters} ${noNewPrivileges}`);
    expect(new Set(states).size).toBe(1);
  });

  describe("a child that has not locked itself yet", () => {
    /** Runs `code` in a child and answers what it says. `landlock` false: it may open files, so that it can look at itself. */
    async function runBorn(code: string, landlock: boolean) {
      const filter = compilePolicy(birthPolicy(process.pid), architecture);
      const abi = landlock ? landlockAbi(openKernel()) : 0;
      await using spawner = await startSpawner({ ...files, landlockAbi: abi, filter });
      const args = ["--openssl-config=/dev/null", "-e", code];
      const child = await spawner.start({ path: process.execPath, args, cwd: "/" });
      const [said, exit] = await Promise.all([text(child.stdout), child.exited]);
      expect(exit).toMatchObject({ code: 0, signal: null });
      return JSON.parse(said);
    }

    it("can open nothing that it was not left, and start nothing", async () => {
      const said = await runBorn(
        `const tried = {};
        for (const path of ["/etc/passwd", "/proc/self/status"]) {
          try { require("fs").readFileSync(path); tried[path] = "read"; } catch (error) { tried[path] = error.code; }
        }
        try { require("child_process").execFileSync("/bin/true"); tried.program = "ran"; } catch (error) { tried.program = error.code; }
        console.log(JSON.stringify(tried));`,
        true,
      );
      expect(said).toEqual({
        "/etc/passwd": "EACCES",
        "/proc/self/status": "EACCES",
        program: expect.stringMatching(/EACCES|EPERM/),
      });
    });

    it("has an environment of one variable, three pipes, a session of its own and no signal blocked or ignored", async () => {
      const said = await runBorn(
        `const fs = require("fs");
        const status = fs.readFileSync("/proc/self/status", "latin1");
        const stat = fs.readFileSync("/proc/self/stat", "latin1").split(") ")[1].split(" ");
        console.log(JSON.stringify({
          env: process.env, cwd: process.cwd(), session: Number(stat[3]) === process.pid,
          blocked: /SigBlk:\\s*(\\w+)/.exec(status)[1],
          pipes: [0, 1, 2].map((fd) => fs.readlinkSync("/proc/self/fd/" + fd).slice(0, 5)),
        }));`,
        false,
      );
      expect(said).toEqual({
        env: { TZ: "UTC" },
        cwd: "/",
        session: true,
        blocked: "0000000000000000",
        pipes: ["pipe:", "pipe:", "pipe:"],
      });
    });
  });

  it("takes its children with it when it ends", async () => {
    const spawner = await startJail(bundle);
    const children = await Promise.all([1, 2, 3].map(() => startLocked(spawner, bundle, empty)));
    for (const { say } of children) say("spin");
    await spawner[Symbol.asyncDispose]();
    for (const { child } of children) {
      expect(await child.exited).toMatchObject({ code: null, signal: "SIGKILL" });
      expect(isGone(child.pid)).toBe(true);
    }
    await expect(spawner.start({ path: process.execPath, args: [], cwd: empty })).rejects.toThrow(
      "the spawner has ended",
    );
  });

  it("leaves no child behind when the server is killed", async () => {
    const server = spawn(
      process.execPath,
      [join(import.meta.dirname, "jail/doomed-server.ts"), bundle, empty],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const [line] = (await once(server.stdout, "data")) as [Buffer];
    const pid = Number(line.toString());
    expect(isGone(pid)).toBe(false);
    server.kill("SIGKILL");
    expect(await untilGone(pid)).toBe(true);
  });

  it("does not make a child ready whose parent is not the one it was started by", async () => {
    await using spawner = await startJail(bundle);
    const original = process.pid;
    Object.defineProperty(process, "pid", { value: 1, configurable: true });
    try {
      await expect(startLocked(spawner, bundle, empty)).rejects.toThrow("it died before it could be watched");
    } finally {
      Object.defineProperty(process, "pid", { value: original, configurable: true });
    }
  });
});
