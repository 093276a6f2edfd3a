import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cutAt, encodeJson, utf8Length } from "#runner/child/realm/json/encode.ts";

const limits = { name: "result", maxDepth: 512, maxBytes: 1024 * 1024 };

/** Not a promise of the engine, but one to `await`: what builders of queries are. */
class Thenable {
  rows = [];
  // biome-ignore lint/suspicious/noThenProperty: it is a thenable.
  then() {}
}

class Point {
  readonly #x = 1;
  get x() {
    return this.#x;
  }
}

describe("encoding a script's value", () => {
  test("gives what JSON.stringify gives, and its size in bytes", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: "binary" }), (value) => {
        const { text, bytes, tooLarge } = encodeJson(value, limits);
        expect(text).toBe(JSON.stringify(value));
        expect(bytes).toBe(Buffer.byteLength(text ?? ""));
        expect(tooLarge).toBe(false);
      }),
    );
  });

  test("follows JSON.stringify where that loses nothing", () => {
    for (const value of [
      undefined,
      { a: undefined, b: 1, c: undefined },
      -0,
      new Date(0),
      { toJSON: () => ({ nested: new Date(1) }) },
      { toJSON: () => undefined },
      [new Number(1), new String("s"), new Boolean(true)],
      Object.create({ inherited: 1 }, { own: { value: 1, enumerable: true }, hidden: { value: 1 } }),
      JSON.parse('{"__proto__": 1, "a": {"__proto__": {"b": 2}}}'),
      [JSON.parse('{"__proto__": 1}'), new Date(1)],
      "\ud800",
      (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON("12345678901234567890"),
    ]) {
      expect(encodeJson(value, limits).text).toBe(JSON.stringify(value));
    }
  });

  test("writes what JSON.stringify would empty", () => {
    class Failure extends Error {
      code = "E1";
      override name = "Failure";
    }
    class Ids extends Set<number> {}
    const shared = { a: 1 };
    async function* later() {
      yield 1;
    }
    for (const [value, expected] of [
      [
        new Map<string, unknown>([
          ["a", 1],
          ["__proto__", new Map([["b", 2]])],
        ]),
        '{"a":1,"__proto__":{"b":2}}',
      ],
      [
        new Map<unknown, unknown>([
          ["a", 1],
          [2, [new Map()]],
        ]),
        '[["a",1],[2,[{}]]]',
      ],
      [new Ids([1, 2]), "[1,2]"],
      [[1, 2].values().map((n) => n * 2), "[2,4]"],
      [new Map([["a", 1]]).entries(), '[["a",1]]'],
      [new Uint8Array([1, 2]), "[1,2]"],
      [new Float32Array([0.5]), "[0.5]"],
      [new BigInt64Array([1n]), "[1]"],
      [new Uint8Array([1, 2]).buffer, "[1,2]"],
      [
        new TypeError("no", { cause: new Failure("why") }),
        '{"name":"TypeError","message":"no","cause":{"name":"Failure","message":"why","code":"E1"}}',
      ],
      [
        new AggregateError([new Error("one")], "all"),
        '{"name":"AggregateError","message":"all","errors":[{"name":"Error","message":"one"}]}',
      ],
      [
        { first: shared, again: [shared, new Set([shared])] },
        '{"first":{"a":1},"again":[{"a":1},[{"a":1}]]}',
      ],
      [{ small: 5n, least: -9007199254740991n }, '{"small":5,"least":-9007199254740991}'],
      // Built-ins by their prototype only.
      [Object.create(Map.prototype, { a: { value: 1, enumerable: true } }), '{"a":1}'],
    ] as const) {
      expect(encodeJson(value, limits).text).toBe(expected);
    }
    expect(() => encodeJson(later(), limits)).toThrow("Array.fromAsync");
  });

  test("says what becomes null, and refuses it in parameters", () => {
    const list = [undefined, 1, Number.NEGATIVE_INFINITY];
    Reflect.deleteProperty(list, "1");
    const value = { a: Number.NaN, list, at: new Date(Number.NaN) };
    const found: string[] = [];
    const onNull = (path: string, what: string) => found.push(`${path} ${what}`);
    expect(encodeJson(value, { ...limits, onNull }).text).toBe(
      '{"a":null,"list":[null,null,null],"at":null}',
    );
    expect(found).toEqual([
      "result.a NaN",
      "result.list[0] undefined",
      "result.list[1] undefined",
      "result.list[2] -Infinity",
      "result.at an invalid Date",
    ]);
    for (const one of [value, [undefined], { at: value.at }, [{ toJSON: () => undefined }]]) {
      expect(() => encodeJson(one, limits)).toThrow("send null or leave it out");
    }
  });

  test("keeps the digits of a large bigint: a number in parameters, text elsewhere", () => {
    const value = { id: 9007199254740993n };
    expect(encodeJson(value, limits).text).toBe('{"id":9007199254740993}');
    expect(encodeJson(value, { ...limits, onNull: () => {} }).text).toBe('{"id":"9007199254740993"}');
  });

  test("asks no more of an endless iterator than fits", () => {
    let asked = 0;
    function* endless() {
      for (;;) yield ++asked;
    }
    expect(encodeJson({ all: endless() }, { ...limits, maxBytes: 1000 }).tooLarge).toBe(true);
    expect(asked).toBeLessThan(1000);
  });

  test("measures what is too large without building it", () => {
    const { text, bytes, tooLarge } = encodeJson(["€".repeat(1000)], { ...limits, maxBytes: 2000 });
    expect([text, bytes, tooLarge]).toEqual([undefined, 3004, true]);
    expect(encodeJson(new Array(1e7).fill(null), { ...limits, maxBytes: 100 }).tooLarge).toBe(true);
  });

  test("names the place of what JSON cannot hold", () => {
    const cyclic: unknown[] = [];
    cyclic.push({ deep: cyclic });
    for (const [value, message] of [
      [{ a: [{ "b c": 10n ** 2000n }] }, 'result.a[0]["b c"] is a bigint of more than 1000 digits'],
      [[Promise.resolve(1)], "result[0] is a promise that was not awaited: use `await Promise.all(…)`"],
      [
        { total: Promise.resolve(1) },
        "result.total is a promise that was not awaited: put `await` in front of it",
      ],
      [new Map([["a", { sum() {} }]]), "result.a.sum is a function"],
      [new Map([["a b", [new Thenable()]]]), 'result["a b"][0] is a promise'],
      [
        [new Response("")],
        "result[0] is a Response, of which JSON keeps nothing: write `await response.json()`",
      ],
      [new Point(), "result is a Point, of which JSON keeps nothing"],
      [/x/, "result is a RegExp, of which JSON keeps nothing: write `String(pattern)`"],
      [new WeakMap(), "result is a WeakMap, of which JSON keeps nothing"],
      [Symbol("s"), "result is a symbol"],
      [{ toJSON: () => () => 1 }, "result is a function"],
      [cyclic, "result[0].deep contains itself"],
      [new Map([["a", new Set([cyclic])]]), "result.a[0][0].deep contains itself"],
    ] as const) {
      expect(() => encodeJson(value, limits)).toThrow(message);
    }
  });
});

describe("text on the wire", () => {
  test("is measured as UTF-8 and cut between characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 2, max: 50 }), (text, units) => {
        expect(utf8Length(text)).toBe(Buffer.byteLength(text));
        const head = cutAt(text, units);
        expect(text.startsWith(head)).toBe(true);
        expect(head.length).toBeLessThanOrEqual(units);
        expect(Buffer.byteLength(head) + Buffer.byteLength(text.slice(head.length))).toBe(
          Buffer.byteLength(text),
        );
        if (text.length > units) expect(head.length).toBeGreaterThanOrEqual(units - 1);
      }),
    );
  });
});
