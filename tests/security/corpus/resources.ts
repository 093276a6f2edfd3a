/** Probes: more processor time, calls, timers, output and results than a run may have, and many bombs at once. */
import { expect } from "vitest";
import { BOMB_MB, GROWING, SPIN_MS, SPINNING, spins } from "./endless.ts";
import type { Probe } from "./probe.ts";

export const resourceProbes: Probe[] = [
  {
    id: "cpu.spinning",
    entries: [36],
    steals: "more processor time than was given",
    script: "let x = 0; for (;;) x++;",
    options: { cpuMs: 400, timeoutMs: 20_000 },
    observe: ["cpu_limit"],
    control: spins,
  },
  {
    id: "cpu.in-small-steps",
    entries: [36],
    steals: "more processor time than was given, a little in each turn",
    script:
      "for (;;) { const until = performance.now() + 15; while (performance.now() < until); await new Promise((resolve) => setTimeout(resolve, 1)); }",
    options: { cpuMs: 400, timeoutMs: 20_000 },
    observe: ["cpu_limit"],
    control: spins,
  },
  {
    id: "calls.million",
    entries: [33],
    steals: "the host's time: a million calls in a loop",
    script:
      "for (let index = 0; index < 1_000_000; index++) { tools.test.nothing({ index }).catch(() => {}); if (index % 1000 === 0) await new Promise((resolve) => setTimeout(resolve, 1)); }",
    options: { timeoutMs: 2_000, memoryMb: 512 },
    observe(run) {
      expect(["ok", "timeout"]).toContain(run.error?.reason ?? "ok");
      expect(run.calls.length).toBeGreaterThan(10);
      expect(run.calls.length).toBeLessThanOrEqual(10_000);
      expect(run.maxInFlight).toBeLessThanOrEqual(32);
    },
  },
  {
    id: "calls.too-many",
    entries: [33],
    steals: "more calls than a run may make",
    script:
      "const settled = await Promise.allSettled(Array.from({ length: 10_100 }, () => tools.test.nothing({}))); return [settled.filter(({ status }) => status === 'fulfilled').length, settled.at(-1).reason.code]",
    options: { timeoutMs: 90_000 },
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", [10_000, "max_calls"]]);
      expect(run.calls.length).toBe(10_000);
      expect(run.maxInFlight).toBeLessThanOrEqual(32);
    },
  },
  {
    id: "calls.at-once",
    entries: [33],
    steals: "the host's attention: thousands of calls open at once",
    script:
      "const calls = Array.from({ length: 5_000 }, (_, index) => tools.test.delay({ ms: 1, value: index })); const values = await Promise.all(calls); return values.every((value, index) => value === index)",
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", true]);
      expect(run.maxInFlight).toBeLessThanOrEqual(32);
    },
  },
  {
    id: "timers.million",
    entries: [46],
    steals: "the memory of whoever keeps the timers: a million of them",
    script: String.raw`
      let armed = 0, refused = 0, name = "";
      for (let index = 0; index < 1_000_000 && refused < 1000; index++) { try { setTimeout(() => {}, 1); armed++; } catch (error) { refused++; name = error.name; } }
      return [armed <= 10_000, name];`,
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", [true, "RangeError"]]);
    },
  },
  {
    id: "timers.churn",
    entries: [46],
    steals: "the host's time: timers armed and cleared without end",
    script:
      "for (;;) { for (let index = 0; index < 1000; index++) clearTimeout(setTimeout(() => {}, 1000)); await null; }",
    options: { timeoutMs: SPIN_MS },
    observe: ["timeout"],
    control: spins,
  },
  {
    id: "timers.all-at-zero",
    entries: [46],
    steals: "the host's time: timers that arm two more each time they fire",
    script:
      "const breed = () => { try { setImmediate(breed); setTimeout(breed, 0); } catch {} }; breed(); await new Promise(() => {});",
    options: { timeoutMs: SPIN_MS },
    observe: ["timeout"],
    control: spins,
  },
  {
    id: "output.console-flood",
    entries: [34],
    steals: "the host's memory: a gigabyte of console output",
    script:
      "const line = 'x'.repeat(100_000); for (let index = 0; index < 10_000; index++) console.log(line); return 'done'",
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", "done"]);
      expect(run.stdout.length).toBe(1024 * 1024 + 1);
    },
    control: {
      in: "plain-node",
      shows: "grows",
      script:
        "const lines = []; const line = () => 'x'.repeat(100_000) + lines.length; for (;;) lines.push(Buffer.from(line()));",
    },
  },
  {
    id: "output.tiny-flood",
    entries: [34],
    steals: "the host's time: millions of the smallest outputs",
    script: "for (let index = 0; ; index++) { console.log(''); console.error('e'); }",
    options: { timeoutMs: 800, maxStdoutBytes: 10_000, maxStderrBytes: 10_000 },
    observe(run) {
      expect(run.error?.reason).toBe("timeout");
      expect(run.stdout.length).toBeLessThanOrEqual(10_001);
    },
    control: spins,
  },
  {
    id: "output.objects",
    entries: [34],
    steals: "the memory of whoever prints: an object without end",
    script:
      "const endless = (depth) => new Proxy({}, { ownKeys: () => ['a', 'b', 'c'], getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }), get: (_, key) => (typeof key === 'symbol' || depth > 40 ? undefined : endless(depth + 1)) }); console.dir(endless(0), { depth: Infinity }); return 1",
    options: { timeoutMs: 1_000, memoryMb: BOMB_MB },
    observe: ["timeout", "memory_limit", "ok"],
  },
  {
    id: "output.merged",
    entries: [35],
    steals: "the host's memory: outputs of four megabytes again and again under the same key",
    script: "for (let index = 0; ; index++) cyrnel.output({ same: String(index % 10).repeat(3_900_000) });",
    observe: ["output_limit"],
    control: spins,
  },
  {
    id: "output.many-keys",
    entries: [35],
    steals: "the host's memory: outputs under ever new keys",
    script: "for (let index = 0; ; index++) cyrnel.output({ ['key' + index]: 'x'.repeat(50_000) });",
    observe: ["output_limit"],
    control: spins,
  },
  ...(
    [
      ["string", "return 'x'.repeat(256 * 1024 * 1024)"],
      ["escapes", "return '\\0'.repeat(3_000_000)"],
      ["array", "return new Array(5_000_000).fill(1)"],
      ["shared", "const part = 'x'.repeat(1000); return Array(10_000).fill({ part })"],
      [
        "exponential",
        "let value = ['x'.repeat(100)]; for (let index = 0; index < 40; index++) value = [value, value]; return value",
      ],
    ] as const
  ).map(
    ([name, script]): Probe => ({
      id: `result.${name}`,
      entries: [35],
      steals: "the host's memory, by a result larger than it may be",
      script,
      options: { timeoutMs: 20_000, memoryMb: 512 },
      observe(run) {
        expect(["output_limit", "memory_limit", "timeout"]).toContain(run.error?.reason);
        expect(run.hasResult).toBe(false);
      },
    }),
  ),
  {
    id: "stack.recursion",
    entries: [45],
    steals: "the process: recursion of every kind without end",
    script: String.raw`
      const kinds = [function f() { return f(); }, () => { const g = () => g(); g(); }, () => [1].map(function h() { return [1].map(h); }), () => { const p = new Proxy({}, { get: (_, key, self) => self[key] }); p.x; }, () => { const o = { toString: () => String(o) }; String(o); }, () => { const o = { toJSON: () => JSON.stringify(o) }; JSON.stringify(o); }, () => { class A { constructor() { new A(); } } new A(); }, () => { const r = () => "a".replace(/a/, r); r(); }, () => { const s = () => [2, 1].sort(s); s(); }, () => { const e = { get message() { return new Error("x", { cause: e.message }).message; } }; e.message; }, () => { const deep = () => { try { deep(); } finally { deep(); } }; let n = 0; const once = () => { if (n++ < 1) { try { deepOnce(); } finally {} } }; const deepOnce = () => deepOnce(); once(); }];
      return kinds.map((kind) => { try { kind(); return "returned"; } catch (error) { return error instanceof RangeError; } });`,
    observe(run) {
      expect([run.state, run.error?.message]).toEqual(["success", undefined]);
      expect(new Set(run.result)).toEqual(new Set([true]));
    },
  },
  {
    id: "neighbours.twenty-bombs",
    entries: [33, 89],
    steals: "the runs of others: bombs of every kind at once",
    script: "return 1",
    async observe(_run, bench) {
      const bombs = [SPINNING[0], SPINNING[3], GROWING[0], GROWING[4]].flatMap((bomb) =>
        bomb === undefined ? [] : [bomb[2]],
      );
      const runs = bombs.map((script) => bench.run(script, { timeoutMs: 1_000, memoryMb: BOMB_MB }));
      const calm = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          bench.run(`return (await tools.test.echo({ index: ${index} })).index`),
        ),
      );
      expect(calm.map(({ result }) => result)).toEqual([0, 1, 2, 3, 4, 5]);
      for (const { state } of await Promise.all(runs)) expect(["timeout", "failed"]).toContain(state);
      expect((await bench.run("return 'alive'")).result).toBe("alive");
    },
  },
];
