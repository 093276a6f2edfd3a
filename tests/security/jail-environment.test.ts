/** Both real environments behind the real wall: what stands, how it shows from outside, and what happens where it cannot. */

import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { instantiate as instantiateIvm } from "#modules/typescript-ivm/index.ts";
import { instantiate as instantiateProcess } from "#modules/typescript-process/index.ts";
import { openJail } from "#runner/jail/jail.ts";
import { type Spawner, startSpawner } from "#runner/jail/spawner/spawner.ts";
import { readThreads } from "#runner/jail/verify.ts";
import type { EnvironmentModule, ErrorDetail, ExecutionOptions, IsolationLevel } from "#sdk";
import { inParts } from "#tests/contract/in-parts.ts";

const SUBJECTS = [
  { name: "typescript-process", instantiate: instantiateProcess, config: { warmPool: { min: 1, max: 1 } } },
  { name: "typescript-ivm", instantiate: instantiateIvm, config: { slots: 1 } },
] as const;
type Subject = (typeof SUBJECTS)[number];

const EPERM = 1;
const ENOSYS = 38;

interface Ended {
  state: string;
  error?: ErrorDetail;
  result?: unknown;
}

const opened: EnvironmentModule[] = [];
afterEach(async () => {
  for (const environment of opened.splice(0)) await environment.teardown();
});

async function open({ instantiate, config }: Subject, isolation?: IsolationLevel, more: object = {}) {
  const environment = inParts(instantiate());
  const ended: Record<number, Ended> = {};
  const of = (eid: number) => {
    ended[eid] ??= { state: "" };
    return ended[eid];
  };
  const refuse = async () => {
    throw new Error("not needed here");
  };
  const warnings: object[] = [];
  await environment.setup({
    config: { ...config, ...more },
    secrets: {},
    fetch: globalThis.fetch,
    ...(isolation !== undefined && { isolation }),
    logger: { debug() {}, info() {}, warn: (fields) => void warnings.push(fields), error() {} },
    bindings: {
      invokeTool: refuse,
      discoverServices: refuse,
      discoverTools: refuse,
      getService: refuse,
      getTool: refuse,
      getToolDocs: refuse,
      ask: refuse,
      setState() {},
      emitStdout() {},
      emitStderr() {},
      emitOutput() {},
      setUsage() {},
      setError(eid, error) {
        of(eid).error = typeof error === "string" ? { name: "Error", message: error } : error;
      },
      setResult(eid, value) {
        of(eid).result = value;
      },
    },
  });
  opened.push(environment);
  let last = 0;
  const run = async (code: string, options: Partial<ExecutionOptions> = {}): Promise<Ended> => {
    const eid = ++last;
    const state = await environment.execute({ eid, code, options: { timeoutMs: 20_000, ...options } });
    return { ...of(eid), state };
  };
  return { environment, run, warnings };
}

/** Processes this one started that run a file of dist/runner, without the zygote. */
function listChildren(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const parent = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
        return (
          Number(parent) === process.pid &&
          /dist\/runner\/(zygote\/)?(child|slot)\.js\0/.test(
            readFileSync(`/proc/${pid}/cmdline`, "latin1"),
          ) &&
          readFileSync(`/proc/${pid}/comm`, "latin1") !== "cyrnel-zygote\n"
        );
      } catch {
        return false;
      }
    });
}

/** The wall on a machine that answers `calls` with `errno`, in a process of its own. */
async function openOn(
  subject: string,
  level: IsolationLevel,
  errno: number,
  calls: string[],
  flags: string[] = [],
) {
  const script = join(import.meta.dirname, "jail/crippled-environment.ts");
  const args = [...flags, script, subject, level, `${errno}`, ...calls];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as { message?: string; level?: string; obtained?: number[]; result?: unknown };
}

