/**
 * A child in the full jail that does what scripts and the engine do all day, and ends in the way it is told. Locks itself,
 * reports `ready`, reads one task from stdin and answers with one line of JSON.
 */
import { createHash, pbkdf2, randomBytes, scryptSync } from "node:crypto";
import { fstat, read, readSync, writeSync } from "node:fs";
import { promisify } from "node:util";
import { getHeapStatistics } from "node:v8";
import { runInNewContext } from "node:vm";
import { deflate, inflate } from "node:zlib";
import { lockKernel } from "#runner/jail/lock-self.ts";

/** In the engine, but not in the types of Node without those of a browser. */
const engine = globalThis as unknown as {
  WebAssembly: {
    instantiate(bytes: Uint8Array): Promise<{ instance: { exports: Record<string, () => number> } }>;
  };
};

const MEBIBYTE = 1024 * 1024;

function sumOf(count: number): number {
  let sum = 0;
  for (let index = 0; index < count; index += 1) sum = (sum + index * 31) % 1_000_003;
  return sum;
}

/** Each returns what proves that it worked. */
const daily: Record<string, () => unknown> = {
  "loops that the JIT compiles": () => sumOf(20_000_000),
  "garbage collections": () => {
    let kept: unknown[] = [];
    for (let index = 0; index < 400_000; index += 1) {
      kept.push({ index, text: `${index}` });
      if (kept.length > 50_000) kept = [];
    }
    return kept.length;
  },
  "big buffers": () => {
    const buffers = Array.from({ length: 8 }, () => Buffer.alloc(8 * MEBIBYTE, 1));
    return buffers.reduce((sum, buffer) => sum + (buffer.at(-1) ?? 0), 0);
  },
  timers: async () => {
    let ticks = 0;
    await new Promise<void>((resolve) => {
      const interval = setInterval(() => {
        ticks += 1;
        if (ticks === 3) {
          clearInterval(interval);
          resolve();
        }
      }, 2);
    });
    return ticks;
  },
  "immediates and microtasks": async () => {
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    return 1;
  },
  "the thread pool": async () => {
    const packed = await Promise.all(
      [1, 2, 3, 4, 5].map((fill) => promisify(deflate)(Buffer.alloc(MEBIBYTE, fill))),
    );
    const unpacked = await Promise.all(packed.map((data) => promisify(inflate)(data)));
    return unpacked.reduce((sum, data) => sum + data.length, 0);
  },
  cryptography: async () => {
    const key = await promisify(pbkdf2)("password", "salt", 1000, 32, "sha256");
    const digest = createHash("sha256").update("x").digest("hex");
    return key.length + digest.length + randomBytes(16).length + scryptSync("a", "b", 16).length;
  },
  "random values": () => crypto.getRandomValues(new Uint8Array(8)).length + crypto.randomUUID().length,
  "structured clones": () => structuredClone(new Map([[1, { a: [new Date(0)] }]])).size,
  Intl: () =>
    new Intl.DateTimeFormat("de-DE", { timeZone: "Europe/Berlin", dateStyle: "full" }).format(0) +
    new Intl.NumberFormat("en-IN").format(1e7),
  "the clock": () =>
    new Date().getFullYear() > 2000 && performance.now() > 0 && new Date(0).getTimezoneOffset(),
  WebAssembly: async () => {
    // (module (func (export "f") (result i32) i32.const 42))
    const bytes = Uint8Array.of(
      0,
      97,
      115,
      109,
      1,
      0,
      0,
      0,
      1,
      5,
      1,
      96,
      0,
      1,
      127,
      3,
      2,
      1,
      0,
      7,
      5,
      1,
      1,
      102,
      0,
      0,
      10,
      6,
      1,
      4,
      0,
      65,
      42,
      11,
    );
    const { instance } = await engine.WebAssembly.instantiate(bytes);
    return instance.exports.f?.();
  },
  "shared memory between its own threads": () => {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    return Atomics.wait(cell, 0, 0, 5);
  },
  "new contexts": () => runInNewContext("[1, 2, 3].map((x) => x * 2).join()"),
  "errors and stacks": () => {
    const recurse = (): number => recurse() + 1;
    try {
      return recurse();
    } catch (error) {
      return `${error}`.slice(0, 10) + (new Error("x").stack ? "with a stack" : "");
    }
  },
  "its own figures": () => process.cpuUsage().user + getHeapStatistics().used_heap_size > 0,
};

const endings: Record<string, () => unknown> = {
  "exit with 3": () => process.exit(3),
  throw: () => {
    throw new Error("uncaught");
  },
  abort: () => process.abort(),
  "fill the heap": () => {
    const kept: unknown[] = [];
    for (;;) kept.push(new Array(1000).fill(kept.length));
  },
  "fill memory outside the heap": () => {
    const kept: Buffer[] = [];
    try {
      for (;;) kept.push(Buffer.alloc(4 * MEBIBYTE, 1));
    } catch (error) {
      return { error: String(error), mebibytes: kept.length * 4 };
    }
  },
  spin: () => {
    for (;;);
  },
  wait: () => new Promise(() => setInterval(() => {}, 1000)),
};

function answer(value: unknown): void {
  writeSync(1, `${JSON.stringify(value)}\n`);
}

async function perform(task: string): Promise<void> {
  if (task !== "daily") {
    answer((await endings[task]?.()) ?? "done");
    return;
  }
  const results: Record<string, unknown> = {};
  for (const [name, work] of Object.entries(daily)) {
    try {
      results[name] = await work();
    } catch (error) {
      results[name] = `failed: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
  answer(results);
}

// As a real child does: after the lock no thread can be started.
process.env.UV_THREADPOOL_SIZE = "1";
fstat(0, () => {});
lockKernel(JSON.parse(process.argv[2] ?? ""));
for (const scope of ["fs", "child", "worker", "net", "inspector", "wasi", "addon", "ffi"]) {
  process.permission.drop(scope);
}
answer("ready");
const buffer = Buffer.alloc(256);
const task = buffer.toString("utf8", 0, readSync(0, buffer)).trim();
if (task !== "read asynchronously") await perform(task);
else {
  answer("listening");
  const { bytesRead } = await promisify(read)(0, buffer, 0, 256, null);
  answer(buffer.toString("utf8", 0, bytesRead));
}
process.exit();
