/** Probes: time, memory and output without end. Each run ends with the reason of its limit; its neighbour does not notice. */
import { expect } from "vitest";
import type { Control, Probe } from "./probe.ts";

const spins: Control = { in: "plain-node", shows: "spins" };
const grows: Control = { in: "plain-node", shows: "grows" };

const SPIN_MS = 300;
const BOMB_MB = 64;
const BOMB_MS = 10_000;

/** Scripts that compute or wait for ever: nothing but the clock of the host ends them. */
const SPINNING: [name: string, entries: number[], script: string, isWaiting?: boolean][] = [
  ["loop", [36], "for (;;);"],
  ["loop-in-finally", [36], "for (;;) { try { for (;;); } finally { continue; } }"],
  ["loop-in-catch", [36], "const f = () => { try { f(); } catch { f(); } }; for (;;) f();"],
  ["microtasks", [37], "for (;;) await null;"],
  ["microtasks-that-breed", [37], "const breed = () => Promise.resolve().then(breed); breed(); await new Promise(() => {});"],
  ["microtask-queue", [37], "const again = () => queueMicrotask(again); again(); await new Promise((resolve) => setTimeout(resolve, 60_000));"],
  ["awaited-timer", [38], "await new Promise((resolve) => setTimeout(resolve, 60_000));", true],
  ["hanging-call", [38], "await tools.test.hang({});", true],
  ["interval", [38, 46], "setInterval(() => {}, 0); await new Promise(() => {});", true],
  ["pattern", [39], "/^(a+)+$/.test('a'.repeat(50) + 'b');"],
  ["pattern-lookbehind", [39], "/(?<=(a+)+)b$/.test('a'.repeat(60) + 'c'); 'x'.repeat(3e4).replace(/(x*)*y/, '');"],
  ["bigint", [40], "let n = 2n ** 1_000_000n; for (;;) n = (n * n) % (2n ** 20_000_000n);"],
  ["bigint-text", [40], "for (;;) (2n ** 3_000_000n).toString();"],
  ["sort", [36], "[...Array(1000).keys()].sort(() => { for (;;); });"],
  ["proxy-chain", [36], "let p = {}; for (let i = 0; i < 2000; i++) p = new Proxy(p, {}); for (;;) p.x;"],
  ["generator", [36], "const endless = { *[Symbol.iterator]() { for (;;) yield 1; } }; for (const _ of endless);"],
  ["spread-of-endless", [36], "new Set({ [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }) }) });"],
  ["async-generator", [37], "for await (const _ of (async function* () { for (;;) yield 1; })());"],
  ["to-primitive", [36], "`${{ [Symbol.toPrimitive]() { for (;;); } }}`"],
  ["getter-in-console", [36], "console.log({ [Symbol.for('nodejs.util.inspect.custom')]() { for (;;); } }); for (;;);"],
  ["intl", [36], "for (;;) new Intl.NumberFormat('en', { style: 'currency', currency: 'EUR' }).format(1e21);"],
  ["json", [36], "for (;;) JSON.parse(JSON.stringify(Array(1000).fill({ a: 'b' })));"],
  ["buffers", [36], "const a = new Uint8Array(1e6); for (;;) a.fill(1).sort();"],
  ["date", [36], "for (;;) new Date('x' + Math.random()).getTime();"],
  ["failing-calls", [33], "for (;;) await Promise.resolve(tools.test.fail({ message: 'm' })).catch(() => {});"],
  ["rejections-handled-late", [37], "for (;;) { const p = Promise.reject(1); p.catch(() => {}); await null; }"],
  ["weak-references", [36], "const r = new FinalizationRegistry(() => {}); for (;;) { r.register({}, 1); new WeakRef({}); await null; }"],
];

