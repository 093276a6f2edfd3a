/** Probes: computing, waiting and taking memory without end. Each run ends with the reason of its limit. */
import { expect } from "vitest";
import type { Control, Probe } from "./probe.ts";

export const spins: Control = { in: "plain-node", shows: "spins" };
const grows: Control = { in: "plain-node", shows: "grows" };

export const SPIN_MS = 300;
export const BOMB_MB = 48;
/** A bound only: what a bomb must meet is its limit of memory, however busy the machine is. */
export const BOMB_MS = 90_000;

/** Scripts that compute or wait for ever: nothing but the clock of the host ends them. */
export const SPINNING: [name: string, entries: number[], script: string, isWaiting?: boolean][] = [
  ["loop", [36], "for (;;);"],
  ["loop-in-finally", [36], "for (;;) { try { for (;;); } finally { continue; } }"],
  ["loop-in-catch", [36], "const f = () => { try { f(); } catch { f(); } }; for (;;) f();"],
  ["microtasks", [37], "for (;;) await null;"],
  [
    "microtasks-that-breed",
    [37],
    "const breed = () => Promise.resolve().then(breed); breed(); await new Promise(() => {});",
  ],
  [
    "microtask-queue",
    [37],
    "const again = () => queueMicrotask(again); again(); await new Promise((resolve) => setTimeout(resolve, 60_000));",
  ],
  ["awaited-timer", [38], "await new Promise((resolve) => setTimeout(resolve, 60_000));", true],
  ["hanging-call", [38], "await tools.test.hang({});", true],
  ["interval", [38, 46], "setInterval(() => {}, 0); await new Promise(() => {});", true],
  ["pattern", [39], "/^(a+)+$/.test('a'.repeat(50) + 'b');"],
  [
    "pattern-lookbehind",
    [39],
    "/(?<=(a+)+)b$/.test('a'.repeat(60) + 'c'); 'x'.repeat(3e4).replace(/(x*)*y/, '');",
  ],
  ["bigint", [40], "let n = 2n ** 1_000_000n; for (;;) n = (n * n) % (2n ** 20_000_000n);"],
  ["bigint-text", [40], "for (;;) (2n ** 3_000_000n).toString();"],
  ["sort", [36], "[...Array(1000).keys()].sort(() => { for (;;); });"],
  ["proxy-chain", [36], "let p = {}; for (let i = 0; i < 2000; i++) p = new Proxy(p, {}); for (;;) p.x;"],
  [
    "generator",
    [36],
    "const endless = { *[Symbol.iterator]() { for (;;) yield 1; } }; for (const _ of endless);",
  ],
  [
    "spread-of-endless",
    [36],
    "new Set({ [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }) }) });",
  ],
  ["async-generator", [37], "for await (const _ of (async function* () { for (;;) yield 1; })());"],
  ["to-primitive", [36], "'' + { [Symbol.toPrimitive]() { for (;;); } };"],
  [
    "getter-in-console",
    [36],
    "console.log({ [Symbol.for('nodejs.util.inspect.custom')]() { for (;;); } }); for (;;);",
  ],
  [
    "intl",
    [36],
    "for (;;) new Intl.NumberFormat('en', { style: 'currency', currency: 'EUR' }).format(1e21);",
  ],
  ["json", [36], "for (;;) JSON.parse(JSON.stringify(Array(1000).fill({ a: 'b' })));"],
  ["buffers", [36], "const a = new Uint8Array(1e6); for (;;) a.fill(1).sort();"],
  ["date", [36], "for (;;) new Date('x' + Math.random()).getTime();"],
  [
    "failing-calls",
    [33],
    "for (;;) await Promise.resolve(tools.test.fail({ message: 'm' })).catch(() => {});",
  ],
  [
    "rejections-handled-late",
    [37],
    "for (;;) { const p = Promise.reject(1); p.catch(() => {}); await null; }",
  ],
  [
    "weak-references",
    [36],
    "const r = new FinalizationRegistry(() => {}); for (;;) { r.register({}, 1); new WeakRef({}); await null; }",
  ],
];