describe.runIf(process.platform === "linux").each(SUBJECTS)("$name in its jail", (subject) => {
  it("is strict unless it is asked for less, and says how it knows", async () => {
    const { environment, run } = await open(subject);
    const isolation = environment.status?.().isolation;
    expect(isolation?.level).toBe("strict");
    const layers = isolation?.layers ?? [];
    expect(layers.filter(({ required }) => required).map(({ layer }) => layer)).toEqual([
      0, 1, 2, 3, 4, 6, 7,
    ]);
    const obtained = layers.filter((layer) => layer.obtained && layer.layer !== 5).map(({ layer }) => layer);
    expect(obtained).toEqual([0, 1, 2, 3, 4, 6, 7]);
    expect(layers.find(({ layer }) => layer === 3)?.verified).toMatch(
      /not allowed to .*SIGSYS.*Landlock ABI \d/,
    );
    expect(await run("return 1 + 1")).toEqual({ state: "success", result: 2 });
  });

  it("has both filters and no way to privileges on every thread of a child", async () => {
    await open(subject);
    const own = readThreads("self").find(({ threadId }) => threadId === process.pid)?.filters ?? 0;
    const [pid] = listChildren();
    const threads = readThreads(pid as number);
    expect(threads.length).toBeGreaterThan(0);
    for (const thread of threads) expect(thread).toMatchObject({ filters: own + 2, noNewPrivileges: true });
  });

  it("has limits of the kernel on a child before it gets a script", async () => {
    await open(subject);
    const limits = readFileSync(`/proc/${listChildren()[0]}/limits`, "latin1");
    expect(limits).toMatch(/^Max data size +\d+ +\d+ +bytes/m);
    expect(limits).toMatch(/^Max file size +0 +0/m);
    expect(limits).toMatch(/^Max core file size +0 +0/m);
    expect(limits).toMatch(/^Max open files +64 +64/m);
  });

  it.each(["standard", "development"] as const)("works at level %s when it is asked for", async (level) => {
    const { environment, run } = await open(subject, level);
    const isolation = environment.status?.().isolation;
    const required = isolation?.layers.filter((layer) => layer.required).map(({ layer }) => layer);
    expect(required).toEqual(level === "standard" ? [0, 1, 4, 6, 7] : [0, 1, 6]);
    // Where the machine has the layers, level standard has them too, and they count.
    expect(isolation?.level).toBe(level === "standard" ? "strict" : "development");
    expect(await run("return 1 + 1")).toEqual({ state: "success", result: 2 });
  });

  it("ends a run that fills memory outside the heap, and only when it does not handle the refusal", async () => {
    const { run } = await open(subject);
    const fill = "const held = []; for (;;) held.push(new Uint8Array(4 * 1024 * 1024).fill(1));";
    const ended = await run(fill, { memoryMb: 64 });
    expect([ended.state, ended.error?.reason]).toEqual(["failed", "memory_limit"]);
    expect(ended.error?.message).toContain("64 MB");
    // One that is too large at once: with its last kilobyte gone, the engine may not get as far as throwing.
    const tooLarge = "new Uint8Array(400 * 1024 * 1024)";
    const handled = await run(`try { ${tooLarge}; } catch (error) { return error.name; }`, { memoryMb: 64 });
    expect(handled).toEqual({ state: "success", result: "RangeError" });
  });

  it("limits the CPU time of each run anew", async () => {
    const { run } = await open(subject);
    const spin = (forMs: number) => `const end = Date.now() + ${forMs}; while (Date.now() < end); return 1`;
    for (let round = 0; round < 3; round++) {
      expect(await run(spin(700), { cpuMs: 5000 })).toEqual({ state: "success", result: 1 });
    }
    const ended = await run("for (;;);", { cpuMs: 300 });
    expect([ended.state, ended.error?.reason]).toEqual(["failed", "cpu_limit"]);
    expect(ended.error?.message).toContain("300 ms");
    expect(await run(spin(700))).toEqual({ state: "success", result: 1 });
  });

  it.each([
    ["a kernel without Landlock", ["landlock_create_ruleset"], ENOSYS, "Landlock", "lsm= list", "standard"],
    ["a container without seccomp", ["seccomp"], EPERM, "seccomp", "profile", "standard"],
    [
      "a container that takes no ruleset",
      ["landlock_restrict_self"],
      EPERM,
      "birth jail",
      "profile",
      "standard",
    ],
    ["a kernel without limits", ["prlimit64"], EPERM, "limit", "", "development"],
  ])("does not start on %s, and says what to do", async (_, calls, errno, layer, fix, lower) => {
    const { message } = await openOn(
      subject.name,
      lower === "standard" ? "strict" : "standard",
      errno,
      calls,
    );
    expect(message).toContain(layer);
    expect(message).toContain(fix);
    expect(message).toContain(`CYRNEL_ISOLATION=${lower}`);
  });

  it.each([
    ["Landlock", "landlock_create_ruleset"],
    ["seccomp", "seccomp"],
  ])("runs at level standard without %s, and reports no more than that", async (_, call) => {
    const { level, obtained, result } = await openOn(subject.name, "standard", ENOSYS, [call]);
    expect(level).toBe("standard");
    expect(obtained).toEqual(expect.arrayContaining([0, 1, 4, 6, 7]));
    expect(obtained).not.toContain(2);
    expect(result).toBe(2);
  });

  it("does not start without FFI unless nothing of the kernel is asked for", async () => {
    const flags = ["--no-experimental-ffi"];
    const refused = await openOn(subject.name, "standard", 0, [], flags);
    expect(refused.message).toMatch(/layer 4.*node:ffi is missing.*CYRNEL_ISOLATION=development/);
    expect(await openOn(subject.name, "development", 0, [], flags)).toMatchObject({
      level: "development",
      result: 2,
    });
  });
});