/** Scripts that take memory for ever, in small limits. */
const GROWING: [name: string, entries: number[], script: string][] = [
  ["heap", [41], "const hold = []; for (;;) hold.push(new Array(10_000).fill({}));"],
  ["objects", [41], "const hold = {}; for (let i = 0; ; i++) hold['key' + i] = { i };"],
  ["map", [41], "const hold = new Map(); for (let i = 0; ; i++) hold.set(i, { i });"],
  ["closures", [41], "const hold = []; for (;;) { const big = new Array(1000).fill(1); hold.push(() => big); }"],
  ["buffers", [42], "const hold = []; for (;;) { hold.push(new Uint8Array(4 * 1024 * 1024).fill(1)); }"],
  ["many-buffers", [42], "const hold = []; for (;;) { hold.push(new ArrayBuffer(16_384)); new Uint8Array(hold.at(-1)).fill(1); }"],
  ["resizable", [43], "const buffer = new ArrayBuffer(0, { maxByteLength: 64 * 1024 ** 3 > 2 ** 33 ? 2 ** 33 : 2 ** 32 }); for (let size = 0; ; size += 2 ** 24) { buffer.resize(size); new Uint8Array(buffer, Math.max(0, size - 2 ** 24)).fill(1); }"],
  ["strings", [44], "const hold = []; for (let i = 0; ; i++) hold.push(Array.from({ length: 1000 }, (_, n) => 'text' + i + '-' + n).join());"],
  ["doubling-string", [44], "let text = 'xy'; const hold = []; for (;;) { text = (text + text).slice(0, 2 ** 24); hold.push([...text.slice(0, 2 ** 16)], text.split('x')); }"],
  ["spread", [44], "let list = [1]; for (;;) list = [...list, ...list];"],
  ["json-parse", [44], "const hold = []; for (;;) hold.push(JSON.parse('[' + '{\"a\":1},'.repeat(100_000) + '0]'));"],
  ["flat", [44], "let list = [[]]; for (let i = 0; ; i++) { list = [list, list, list].flat().concat(list); }"],
  ["typed-array-from", [44], "const hold = []; for (;;) hold.push(Float64Array.from({ length: 1e6 }, () => 1));"],
  ["bigint", [40], "const hold = []; for (let i = 1n; ; i++) hold.push(2n ** (2_000_000n + i));"],
  ["promises", [46], "const hold = []; for (;;) hold.push(new Promise((resolve) => { hold.push(resolve); }));"],
  ["microtasks", [37], "const double = () => { queueMicrotask(double); queueMicrotask(double); }; double(); await new Promise(() => {});"],
  ["unhandled-rejections", [41], "for (;;) Promise.reject(new Array(1000).fill(1));"],
  ["clone", [44], "const hold = [[]]; for (let i = 0; ; i++) hold.push(structuredClone(hold));"],
  ["symbols", [44], "const hold = {}; for (let i = 0; ; i++) hold[Symbol('s' + i)] = { i };"],
  ["pattern-captures", [39], "const hold = []; for (;;) hold.push('ab'.repeat(50_000).match(/(a)(b)/g), [...'ab'.repeat(10_000).matchAll(/(a)(b)/g)]);"],
  ["errors", [45], "const hold = []; Error.stackTraceLimit = 1000; const deep = (n) => (n === 0 ? hold.push(new Error('x'.repeat(1000))) : deep(n - 1)); for (;;) deep(200);"],
  ["calls-waiting", [33], "const hold = []; for (let i = 0; i < 9_900; i++) { const call = tools.test.hang({ a: 'x'.repeat(20_000) + i }); call.catch(() => {}); hold.push(call); } for (;;) hold.push(new Array(1000).fill(i => i));"],
];

