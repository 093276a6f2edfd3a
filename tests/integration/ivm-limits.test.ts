/** Limits of a run in an isolate: exceeding one ends that run only. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type IvmHarness, openIvm } from "./ivm-environment.ts";

let ivm: IvmHarness;
beforeAll(async () => {
  ivm = await openIvm({ slots: 2, minSlots: 2, maxMemoryMb: 256 });
});
afterAll(() => ivm[Symbol.asyncDispose]());

const NEIGHBOUR =
  "for (let n = 0; n < 20; n++) await new Promise((r) => setTimeout(r, 20)); return 'unharmed'";

const bombs: [string, string][] = [
  ["objects on the heap", "const a = []; for (;;) a.push({ n: a.length });"],
  [
    "large arrays, in a loop V8 does not interrupt",
    "const a = []; for (;;) a.push(new Array(1000).fill(1.5));",
  ],
  ["strings", "const a = []; for (;;) a.push('x'.repeat(1000) + a.length);"],
  ["buffers", "const a = []; for (;;) a.push(new ArrayBuffer(1_000_000));"],
  [
    "pending promises",
    "const a = []; for (;;) { a.push(new Promise(() => {})); if (a.length % 1000 === 0) await null; }",
  ],
];
test.each(bombs)(
  "a memory bomb of %s fails with its limit, and the run beside it is unharmed",
  async (_, bomb) => {
    const neighbour = ivm.run(NEIGHBOUR);
    const bombed = await ivm.run(bomb, { timeoutMs: 25_000, memoryMb: 64 });
    expect(bombed).toMatchObject({
      state: "failed",
      error: { reason: "memory_limit", message: expect.stringContaining("64 MB") },
    });
    expect(bombed.usage.peakMemoryBytes).toBeGreaterThanOrEqual(64 * 1024 * 1024);
    expect(await neighbour).toMatchObject({ state: "success", result: "unharmed" });
    expect(await ivm.run("return 1")).toMatchObject({ state: "success", result: 1 });
  },
);

test("a buffer that is refused can be caught; the run goes on", async () => {
  const code = "try { new ArrayBuffer(200_000_000) } catch (error) { return error.name }";
  expect(await ivm.run(code, { timeoutMs: 20_000, memoryMb: 64 })).toMatchObject({
    state: "success",
    result: "RangeError",
  });
});

test("a run gets the memory it asks for, up to the maximum", async () => {
  const code = "return new Uint8Array(100 * 1024 * 1024).length";
  expect(await ivm.run(code, { timeoutMs: 20_000, memoryMb: 64 })).toMatchObject({ state: "failed" });
  expect(await ivm.run(code, { timeoutMs: 20_000, memoryMb: 200 })).toMatchObject({ state: "success" });
  const tooMuch = "return new Uint8Array(300 * 1024 * 1024).length";
  expect(await ivm.run(tooMuch, { timeoutMs: 20_000, memoryMb: 1000 })).toMatchObject({
    state: "failed",
    error: { reason: "memory_limit", message: expect.stringContaining("256 MB") },
  });
});

const loops: [string, string][] = [
  ["a synchronous loop", "console.log('before'); for (;;);"],
  ["a loop of microtasks", "console.log('before'); for (;;) await null;"],
  [
    "a loop in a getter of a rejected value",
    "console.log('before'); Promise.reject({ get message() { for (;;); } });",
  ],
  ["a regular expression", "console.log('before'); /^(a+)+$/.test('a'.repeat(50) + 'b');"],
  [
    "a loop in a timer",
    "console.log('before'); await new Promise(() => setTimeout(() => { for (;;); }, 1));",
  ],
  ["a loop in toJSON of the result", "console.log('before'); return { toJSON() { for (;;); } };"],
];
test.each(loops)("%s ends at the time limit, and what it printed is there", async (_, code) => {
  const run = await ivm.run(code, { timeoutMs: 400 });
  expect(run).toMatchObject({ state: "timeout", stdout: "before\n", error: { reason: "timeout" } });
  expect(await ivm.run("return 1")).toMatchObject({ state: "success", result: 1 });
});

test("the CPU limit is one of its own and names its value", async () => {
  const run = await ivm.run("for (;;);", { timeoutMs: 20_000, cpuMs: 150 });
  expect(run).toMatchObject({
    state: "failed",
    error: { reason: "cpu_limit", message: expect.stringContaining("150 ms") },
  });
  const waiting = await ivm.run("await new Promise((r) => setTimeout(r, 500)); return 1", {
    timeoutMs: 20_000,
    cpuMs: 150,
  });
  expect(waiting).toMatchObject({ state: "success" });
});

test("a run without a time limit is killed promptly while it spins", async () => {
  const { eid, over } = ivm.start("console.log('on'); for (;;);", { timeoutMs: null });
  while (ivm.records.get(eid)?.stdout !== "on\n") await new Promise((resolve) => setTimeout(resolve, 5));
  const before = performance.now();
  await ivm.env.kill(eid);
  expect(performance.now() - before).toBeLessThan(3000);
  expect(await over).toMatchObject({ state: "canceled", error: { reason: "killed" } });
});

test("a flood of output is cut and does not keep the run from its end", async () => {
  const run = await ivm.run("const line = 'x'.repeat(100_000); for (;;) console.log(line);", {
    timeoutMs: 1000,
    maxStdoutBytes: 10_000,
  });
  expect(run.state).toBe("timeout");
  expect(run.stdout.length).toBeLessThanOrEqual(10_001);
});

test("usage is that of the run, not of the slot's life", async () => {
  const busy = await ivm.run("const end = Date.now() + 300; while (Date.now() < end); return 1");
  const idle = await ivm.run("return 1");
  expect(busy.usage.cpuMs).toBeGreaterThan(50);
  expect(idle.usage.cpuMs).toBeLessThan(50);
  expect(idle.usage.peakMemoryBytes).toBeGreaterThan(500_000);
  expect(idle.usage.peakMemoryBytes).toBeLessThan(32 * 1024 * 1024);
});