/** Scripts that take memory for ever, in small limits. */
export const GROWING: [name: string, entries: number[], script: string][] = [
  ["heap", [41], "const hold = []; for (;;) hold.push(new Array(10_000).fill({}));"],
  ["objects", [41], "const hold = {}; for (let i = 0; ; i++) hold['key' + i] = { i };"],
  ["map", [41], "const hold = new Map(); for (let i = 0; ; i++) hold.set(i, { i });"],
  [
    "closures",
    [41],
    "const hold = []; for (;;) { const big = new Array(1000).fill(1); hold.push(() => big); }",
  ],
  ["buffers", [42], "const hold = []; for (;;) { hold.push(new Uint8Array(4 * 1024 * 1024).fill(1)); }"],
  [
    "many-buffers",
    [42],
    "const hold = []; for (;;) { hold.push(new ArrayBuffer(16_384)); new Uint8Array(hold.at(-1)).fill(1); }",
  ],
  [
    "resizable",
    [43],
    "const buffer = new ArrayBuffer(0, { maxByteLength: 64 * 1024 ** 3 > 2 ** 33 ? 2 ** 33 : 2 ** 32 }); for (let size = 0; ; size += 2 ** 24) { buffer.resize(size); new Uint8Array(buffer, Math.max(0, size - 2 ** 24)).fill(1); }",
  ],
  [
    "strings",
    [44],
    "const hold = []; for (let i = 0; ; i++) hold.push(Array.from({ length: 1000 }, (_, n) => 'text' + i + '-' + n).join());",
  ],
  [
    "doubling-string",
    [44],
    "let text = 'xy'; const hold = []; for (;;) { text = (text + text).slice(0, 2 ** 24); hold.push([...text.slice(0, 2 ** 16)], text.split('x')); }",
  ],
  ["spread", [44], "let list = [1]; for (;;) list = [...list, ...list];"],
  [
    "json-parse",
    [44],
    "const hold = []; for (;;) hold.push(JSON.parse('[' + '{\"a\":1},'.repeat(100_000) + '0]'));",
  ],
  [
    "flat",
    [44],
    "let list = [[]]; for (let i = 0; ; i++) { list = [list, list, list].flat().concat(list); }",
  ],
  [
    "typed-array-from",
    [44],
    "const hold = []; for (;;) hold.push(Float64Array.from({ length: 1e6 }, () => 1));",
  ],
  ["bigint", [40], "const hold = []; for (let i = 1n; ; i++) hold.push(2n ** (2_000_000n + i));"],
  [
    "promises",
    [46],
    "const hold = []; for (;;) hold.push(new Promise((resolve) => { hold.push(resolve); }));",
  ],
  [
    "microtasks",
    [37],
    "const double = () => { queueMicrotask(double); queueMicrotask(double); }; double(); await new Promise(() => {});",
  ],
  ["rejections", [41], "const hold = []; for (;;) hold.push(Promise.reject(new Array(1000).fill(1)));"],
  ["clone", [44], "const hold = [[]]; for (let i = 0; ; i++) hold.push(structuredClone(hold));"],
  ["symbols", [44], "const hold = {}; for (let i = 0; ; i++) hold[Symbol('s' + i)] = { i };"],
  [
    "pattern-captures",
    [39],
    "const hold = []; for (;;) hold.push('ab'.repeat(50_000).match(/(a)(b)/g), [...'ab'.repeat(10_000).matchAll(/(a)(b)/g)]);",
  ],
  [
    "errors",
    [45],
    "const hold = []; Error.stackTraceLimit = 1000; const deep = (n) => (n === 0 ? hold.push(new Error('x'.repeat(1000))) : deep(n - 1)); for (;;) deep(200);",
  ],
  [
    "calls-waiting",
    [33],
    "const hold = []; for (let i = 0; i < 9_900; i++) { const call = tools.test.hang({ a: 'x'.repeat(20_000) + i }); call.catch(() => {}); hold.push(call); } for (;;) hold.push(new Array(1000).fill(i => i));",
  ],
];

export const endlessProbes: Probe[] = [
  ...SPINNING.map(
    ([name, entries, script, isWaiting]): Probe => ({
      id: `time.${name}`,
      entries,
      steals: "a processor, for ever",
      script: `console.log("before"); ${script}`,
      options: { timeoutMs: SPIN_MS },
      observe(run) {
        expect([run.state, run.error?.reason]).toEqual(["timeout", "timeout"]);
        expect(run.error?.message).toMatch(/300 ms/);
        expect(run.usage.wallMs).toBeLessThan(10_000);
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
        if (run.error?.reason === "script_error")
          expect(run.error.message).toMatch(/allocation failed|[Ii]nvalid|maximum|too large|out of memory/i);
        else expect(run.error?.message).toMatch(/48 MB/);
        expect(run.usage.peakMemoryBytes).toBeLessThan(700 * 1024 * 1024);
      },
      control: grows,
    }),
  ),
];