export const resourceProbes: Probe[] = [
  ...SPINNING.map(
    ([name, entries, script, isWaiting]): Probe => ({
      id: `time.${name}`,
      entries,
      steals: "a processor, for ever",
      script: `console.log("before"); ${script}`,
      options: { timeoutMs: SPIN_MS },
      observe(run) {
        // Some grow as well, or are answered "enough" by another limit before their time is up.
        expect([run.state, run.error?.reason]).toEqual(["timeout", "timeout"]);
        expect(run.error?.message).toMatch(/300 ms/);
        expect(run.stdout).toBe("before\n");
        expect(run.wallMs).toBeLessThan(10_000);
      },
      ...(!isWaiting && { control: spins }),
    }),
  ),
  ...GROWING.map(
    ([name, entries, script]): Probe => ({
      id: `memory.${name}`,
      entries,
      steals: "the memory of the machine",
      script: `console.log("before"); ${script}`,
      options: { timeoutMs: BOMB_MS, memoryMb: BOMB_MB },
      observe(run) {
        expect(run.state).toBe("failed");
        expect(["memory_limit", "script_error"]).toContain(run.error?.reason);
        if (run.error?.reason === "script_error") expect(run.error.message).toMatch(/allocation failed|[Ii]nvalid|maximum|too large|out of memory/i);
        else expect(run.error?.message).toMatch(/64 MB/);
        expect(run.usage.peakMemoryBytes).toBeLessThan(700 * 1024 * 1024);
        expect(run.wallMs).toBeLessThan(BOMB_MS);
      },
      control: grows,
    }),
  ),
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
    script: "for (;;) { const until = performance.now() + 15; while (performance.now() < until); await new Promise((resolve) => setTimeout(resolve, 1)); }",
    options: { cpuMs: 400, timeoutMs: 20_000 },
    observe: ["cpu_limit"],
    control: spins,
  },
  {
    id: "calls.million",
    entries: [33],
    steals: "the host's time: a million calls in a loop",
    script: String.raw`
      let refused = 0, name = "";
      const calls = [];
      for (let index = 0; index < 1_000_000; index++) { if (index < 12_000) calls.push(tools.test.nothing({}).catch((error) => { refused++; name = error.code; })); else if (index === 12_000) await Promise.all(calls); else tools.test.nothing({}).catch(() => {}); if (index % 50_000 === 0) await null; }
      return [refused, name];`,
    options: { timeoutMs: 30_000, memoryMb: 512 },
    observe(run) {
      expect([run.state, run.error?.reason]).toEqual(["success", undefined]);
      expect(run.result).toEqual([2_000, "max_calls"]);
      expect(run.calls.length).toBe(10_000);
      expect(run.maxInFlight).toBeLessThanOrEqual(32);
    },
  },
  {
    id: "calls.at-once",
    entries: [33],
    steals: "the host's attention: thousands of calls open at once",
    script: "const calls = Array.from({ length: 5_000 }, (_, index) => tools.test.delay({ ms: 1, value: index })); const values = await Promise.all(calls); return values.every((value, index) => value === index)",
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
      let armed = 0, refused = 0, fired = 0, name = "";
      for (let index = 0; index < 1_000_000; index++) { try { setTimeout(() => fired++, 1); armed++; } catch (error) { refused++; name = error.name; if (refused > 1000) break; } }
      await new Promise((resolve) => { const wait = () => { try { setTimeout(resolve, 200); } catch { queueMicrotask(wait); } }; setTimeout.length; Promise.resolve().then(() => resolve()); });
      return [armed <= 10_000, name];`,
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", [true, "RangeError"]]);
    },
  },
  {
    id: "timers.churn",
    entries: [46],
    steals: "the host's time: timers armed and cleared without end",
    script: "for (;;) { for (let index = 0; index < 1000; index++) clearTimeout(setTimeout(() => {}, 1000)); await null; }",
    options: { timeoutMs: SPIN_MS },
    observe: ["timeout"],
    control: spins,
  },
  {
    id: "timers.all-at-zero",
    entries: [46],
    steals: "the host's time: timers that arm two more each time they fire",
    script: "const breed = () => { try { setImmediate(breed); setTimeout(breed, 0); } catch {} }; breed(); await new Promise(() => {});",
    options: { timeoutMs: SPIN_MS },
    observe: ["timeout"],
    control: spins,
  },
  {
    id: "output.console-flood",
    entries: [34],
    steals: "the host's memory: a gigabyte of console output",
    script: "const line = 'x'.repeat(100_000); for (let index = 0; index < 10_000; index++) console.log(line); return 'done'",
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", "done"]);
      expect(run.stdout.length).toBe(1024 * 1024 + 1);
    },
    control: { in: "plain-node", shows: "grows", script: "const lines = []; const line = () => 'x'.repeat(100_000) + lines.length; for (;;) lines.push(Buffer.from(line()));" },
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
    script: "const endless = (depth) => new Proxy({}, { ownKeys: () => ['a', 'b', 'c'], getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }), get: (_, key) => (typeof key === 'symbol' || depth > 40 ? undefined : endless(depth + 1)) }); console.dir(endless(0), { depth: Infinity }); return 1",
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
      ["exponential", "let value = ['x'.repeat(100)]; for (let index = 0; index < 40; index++) value = [value, value]; return value"],
    ] as const
  ).map(
    ([name, script]): Probe => ({
      id: `result.${name}`,
      entries: [35],
      steals: "the host's memory, by a result larger than it may be",
      script,
      options: { timeoutMs: BOMB_MS, memoryMb: 512 },
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
      const bombs = [SPINNING[0], SPINNING[3], GROWING[0], GROWING[4]].flatMap((bomb) => (bomb === undefined ? [] : [bomb[2]]));
      const runs = bombs.map((script) => bench.run(script, { timeoutMs: 1_000, memoryMb: BOMB_MB }));
      const calm = await Promise.all(Array.from({ length: 6 }, (_, index) => bench.run(`return (await tools.test.echo({ index: ${index} })).index`)));
      expect(calm.map(({ result }) => result)).toEqual([0, 1, 2, 3, 4, 5]);
      for (const { state } of await Promise.all(runs)) expect(["timeout", "failed"]).toContain(state);
      expect((await bench.run("return 'alive'")).result).toBe("alive");
    },
  },
];