describe.runIf(process.platform === "linux")("the spawner of a jail", () => {
  it("gives way to another one when it has ended, and its children with it", async () => {
    const spawners: Spawner[] = [];
    const openSpawner: typeof startSpawner = async (jail) => {
      const spawner = await startSpawner(jail);
      spawners.push(spawner);
      return spawner;
    };
    const nodePath = process.execPath;
    await using jail = await openJail(
      { level: "strict", nodePath, readable: [], paranoid: false },
      undefined,
      openSpawner,
    );
    const program = { path: nodePath, args: ["--openssl-config=/dev/null", "-e", "for(;;);"], cwd: "/" };
    const before = await jail.start(program);
    await spawners[0]?.[Symbol.asyncDispose]();
    expect(await before.exited).toMatchObject({ signal: "SIGKILL" });
    const [one, other] = await Promise.all([jail.start(program), jail.start(program)]);
    expect(spawners).toHaveLength(2);
    for (const child of [one, other]) {
      child.kill();
      expect(await child.exited).toMatchObject({ signal: "SIGKILL" });
    }
  });
});

describe.runIf(process.platform === "linux")("the doctor", () => {
  const doctor = (args: string[], flags: string[] = []) => {
    const program = join(import.meta.dirname, "../../dist/server/isolation-doctor.js");
    return promisify(execFile)(process.execPath, [...flags, program, ...args]).then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout }) => ({ code, stdout }),
    );
  };

  it("says per layer what is there and how it knows", async () => {
    const { code, stdout } = await doctor([]);
    expect(code).toBe(0);
    for (const layer of [0, 1, 2, 3, 4, 6, 7]) {
      expect(stdout).toMatch(new RegExp(`^${layer} [a-z -]+: there, required$`, "m"));
    }
    expect(stdout).toContain("Isolation level strict is available.");
    expect(stdout).toMatch(/^Processes of runs: Each is forked/m);
    expect(stdout).toContain(`Node of the server: ${process.version}`);
  });

  it("says what is missing, what to do and what stands instead, and fails", async () => {
    const { code, stdout } = await doctor(["strict"], ["--no-experimental-ffi"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^4 limits from outside: MISSING, required$/m);
    expect(stdout).toMatch(/^strict: Isolation level strict needs layer 4 .*node:ffi is missing/m);
    expect(stdout).toContain("Isolation level strict is not available; development is.");
    expect((await doctor(["development"], ["--no-experimental-ffi"])).code).toBe(0);
    expect((await doctor(["sturdy"])).code).toBe(2);
  });
});

describe.runIf(process.platform === "linux")("the setting `paranoid`", () => {
  const [subject] = SUBJECTS;

  it("runs scripts without a compiler and without memory that may be executed", async () => {
    const { run } = await open(subject, "strict", { paranoid: true });
    expect(await run("let n = 0; for (let i = 0; i < 1e5; i++) n += i; return n")).toMatchObject({
      state: "success",
      result: 4999950000,
    });
    const command = readFileSync(`/proc/${listChildren()[0]}/cmdline`, "latin1");
    expect(command).toContain("--jitless");
  });

  it("is refused together with WebAssembly, and where nothing would enforce it", async () => {
    await expect(open(subject, "strict", { paranoid: true, allowWasm: true })).rejects.toThrow("allowWasm");
    await expect(open(subject, "development", { paranoid: true })).rejects.toThrow("CYRNEL_ISOLATION=strict");
    const { message } = await openOn("paranoid", "standard", ENOSYS, ["seccomp"]);
    expect(message).toContain("paranoid");
  });
});
