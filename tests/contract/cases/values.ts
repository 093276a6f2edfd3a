/** Cases: values that a script hands over arrive as they were, or the run says that they cannot. */
import { expect } from "vitest";
import { withRawIntegers } from "#sdk";
import type { EnvironmentCase } from "../bench.ts";

/** Every kind of value beside plain data, as an expression, and the JSON that it becomes. */
const KINDS: [string, unknown][] = [
  ['new Map([["a", 1], ["b", new Map([["c", [new Set([2])]]])]])', { a: 1, b: { c: [[2]] } }],
  [
    'new Map([[1, "x"], ["y", 2]])',
    [
      [1, "x"],
      ["y", 2],
    ],
  ],
  ["new Set([1, 2])", [1, 2]],
  ["[1, 2].values().map((n) => n * 2)", [2, 4]],
  ["(function* () { yield 1; yield 2 })()", [1, 2]],
  ['new Map([["a", 1]]).entries()', [["a", 1]]],
  ["new Uint8Array([1, 2])", [1, 2]],
  ["new Float64Array([0.5])", [0.5]],
  ["new Uint8Array([1, 2]).buffer", [1, 2]],
  [
    'new RangeError("far", { cause: new Error("why") })',
    { name: "RangeError", message: "far", cause: { name: "Error", message: "why" } },
  ],
  ['Object.assign(new Error("boom"), { code: "E1" })', { name: "Error", message: "boom", code: "E1" }],
  ["new Date(0)", "1970-01-01T00:00:00.000Z"],
  ["new URL('https://a.test/b')", "https://a.test/b"],
  ["5n", 5],
  ["(() => { const twice = { a: [1] }; return [twice, twice] })()", [{ a: [1] }, { a: [1] }]],
  ["new (class Point { x = 1; #y = 2 })()", { x: 1 }],
];

/** Values that nothing can be made of, and what the error says of them. */
const REFUSED: [string, RegExp][] = [
  ["Promise.resolve(42)", /\.v is a promise that was not awaited: put `await` in front of it/],
  ["[1, 2].map(async (n) => n)", /\.v\[0\] is a promise that was not awaited: use `await Promise\.all\(…\)`/],
  ["new Set([Promise.resolve(1)])", /\.v\[0\] is a promise/],
  ["tools.test.delay({ ms: 1 })", /\.v is a promise/],
  ['new Response("hi")', /\.v is a Response.*`await response\.json\(\)`/],
  ['new Request("http://a.test")', /\.v is a Request.*`await request\.json\(\)`/],
  ['new Blob(["hi"])', /\.v is a Blob.*`await blob\.text\(\)`/],
  ['new Response("hi").body', /\.v is a ReadableStream.*read it first/],
  ["new Headers({ a: 'b' })", /\.v is a Headers.*Object\.fromEntries/],
  ["new URLSearchParams('a=b')", /\.v is an? URLSearchParams.*String\(params\)/],
  ["new FormData()", /\.v is a FormData/],
  ["/x/", /\.v is a RegExp.*String\(pattern\)/],
  ["(async function* () { yield 1 })()", /\.v is an AsyncGenerator.*Array\.fromAsync/],
  ["() => 1", /\.v is a function/],
  ["Symbol('s')", /\.v is a symbol/],
  ["new (class Point { #x = 1 })()", /\.v is a Point, of which JSON keeps nothing.*toJSON/],
  ["new WeakMap()", /\.v is a WeakMap/],
];

const list = (expressions: string[]) => `[${expressions.map((text) => `() => (${text})`).join(", ")}]`;

