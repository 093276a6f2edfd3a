/** The monitor detects what the kernel's limits miss: memory that is not data, and threads. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createMonitor, type Exceeded, type Monitor } from "#runner/process/monitor.ts";

const BUDGET_BYTES = 128 * 1024 * 1024;
const OPEN = `const libc = new (process.getBuiltinModule("node:ffi").DynamicLibrary)(null);
const words = Array(7).fill("int64");
const call = libc.getFunction("syscall", { return: "int64", arguments: words });
const [mmap, futex] = process.arch === "arm64" ? [222n, 98n] : [9n, 202n];
const map = (bytes, protection, flags) => call(mmap, 0n, BigInt(bytes), protection, flags, -1n, 0n);`;
/** Each waits for a byte, then does as it is called. */
const HIDDEN: Record<string, { code: string; exceeded: Exceeded }> = {
  // MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE
  "shared memory": { code: "map(2 ** 30, 3n, 0x8021n);", exceeded: "memory" },
  // MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, of which one page in each 2 MB is read.
  "page tables": {
    code: `const start = map(2 ** 38, 1n, 0x4022n);
      for (let at = 0; at < 2 ** 38; at += 2 ** 21) call(futex, start + BigInt(at), 0n, 1n, 0n, 0n, 0n);`,
    exceeded: "memory",
  },
  "memory of its own": { code: "globalThis.kept = Buffer.alloc(2 ** 29, 1);", exceeded: "memory" },
  "more threads than a child has": {
    code: "process.env.UV_THREADPOOL_SIZE = '100'; require('node:fs').fstat(0, () => {});",
    exceeded: "threads",
  },
};

let monitor: Monitor;
const children: ChildProcess[] = [];
beforeEach(() => {
  monitor = createMonitor();
});
afterEach(() => {
  monitor[Symbol.dispose]();
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function startWaiting(code: string): Promise<ChildProcess & { pid: number }> {
  const program = `${OPEN} process.stdout.write("ready"); process.stdin.once("data", () => { ${code} setInterval(() => {}, 1000); process.stdout.write("done"); });`;
  const child = spawn(process.execPath, ["--no-warnings", "--experimental-ffi", "-e", program], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  await once(child.stdout, "data");
  return child as ChildProcess & { pid: number };
}

describe.runIf(process.platform === "linux")("the monitor", () => {
  test.each(Object.entries(HIDDEN))("sees %s", async (_, { code, exceeded }) => {
    const child = await startWaiting(code);
    const seen = new Promise<Exceeded>((resolve) => {
      monitor.watch(child.pid, { cpuMs: null, memoryBytes: BUDGET_BYTES }, resolve);
    });
    child.stdin?.write("go");
    expect(await seen).toBe(exceeded);
  });

  test("sees nothing in a process that keeps within its budget, and how much it held at most", async () => {
    const child = await startWaiting("globalThis.kept = Buffer.alloc(2 ** 26, 1);");
    let exceeded: Exceeded | null = null;
    const watch = monitor.watch(child.pid, { cpuMs: null, memoryBytes: BUDGET_BYTES }, (limit) => {
      exceeded = limit;
    });
    child.stdin?.write("go");
    await once(child.stdout as NodeJS.ReadableStream, "data");
    const { peakMemoryBytes } = watch.finish();
    expect(exceeded).toBeNull();
    expect(peakMemoryBytes).toBeGreaterThan(2 ** 26);
  });
});
