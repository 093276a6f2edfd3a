/** Cases: input, results and output. */
import { expect } from "vitest";
import type { EnvironmentCase } from "../bench.ts";

export const resultCases: EnvironmentCase[] = [
  {
    id: "input.values",
    sentence: "a script finds the JSON it was given as cyrnel.input, and undefined when it was given none",
    async check({ run }) {
      const text = '\u0000\u2028"\\😀\u007f';
      for (const input of [
        null,
        0,
        "",
        text,
        false,
        [],
        {},
        [1, [2, { a: null }]],
        { "": 1, [text]: [text] },
      ]) {
        const { result } = await run("return [cyrnel.input, 'input' in cyrnel]", { input });
        expect(result).toEqual([input, true]);
      }
      expect((await run("return typeof cyrnel.input + Object.keys(cyrnel).includes('input')")).result).toBe(
        "undefinedtrue",
      );
    },
  },
  {
    id: "input.frozen",
    sentence: "the input is plain data of the script's own context, frozen all the way down",
    async check({ run }) {
      const { result } = await run(
        `const { input } = cyrnel;
        const attempt = (change) => { try { change(); return "done"; } catch (error) { return error.constructor.name; } };
        return [input instanceof Object, Object.getPrototypeOf(input.list) === Array.prototype, input === cyrnel.input,
          Object.isFrozen(input), Object.isFrozen(input.list), Object.isFrozen(input.list[0]), Object.isFrozen(input.deep.er.est),
          attempt(() => { "use strict"; input.list[0].a = 2; }), attempt(() => { "use strict"; input.list.push(1); }),
          attempt(() => { "use strict"; input.other = 1; }), attempt(() => { "use strict"; cyrnel.input = 1; }), input];`,
        { input: { list: [{ a: 1 }], deep: { er: { est: [] } } } },
      );
      expect(result).toEqual([
        ...[true, true, true, true, true, true, true],
        ...Array(4).fill("TypeError"),
        { list: [{ a: 1 }], deep: { er: { est: [] } } },
      ]);
    },
  },
  {
    id: "input.prototypes",
    sentence: "keys such as __proto__ and constructor in the input are data",
    async check({ run }) {
      const input = JSON.parse(
        '{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 2}}, "toJSON": 3, "then": 4}',
      );
      const { state, result } = await run(
        `const { input } = cyrnel;
        return [Object.keys(input), Object.getPrototypeOf(input) === Object.prototype, ({}).polluted ?? null, input.polluted ?? null,
          Object.isFrozen(Object.getOwnPropertyDescriptor(input, "__proto__").value), Object.isFrozen(Object.prototype),
          Object.getOwnPropertyDescriptor(input, "__proto__").value.polluted]`,
        { input },
      );
      expect([state, result]).toEqual([
        "success",
        [["__proto__", "constructor", "toJSON", "then"], true, null, null, true, false, 1],
      ]);
    },
  },
  {
    id: "input.large",
    sentence: "an input of a mebibyte arrives whole, nested as deep as is allowed",
    async check({ run }) {
      const rows = Array.from({ length: 20_000 }, (_, n) => ({ id: n, name: `row ${n}`, tags: ["a"] }));
      let deep: unknown = "bottom";
      for (let level = 0; level < 60; level++) deep = level % 2 === 0 ? [deep] : { deep };
      const { result } = await run(
        `const { rows, deep } = cyrnel.input;
        let bottom = deep;
        while (typeof bottom === "object") bottom = Array.isArray(bottom) ? bottom[0] : bottom.deep;
        return [rows.length, rows.reduce((sum, { id }) => sum + id, 0), Object.isFrozen(rows[19999].tags), bottom]`,
        { input: { rows, deep } },
      );
      expect(result).toEqual([20_000, 199_990_000, true, "bottom"]);
    },
  },
  {
    id: "result.values",
    sentence: "a script returns any JSON value",
    async check({ run }) {
      for (const value of [
        null,
        0,
        -1.5,
        "",
        "text",
        true,
        [],
        {},
        [1, [2, { a: null }]],
        { "": 1, "ä b": ["x"] },
      ]) {
        const { state, result, hasResult } = await run(`return ${JSON.stringify(value)}`);
        expect([state, hasResult, result]).toEqual(["success", true, value]);
      }
    },
  },
  {
    id: "result.absent",
    sentence: "a script that returns nothing has no result",
    async check({ run }) {
      for (const code of ["", "return", "return undefined", "const a = 1", "void 1", "return (() => {})()"]) {
        const { state, hasResult, error } = await run(code);
        expect([state, hasResult, error]).toEqual(["success", false, undefined]);
      }
    },
  },
  {
    id: "result.awaited",
    sentence: "a returned promise is awaited",
    async check({ run }) {
      const { result } = await run("return new Promise((resolve) => setTimeout(resolve, 5, { late: true }))");
      expect(result).toEqual({ late: true });
    },
  },
  {
    id: "result.json-rules",
    sentence: "dates, toJSON, undefined members, boxed values and -0 follow JSON.stringify",
    async check({ run }) {
      const { result } = await run(`
        return { date: new Date(0), own: { toJSON: (key) => "as " + key }, none: undefined, list: [-0],
          boxed: [new Number(1), new String("s"), new Boolean(false)] };`);
      expect(result).toEqual({
        date: "1970-01-01T00:00:00.000Z",
        own: "as own",
        list: [0],
        boxed: [1, "s", false],
      });
    },
  },
  {
    id: "result.text",
    sentence: "strings of any kind survive in results and outputs",
    async check({ run }) {
      const { result, output } = await run(
        'const text = "\\u0000\\u2028\\"\\\\😀\\u007f"; cyrnel.output({ text, [text]: 1 }); return { text, lone: "\\ud800" }',
      );
      const text = '\u0000\u2028"\\😀\u007f';
      expect(result.text).toBe(text);
      expect(output).toEqual({ text, [text]: 1 });
    },
  },
  {
    id: "result.not-json",
    sentence: "what JSON cannot hold is a script error that names its place",
    async check({ run }) {
      const cases: [string, RegExp][] = [
        [
          "return { a: [1, 10n ** 1000n] }",
          /result\.a\[1\] is a bigint of more than 1000 digits.*String\(\)/,
        ],
        ["return () => 1", /result is a function/],
        ["return { f() {} }", /result\.f is a function/],
        ['return { "x y": [Symbol("s")] }', /result\["x y"\]\[0\] is a symbol/],
        ["const a = { b: [] }; a.b.push({ c: a }); return a", /result\.b\[0\]\.c contains itself/],
        ["return { get a() { throw new Error('getter') } }", /getter/],
      ];
      for (const [code, message] of cases) {
        const { state, error, hasResult } = await run(code);
        expect([state, error?.reason, hasResult]).toEqual(["failed", "script_error", false]);
        expect(error?.message).toMatch(message);
      }
    },
  },
  {
    id: "result.depth",
    sentence: "results may be 512 levels deep and no deeper",
    async check({ run }) {
      const nested = (levels: number) => `let v = []; for (let i = 1; i < ${levels}; i++) v = [v]; return v`;
      const deep = await run(nested(512));
      expect([deep.state, JSON.stringify(deep.result).length]).toEqual(["success", 1024]);
      const deeper = await run(nested(513));
      expect([deeper.state, deeper.error?.reason]).toEqual(["failed", "script_error"]);
      expect(deeper.error?.message).toMatch(/result is nested deeper than 512 levels/);
    },
  },
  {
    id: "result.repeated",
    sentence: "an object that appears twice is no cycle",
    async check({ run }) {
      const { result } = await run("const a = { x: 1 }; return [a, a, { a }]");
      expect(result).toEqual([{ x: 1 }, { x: 1 }, { a: { x: 1 } }]);
    },
  },
  {
    id: "result.too-large",
    sentence: "a result beyond 4 MiB fails the run and tells limit and size",
    async check({ run }) {
      const fits = await run('return "x".repeat(4 * 1024 * 1024 - 2)');
      expect([fits.state, fits.result?.length]).toEqual(["success", 4 * 1024 * 1024 - 2]);
      for (const code of [
        'return "x".repeat(4 * 1024 * 1024)',
        'return "€".repeat(1_500_000)',
        "return new Array(2e6)",
      ]) {
        const { state, error, hasResult } = await run(code);
        expect([state, error?.reason, hasResult]).toEqual(["failed", "output_limit", false]);
        expect(error?.message).toMatch(/result is \d{7,} bytes .* at most 4194304/);
      }
    },
  },
  {
    id: "output.merge",
    sentence: "outputs are merged at the top level, later keys win",
    async check({ run }) {
      const { output } = await run(
        "cyrnel.output({ a: 1, b: { c: 1 } }); cyrnel.output({ b: { d: 2 }, none: undefined }); cyrnel.output({})",
      );
      expect(output).toEqual({ a: 1, b: { d: 2 } });
    },
  },
  {
    id: "output.kept",
    sentence: "outputs made before a failure are kept",
    async check({ run }) {
      const { state, output, stdout } = await run(
        'cyrnel.output({ step: 1 }); console.log("x"); throw new Error("late")',
      );
      expect([state, output, stdout]).toEqual(["failed", { step: 1 }, "x\n"]);
    },
  },
  {
    id: "output.wrong",
    sentence: "output takes one object and says so; a refused one emits nothing",
    async check({ run }) {
      const { result, output } = await run(`
        const messages = [];
        const cyclic = {}; cyclic.self = cyclic;
        for (const value of [1, null, [1], "x", undefined, { a: 1, b: () => 1 }, { c: cyclic }]) {
          try { cyrnel.output(value); } catch (e) { messages.push([e instanceof TypeError, e.message]); }
        }
        return messages;`);
      expect(output).toEqual({});
      expect(result).toHaveLength(7);
      expect(result.every(([isTypeError]: [boolean]) => isTypeError)).toBe(true);
      expect(result[2][1]).toMatch(/expects an object.*found an array/);
      expect(result[5][1]).toMatch(/output\.b is a function/);
      expect(result[6][1]).toMatch(/output\.c.*contains itself/);
    },
  },
  {
    id: "output.too-large",
    sentence: "more than 4 MiB of output, merged, fails the run; replacing a key does not add up",
    async check({ run }) {
      const replaced = await run('for (let i = 0; i < 5; i++) cyrnel.output({ a: "x".repeat(1_500_000) })');
      expect(replaced.state).toBe("success");
      const added = await run(
        'for (let i = 0; i < 5; i++) cyrnel.output({ ["k" + i]: "x".repeat(1_500_000) }); return 1',
      );
      expect([added.state, added.error?.reason, added.hasResult]).toEqual(["failed", "output_limit", false]);
      expect(added.error?.message).toMatch(/output is \d{7} bytes .* at most 4194304/);
    },
  },
];