export const valueCases: EnvironmentCase[] = [
  {
    id: "values.arrive",
    sentence:
      "maps, sets, iterators, bytes, errors and dates arrive in results, output, parameters and files",
    async check({ run }) {
      const { result, output, calls, artifacts, error } = await run(`
        const makers = ${list(KINDS.map(([expression]) => expression))};
        for (let index = 0; index < makers.length; index++) {
          await tools.test.echo({ v: makers[index]() });
          await cyrnel.files.write(String(index), [makers[index]()]);
        }
        cyrnel.output({ all: makers.map((make) => make()) });
        return makers.map((make) => make());`);
      const expected = KINDS.map(([, value]) => value);
      expect(error).toBeUndefined();
      expect(result).toEqual(expected);
      expect(output.all).toEqual(expected);
      expect(calls.map(({ parameters }) => parameters.v)).toEqual(expected);
      expect(expected.map((_, index) => JSON.parse(String(artifacts[index])))).toEqual(
        expected.map((value) => [value]),
      );
    },
  },
  {
    id: "values.whole",
    sentence:
      "parameters and output are read from a map as from an object; a promise in their place is an error",
    async check({ run }) {
      const { result, output, calls } = await run(`
        await tools.test.echo(new Map([["a", 1]]));
        cyrnel.output(new Map([["b", 2]]));
        const failed = [() => cyrnel.output(Promise.resolve({ c: 3 })), () => cyrnel.output(new Response(""))].map((attempt) => {
          try { attempt() } catch (error) { return error.message }
        });
        return [...failed, await tools.test.echo(Promise.resolve({})).catch((error) => error.message)];`);
      expect(calls.map(({ parameters }) => parameters)).toEqual([{ a: 1 }]);
      expect(output).toEqual({ b: 2 });
      expect(result[0]).toMatch(/^output is a promise that was not awaited/);
      expect(result[1]).toMatch(/^output is a Response/);
      expect(result[2]).toMatch(/^parameters is a promise that was not awaited/);
    },
  },
  {
    id: "values.refused",
    sentence: "what JSON cannot hold is refused everywhere with its place, before anything is sent",
    async check({ run }) {
      for (const [expression, message] of REFUSED) {
        const { state, error } = await run(`return { v: ${expression} }`);
        expect([state, error?.reason, expression]).toEqual(["failed", "script_error", expression]);
        expect(error?.message).toMatch(message);
        expect(error?.message).toMatch(/^result/);
      }
      const { result, calls, output, artifacts } = await run(`
        const found = [];
        for (const make of ${list(REFUSED.filter(([text]) => !text.startsWith("tools")).map(([text]) => text))}) {
          try { cyrnel.output({ v: make() }) } catch (error) { found.push(error.message) }
          await tools.test.echo({ v: make() }).catch((error) => found.push(error.message));
          await cyrnel.ask({ message: "?", schema: { v: make() } }).catch((error) => found.push(error.message));
          await cyrnel.files.write("x", { v: make() }).catch((error) => found.push(error.message));
        }
        return found;`);
      expect([calls, output, Object.keys(artifacts)]).toEqual([[], {}, []]);
      expect(result).toEqual(
        REFUSED.filter(([text]) => !text.startsWith("tools")).flatMap(([, message]) =>
          ["output", "parameters", "schema", "data"].map((place) =>
            expect.stringMatching(new RegExp(`^${place}${message.source}`)),
          ),
        ),
      );
    },
  },
  {
    id: "values.large-integers",
    sentence: "a bigint beyond the safe range is digits in results and output",
    async check({ run }) {
      const { result, output } = await run(
        "cyrnel.output({ id: 2n ** 64n }); return [9007199254740991n, -9007199254740991n, 9007199254740993n]",
      );
      expect(output).toEqual({ id: "18446744073709551616" });
      expect(result).toEqual([9007199254740991, -9007199254740991, "9007199254740993"]);
    },
  },
  {
    id: "values.proto",
    sentence: "a key __proto__ is a member like any other, there and back",
    async check({ run }) {
      const text = '{"__proto__":{"x":1},"a":{"__proto__":null}}';
      const { result, output, calls } = await run(`
        const value = JSON.parse(${JSON.stringify(text)});
        cyrnel.output(value);
        const echoed = await tools.test.echo(value);
        return { echoed, text: JSON.stringify(echoed), same: Object.getPrototypeOf(echoed) === Object.prototype, x: ({}).x ?? null };`);
      expect(JSON.stringify(output)).toBe(text);
      expect(JSON.stringify(calls[0]?.parameters)).toBe(text);
      expect(JSON.stringify(result.echoed)).toBe(text);
      expect([result.text, result.same, result.x]).toEqual([text, true, null]);
    },
  },
  {
    id: "values.warned",
    sentence: "what becomes null in results, output and files is warned of with its place, at most 50 times",
    async check({ run }) {
      const { result, output, artifacts, warnings } = await run(`
        cyrnel.output({ rate: -Infinity });
        await cyrnel.files.write("a.json", { list: [new Date(NaN)] });
        return { a: NaN, list: [undefined, , 1], left: undefined };`);
      expect([result, output, String(artifacts["a.json"])]).toEqual([
        { a: null, list: [null, null, 1] },
        { rate: null },
        '{"list":[null]}',
      ]);
      expect(
        warnings.map(({ code, path, message }) => [code, path, message.startsWith(`${path} is `)]),
      ).toEqual(
        ["output.rate", "data.list[0]", "result.a", "result.list[0]", "result.list[1]"].map((path) => [
          "value_not_json",
          path,
          true,
        ]),
      );
      const many = await run("return new Array(1000).fill(NaN)");
      expect([many.warnings.length, many.result.length]).toEqual([50, 1000]);
    },
  },
  {
    id: "values.warned-once",
    sentence: "a result that is written more than once is warned of as it is in the end",
    async check({ run }) {
      const { result, warnings } = await run(`
        const kept = { a: NaN, b: NaN };
        let beats = 0;
        setInterval(() => { if (++beats === 8) kept.b = 1; }, 0).unref();
        tools.test.delay({ ms: 20 }).then(() => {});
        return kept;`);
      expect(result.a).toBeNull();
      expect(warnings.map(({ path }) => path)).toEqual(
        ["a", "b"].filter((key) => result[key] === null).map((key) => `result.${key}`),
      );
    },
  },
  {
    id: "values.rounded",
    sentence: "reading JSON with an integer beyond 2^53 from a response or a file is warned of",
    async check({ run }) {
      const text = '{"a":[9007199254740993,1.5],"b":0.1234567890123456789}';
      const { result, warnings } = await run(`
        const text = ${JSON.stringify(text)};
        await cyrnel.files.write("a.json", text);
        return [await new Response(text).json(), await cyrnel.files.json("a.json"), JSON.parse(text)].map(({ a }) => a[0]);`);
      expect(result).toEqual([9007199254740992, 9007199254740992, 9007199254740992]);
      expect(warnings.map(({ code, message }) => [code, message.slice(0, 60)])).toEqual([
        ["number_rounded", 'json() rounded the integer 9007199254740993 (member "0"): Ja'],
        ["number_rounded", "cyrnel.files.json() rounded the integer 9007199254740993 (me"],
      ]);
    },
  },
  {
    id: "values.exact-calls",
    sentence: "bigints go to a tool and come back as they were, and numbers stay numbers",
    async check({ run }) {
      const { result, calls } = await run(`
        const sent = { a: 2n ** 64n, b: -9007199254740993n, c: 2 ** 60, d: 5n, e: [9007199254740993n, "9007199254740993"] };
        const echoed = await tools.test.echo(sent);
        return [echoed.a === sent.a, echoed.b === sent.b, typeof echoed.c, echoed.d, echoed.e[0] === sent.e[0], echoed.e[1]];`);
      // A function of a local runtime gets bigints, an adapter what JSON.stringify writes as their digits.
      expect(JSON.stringify(withRawIntegers(calls[0]?.parameters))).toBe(
        '{"a":18446744073709551616,"b":-9007199254740993,"c":1152921504606847000,"d":5,"e":[9007199254740993,"9007199254740993"]}',
      );
      expect(result).toEqual([true, true, "bigint", 5, true, "9007199254740993"]);
    },
  },
  {
    id: "values.nothing-to-send",
    sentence: "NaN, an infinity, an invalid date and an undefined item are refused in parameters",
    async check({ run }) {
      const { result, calls } = await run(`
        const found = [];
        for (const v of [NaN, [1, Infinity], new Date(NaN), [undefined], [, 1]]) {
          await tools.test.echo({ v }).catch((error) => found.push(error.message));
        }
        return found;`);
      expect(calls).toEqual([]);
      const advice = ", which JSON cannot hold: send null or leave it out";
      expect(result).toEqual([
        `parameters.v is NaN${advice}`,
        `parameters.v[1] is Infinity${advice}`,
        `parameters.v is an invalid Date${advice}`,
        `parameters.v[0] is undefined${advice}`,
        `parameters.v[0] is undefined${advice}`,
      ]);
    },
  },
];
