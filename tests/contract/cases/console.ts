/** Cases: what a script prints. */
import { expect } from "vitest";
import type { EnvironmentCase } from "../bench.ts";

export const consoleCases: EnvironmentCase[] = [
  {
    id: "console.streams",
    sentence: "log, info and debug go to stdout; warn, error and trace to stderr",
    async check({ run }) {
      const { stdout, stderr } = await run(
        'for (const name of ["log", "info", "debug", "warn", "error"]) console[name](name); console.trace("trace")',
      );
      expect(stdout).toBe("log\ninfo\ndebug\n");
      expect(stderr).toMatch(/^warn\nerror\nTrace: trace\n {4}at script\.ts:1:\d+\n$/);
    },
  },
  {
    id: "console.values",
    sentence: "values are formatted like Node's inspector does",
    async check({ run }) {
      const { stdout } = await run(`
        class Point { x = 1; #secret = 2; }
        console.log("a", 1, -0, true, null, undefined, 1n, Symbol("s"));
        console.log({ a: "x", "b-c": [1, 2, { d: { e: { f: 1 } } }], [Symbol("k")]: 1 });
        console.log([1.5, "it's", [], {}, [[[[]]]], , 2], new Map([["k", { v: 1 }]]), new Set([1]));
        console.log(new Point(), () => 1, class A {}, /x/g, new Date(0), new Uint8Array(2), Object.create(null));
        console.log(Array.from({ length: 120 }, (_, i) => i).length, Array.from({ length: 7 }, (_, i) => i * 100));
        console.log({ long: "x".repeat(60), other: "y".repeat(60) });`);
      expect(stdout).toBe(`a 1 -0 true null undefined 1n Symbol(s)
{ a: 'x', 'b-c': [ 1, 2, { d: [Object] } ], Symbol(k): 1 }
[ 1.5, "it's", [], {}, [ [ [Array] ] ], <1 empty item>, 2 ] Map(1) { 'k' => { v: 1 } } Set(1) { 1 }
Point { x: 1 } [Function (anonymous)] [class A] /x/g 1970-01-01T00:00:00.000Z Uint8Array(2) [ 0, 0 ] [Object: null prototype] {}
120 [
    0, 100, 200,
  300, 400, 500,
  600
]
{
  long: '${"x".repeat(60)}',
  other: '${"y".repeat(60)}'
}
`);
    },
  },
  {
    id: "console.format",
    sentence: "format specifiers are filled in",
    async check({ run }) {
      const { stdout } = await run(
        'console.log("%s is %d, %i, %f, %j, %o %%", "x", 4, 4.9, 1.5, { a: 1 }, [1], "rest")',
      );
      expect(stdout).toBe('x is 4, 4, 1.5, {"a":1}, [ 1, [length]: 1 ] % rest\n');
    },
  },
  {
    id: "console.errors",
    sentence: "printed errors show submitted positions, causes and added fields",
    async check({ run }) {
      const { stdout } = await run(
        'const e = new TypeError("bad", { cause: new Error("root") });\ne.code = "x";\nconsole.log(e);',
      );
      expect(stdout).toContain("TypeError: bad\n    at script.ts:1:11 {");
      expect(stdout).toContain("code: 'x'");
      expect(stdout).toContain("[cause]: Error: root\n      at script.ts:1:");
    },
  },
  {
    id: "console.groups",
    sentence: "groups indent, counters count, timers time, asserts speak when they fail",
    async check({ run }) {
      const { stdout, stderr } = await run(`
        console.group("g"); console.log("a\\nb"); console.group(); console.log({ a: 1 }); console.groupEnd(); console.groupEnd();
        console.count(); console.count("n"); console.count(); console.countReset(); console.count();
        console.time("t"); console.timeEnd("t"); console.timeEnd("t");
        console.assert(true, "no"); console.assert(false, "as %s", "said"); console.assert(false);
        console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });`);
      expect(stdout).toMatch(
        /^g\n {2}a\n {2}b\n {4}\{ a: 1 \}\ndefault: 1\nn: 1\ndefault: 2\ndefault: 1\nt: [\d.]+ms\n\{ a: \[Object\] \}\n$/,
      );
      expect(stderr).toBe(
        "Warning: No such label 't' for console.timeEnd()\nAssertion failed: as said\nAssertion failed\n",
      );
    },
  },
  {
    id: "console.table",
    sentence: "tables are drawn",
    async check({ run }) {
      const { stdout } = await run(
        'console.table([{ a: 1, b: "x" }, { a: 2 }]); console.table([5]); console.table("no table")',
      );
      expect(stdout).toBe(`┌─────────┬───┬─────┐
│ (index) │ a │ b   │
├─────────┼───┼─────┤
│ 0       │ 1 │ 'x' │
│ 1       │ 2 │     │
└─────────┴───┴─────┘
┌─────────┬────────┐
│ (index) │ Values │
├─────────┼────────┤
│ 0       │ 5      │
└─────────┴────────┘
no table
`);
    },
  },
  {
    id: "console.proxies",
    sentence: "printing tools and cyrnel makes no call",
    async check({ run }) {
      const { stdout, calls } = await run(
        'console.log(tools, tools.a.b, [tools.a]); console.log(cyrnel); console.log("" + tools.x, String(tools.a.b))',
      );
      expect(stdout).toContain("[tools] [tools.a.b] [ [tools.a] ]");
      expect(stdout).toContain("output: [Function: output]");
      expect(stdout).toContain("tools.x tools.a.b");
      expect(calls).toEqual([]);
    },
  },
  {
    id: "console.unicode",
    sentence: "text of any kind survives, lone surrogates become U+FFFD",
    async check({ run }) {
      const { stdout } = await run(
        'console.log("ä€😀\\u0000\\u2028\\u001b[31m"); console.log("\\ud83d"); console.log("\\ud83d" + "\\ude00".repeat(1))',
      );
      expect(stdout).toBe("ä€😀\u0000\u2028\u001b[31m\n\ufffd\n😀\n");
    },
  },
  {
    id: "console.large",
    sentence: "a text larger than a message arrives whole",
    async check({ run }) {
      const { stdout, state } = await run('console.log("ab\\u0001😀".repeat(150_000))', {
        maxStdoutBytes: 4_000_000,
      });
      expect(state).toBe("success");
      expect(stdout === `${"ab\u0001😀".repeat(150_000)}\n`).toBe(true);
    },
  },
  {
    id: "console.hostile-values",
    sentence: "values that throw while being printed do not stop the run from being described",
    async check({ run }) {
      const { state, error } = await run(`
        const inspect = Symbol.for("nodejs.util.inspect.custom");
        try { console.log({ get [inspect]() { throw new Error("no"); } }); } catch {}
        try { console.log(new Proxy({}, { ownKeys() { throw 1; }, get() { throw 2; } })); } catch {}
        try { console.log({ toString() { throw 3; } }, Object.create({ constructor: null })); } catch {}
        console.log("still here");`);
      expect([state, error]).toEqual(["success", undefined]);
    },
  },
];
