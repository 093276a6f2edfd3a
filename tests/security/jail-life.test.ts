/** Life in the full jail: everything a script may do still works, and every way to end is seen for what it is. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listEmptySets } from "#runner/jail/capabilities.ts";
import { openKernel } from "#runner/jail/kernel/syscalls.ts";
import { limitChild, readIdleUsage } from "#runner/jail/rlimits.ts";
import type { Spawner } from "#runner/jail/spawner/spawner.ts";
import { findThreadDifferences, readThreads } from "#runner/jail/verify.ts";
import {
  bundleChild,
  type Conversation,
  type ConversationOptions,
  startJail,
  startLocked,
} from "./jail/jail.ts";

const MEBIBYTE = 1024 * 1024;

describe.runIf(process.platform === "linux")("a child in the full jail", () => {
  let directory = "";
  let empty = "";
  let bundle = "";
  let spawner: Spawner;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "cyrnel-life-"));
    empty = join(directory, "empty");
    await mkdir(empty);
    bundle = await bundleChild("citizen", directory);
    spawner = await startJail(bundle);
  });
  afterAll(async () => {
    await spawner[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  async function withChild<T>(
    use: (conversation: Conversation) => Promise<T>,
    options: ConversationOptions = {},
  ) {
    const conversation = await startLocked(spawner, bundle, empty, options);
    try {
      return await use(conversation);
    } finally {
      conversation.child.kill();
      await conversation.child.exited;
    }
  }

  const everyday = {
    "loops that the JIT compiles": expect.any(Number),
    "garbage collections": expect.any(Number),
    "big buffers": 8,
    timers: 3,
    "immediates and microtasks": 1,
    "the thread pool": 5 * MEBIBYTE,
    cryptography: 128,
    "random values": 44,
    "structured clones": 1,
    Intl: "Donnerstag, 1. Januar 19701,00,00,000",
    "the clock": 0,
    WebAssembly: 42,
    "shared memory between its own threads": "timed-out",
    "new contexts": "2,4,6",
    "errors and stacks": "RangeErrorwith a stack",
    "its own figures": true,
  };

  it("computes, allocates, waits, compresses and encrypts as anywhere", async () => {
    await withChild(async ({ say, next }) => {
      say("daily");
      expect(await next()).toEqual(everyday);
    });
  });

  it("does the same without executable memory, but for WebAssembly", async () => {
    await withChild(
      async ({ say, next }) => {
        say("daily");
        expect(await next()).toEqual({ ...everyday, WebAssembly: expect.stringContaining("failed") });
      },
      { paranoid: true, flags: ["--jitless"] },
    );
  });

  it("reads its stdin without blocking", async () => {
    await withChild(async ({ say, next }) => {
      say("read asynchronously");
      expect(await next()).toBe("listening");
      say("hello");
      expect(await next()).toBe("hello\n");
    });
  });

  it("is seen from outside with both filters, and without capabilities, on every thread", async () => {
    const filters = (readThreads("self")[0]?.filters ?? 0) + 2;
    const required = { filters, noNewPrivileges: true, emptySets: listEmptySets() };
    expect(required.emptySets).toEqual(expect.arrayContaining(["CapPrm", "CapEff", "CapInh", "CapAmb"]));
    await withChild(async ({ child }) => {
      expect(findThreadDifferences(child.pid, required, "all")).toEqual([]);
      const [difference] = findThreadDifferences(child.pid, { ...required, filters: filters + 1 }, "all");
      expect(difference).toContain(`has ${filters} seccomp filters, expected ${filters + 1}`);
    });
  });

  it.each([
    ["exit with 3", { code: 3, signal: null }],
    ["throw", { code: 1, signal: null }],
    ["abort", { code: null, signal: "SIGABRT" }],
    ["fill the heap", { code: null, signal: "SIGABRT" }],
  ])("ends when it is told to %s", async (task, exit) => {
    await withChild(async ({ child, say, errors }) => {
      say(task);
      expect(await child.exited).toMatchObject(exit);
      if (task === "fill the heap") expect(errors()).toContain("heap out of memory");
      if (task === "throw") expect(errors()).toContain("uncaught");
    });
  });

  it("gets an error, not the machine's memory, when it allocates outside the heap", async () => {
    await withChild(async ({ child, say, next }) => {
      const memoryBytes = 128 * MEBIBYTE;
      limitChild(openKernel(), child.pid, { cpuMs: 20_000, memoryBytes }, readIdleUsage(child.pid));
      say("fill memory outside the heap");
      const result = (await next()) as { error: string; mebibytes: number };
      expect(result.error).toContain("RangeError");
      expect(result.mebibytes).toBeGreaterThan(32);
      expect(result.mebibytes).toBeLessThanOrEqual(128);
    });
  });

  it("is ended by the kernel when it has used its CPU time", async () => {
    await withChild(async ({ child, say }) => {
      const idle = readIdleUsage(child.pid);
      limitChild(openKernel(), child.pid, { cpuMs: 500, memoryBytes: 128 * MEBIBYTE }, idle);
      say("spin");
      const exit = await child.exited;
      expect(exit.signal).toBe("SIGXCPU");
      expect(exit.cpuMs).toBeGreaterThan(500);
      expect(exit.cpuMs).toBeLessThan(3000);
    });
  });

  it("is ended by a kill, whatever it does, and a second kill does nothing", async () => {
    await withChild(async ({ child, say }) => {
      say("spin");
      child.kill();
      expect(await child.exited).toMatchObject({ code: null, signal: "SIGKILL" });
      child.kill();
    });
  });
});
