import fc from "fast-check";
import { format } from "node-inspect-extracted";
import { describe, expect, test } from "vitest";
import { formatPlain } from "#runner/child/realm/printing/plain-format.ts";

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: "grapheme", maxLength: 8 }),
  fc.constantFrom(
    "it's",
    'say "x"',
    "both ' and \"",
    "a\nb",
    "`",
    `${"{x}"}`,
    "\\",
    "\ud800",
    "x".repeat(30),
    "y".repeat(75),
    "naïve",
    "日本",
  ),
);
const key = fc.oneof(
  fc.constantFrom("a", "id", "name", "b-c", "2", "10", "__proto__", "constructor", "ä"),
  text,
);
const leaf = fc.oneof(
  text,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.bigInt({ min: -5n, max: 10n ** 20n }),
  fc.constantFrom(null, undefined, -0, Number.NaN, Number.POSITIVE_INFINITY, Symbol("s")),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "medium" },
    leaf,
    fc.array(tie("value"), { maxLength: 9 }),
    fc.array(fc.integer(), { maxLength: 130 }),
    fc.array(fc.constantFrom("a", "bb", "ccc", "dddd dddd", "é"), { maxLength: 40 }),
    fc.dictionary(key, tie("value"), { maxKeys: 8 }),
  ),
}));

describe("printing without the inspector", () => {
  test("gives the inspector's text for whatever it takes on", () => {
    let taken = 0;
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 3 }), (args) => {
        const [first] = args;
        fc.pre(typeof first !== "string" || !first.includes("%"));
        const plain = formatPlain(args);
        if (plain === null) return;
        taken++;
        expect(plain).toBe(format(...args));
      }),
      { numRuns: 5000 },
    );
    expect(taken).toBeGreaterThan(1000);
  });

  test("takes on what scripts print most", () => {
    const records = Array.from({ length: 5 }, (_, id) => ({
      id,
      name: `item ${id}`,
      tags: ["a", "b"],
      price: 1.5,
      ok: true,
    }));
    for (const args of [
      ["text", 1, true, null, undefined],
      [{ a: 1, b: { c: [1, 2, { d: { e: 1 } }] } }],
      [records],
      ["total:", { count: 3, items: records }],
      [[]],
      [{}],
      [[1, [2, [3, [4, [5]]]]]],
      ["it's", { quote: "it's" }],
    ]) {
      expect(formatPlain(args)).toBe(format(...args));
    }
  });

  test("leaves what it does not know to the inspector", () => {
    class Point {
      x = 1;
    }
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const getter = {
      get a() {
        throw new Error("must not be called");
      },
    };
    for (const odd of [
      new Point(),
      new Map(),
      new Date(),
      () => 1,
      cyclic,
      getter,
      new Array(2),
      Object.create(null),
      { [Symbol("s")]: 1 },
      { constructor: 1 },
    ]) {
      expect(formatPlain([odd])).toBeNull();
    }
  });

  test("prints a plain error as its stack, and no other", () => {
    const error = new TypeError("bad");
    error.stack = "TypeError: bad\n    at script.ts:1:1";
    expect(formatPlain(["failed:", error])).toBe(format("failed:", error));
    for (const odd of [
      Object.assign(new Error("x"), { code: 1 }),
      new Error("x", { cause: 1 }),
      new AggregateError([], "x"),
      Object.assign(new Error("x"), { name: "Other" }),
    ]) {
      expect(formatPlain([odd])).toBeNull();
    }
  });
});
